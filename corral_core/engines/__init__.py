"""Where chunks of replicates run: here, or in worker processes."""
