"""Running means of arms: the state that the count-based bases share."""

from __future__ import annotations

import numpy as np

from corral_core.protocols.problem import Feedback
from corral_core.rows import Array, Rows


class Means(Rows):
    """Pulls, summed and mean reward of every arm: (rows, arms)."""

    pulls: Array
    total: Array
    mean: Array

    @classmethod
    def fresh(cls, rows: int, arms: int) -> Means:
        """No arm pulled; the mean of an arm not pulled is infinite, so that each is tried once."""
        return cls(np.zeros((rows, arms)), np.zeros((rows, arms)), np.full((rows, arms), np.inf))


def observe(state: Means, rows: Array, feedback: Feedback) -> tuple[Array, Array, Array]:
    """Count the reward in place; returns where each pulled arm lies in the flat arrays, its pulls and its mean."""
    at = rows * state.pulls.shape[1] + feedback.action
    n = state.pulls.take(at) + 1
    total = state.total.take(at) + feedback.reward
    mean = total / n
    state.pulls.reshape(-1)[at] = n
    state.total.reshape(-1)[at] = total
    state.mean.reshape(-1)[at] = mean
    return at, n, mean
