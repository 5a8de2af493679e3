"""Corral: choose among bandit algorithms while they run."""

__version__ = "0.1.0"
