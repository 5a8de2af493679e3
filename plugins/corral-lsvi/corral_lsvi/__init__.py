"""Reinforcement learning with linear features: LSVI-UCB, and linear MDPs in which only the first features matter."""
