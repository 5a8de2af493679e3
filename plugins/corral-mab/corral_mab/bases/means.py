"""Running means of arms: the state shared by the count-based bases."""

from __future__ import annotations

import numpy as np
from corral_kit.indices import pulled

from corral_core import Array, Feedback, Rows


class Means(Rows):
    """Number of pulls, sum of rewards and mean reward of every arm: (rows, arms)."""

    pulls: Array
    total: Array
    mean: Array

    @classmethod
    def fresh(cls, rows: int, arms: int) -> Means:
        """Means before any pull. They are infinite, so that each arm is tried once."""
        return cls(np.zeros((rows, arms)), np.zeros((rows, arms)), np.full((rows, arms), np.inf))

    def renew(self, rows: Array, arms: Array) -> None:
        """Forget these arms: (rows, arms) booleans."""
        for array, new in ((self.pulls, 0.0), (self.total, 0.0), (self.mean, np.inf)):
            array[rows] = np.where(arms, new, array[rows])


def observe(state: Means, rows: Array, feedback: Feedback) -> tuple[Array, Array]:
    """Add the rewards in place; return each pulled arm's number of pulls, and its mean."""
    found: tuple[Array, Array] = pulled(state.pulls, state.total, state.mean, rows, feedback.action, feedback.reward)
    return found
