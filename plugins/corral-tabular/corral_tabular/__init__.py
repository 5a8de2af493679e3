"""Episodes in finite MDPs for Corral: UCRL2, PSRL, Q-learning."""

from corral_core.lazy import attach

__getattr__, __dir__ = attach(__name__)
