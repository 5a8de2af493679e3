"""Reinforcement learning with linear features: LSVI-UCB, and linear MDPs of which the first features matter."""
