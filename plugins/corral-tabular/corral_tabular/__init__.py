"""Reinforcement learning with finitely many states: UCRL2, PSRL, epsilon-greedy planning, Q-learning, RiverSwim."""
