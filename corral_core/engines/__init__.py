"""Where chunks of replicates run: in this process, or in worker processes."""
