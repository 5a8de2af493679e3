"""Non-parametric contextual bandits for Corral: kNN-UCB."""

from corral_core.lazy import attach

__getattr__, __dir__ = attach(__name__)
