"""Linear bandits with heavy tails for Corral: MENU and TOFU."""

from corral_core.lazy import attach

__getattr__, __dir__ = attach(__name__)
