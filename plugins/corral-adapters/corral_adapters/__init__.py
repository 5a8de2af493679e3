"""Policies of other libraries as bases for Corral, and Gymnasium environments."""

from corral_core.lazy import attach

__getattr__, __dir__ = attach(__name__)
