"""Episodes in linear MDPs for Corral: LSVI-UCB."""

from corral_core.lazy import attach

__getattr__, __dir__ = attach(__name__)
