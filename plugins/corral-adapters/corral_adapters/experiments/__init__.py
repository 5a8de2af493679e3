"""Experiments, a TOML file each."""
