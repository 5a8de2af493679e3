"""Experiments, one TOML file each."""
