"""Statistics of runs: intervals, tests and comparisons."""
