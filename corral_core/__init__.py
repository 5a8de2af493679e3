"""Corral: choose among bandit algorithms while they run.

The names of `__init__.pyi` are the public API; deeper paths are internal. They are imported on first use, so that
`corral --help` stays light.
"""

from corral_core.lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__ = attach(__name__)
