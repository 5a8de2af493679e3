"""What runs show: intervals, tests and comparisons."""
