"""What selection plays: a block of kin bases, plain, smoothed (the paper's decorator) or boosted."""
