"""Linear bandits for Corral: LinUCB and its variants, nested and misspecified problems, ModCB."""

from corral_core.lazy import attach

__getattr__, __dir__ = attach(__name__)
