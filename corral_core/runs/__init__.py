"""Runs: playing an experiment and keeping its results in a folder that survives interruptions."""
