"""Meta-algorithms, one a file, and the log-barrier solver they share."""
