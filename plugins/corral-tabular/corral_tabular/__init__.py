"""Reinforcement learning in finitely many states: UCRL2, PSRL, epsilon-greedy planning, Q-learning, RiverSwim."""
