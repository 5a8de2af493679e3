"""Generalised linear bandits for Corral: UCB-GLM and SupCB-GLM."""

from corral_core.lazy import attach

__getattr__, __dir__ = attach(__name__)
