"""Multi-armed bandits for Corral: UCB, epsilon-greedy, EXP3, and the paper's lower bounds."""

from corral_core.lazy import attach

__getattr__, __dir__ = attach(__name__)
