"""The meta-algorithms of the core, one per file, with the log-barrier solver and the learning rates."""
