"""Experiments: read from files, checked and resolved before anything runs; their claims and guarantees."""
