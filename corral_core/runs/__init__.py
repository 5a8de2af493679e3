"""Runs: playing an experiment and keeping it in a folder that survives anything."""
