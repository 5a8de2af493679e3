"""Backward induction over the stages of an episode, in all rows at once.

    Q_h(s, a) = backup of V_{h+1},   V_h(s) = max_a Q_h(s, a),   V_H = 0

The backup depends on the algorithm: the mean over next states (`expected`), the largest mean over plausible models, or
a regression on features.

>>> reward, stay = np.array([[[1.0, 0.0]]]), np.ones((1, 1, 2, 1))  # one state: the first action pays 1
>>> backward(expected(reward, stay), rows=1, states=1, stages=3)[0, :, 0]
array([[3., 2.],
       [2., 1.],
       [1., 0.]])
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from corral_core.kernels.induction import best_values
from corral_core.kernels.sums import products, summed
from corral_core.rows import Array

Backup = Callable[[int, Array], Array]
"""Maps a stage and the values (rows, states) of the next one to the stage's action-values (rows, states, actions)."""
Worth = Callable[[int, Array], Array]
"""Maps a stage and its action-values (rows, states, actions) to the values (rows, states) of its states."""


def best(stage: int, values: Array) -> Array:
    """The value of each state if its best action is taken."""
    found: Array = values.max(axis=2)
    return found


def worst(stage: int, values: Array) -> Array:
    """The value of each state if its worst action is taken."""
    found: Array = values.min(axis=2)
    return found


def following(policy: Array) -> Worth:
    """The value of each state under a policy, given as probabilities (rows, stages, states, actions)."""

    def worth(stage: int, values: Array) -> Array:
        return np.asarray((policy[:, stage] * values).sum(axis=2))

    return worth


def backward(backup: Backup, *, rows: int, states: int, stages: int, worth: Worth = best) -> Array:
    """The action-values of every stage, (rows, stages, states, actions)."""
    if isinstance(backup, _Expected) and worth is best:
        return backup.optimal(rows, states, stages)
    value = np.zeros((rows, states))
    for stage in reversed(range(stages)):
        values = backup(stage, value)
        if stage == stages - 1:
            found = np.empty((rows, stages, states, values.shape[2]))
        found[:, stage] = values
        value = worth(stage, values)
    return found


def expected(reward: Array, transition: Array) -> Backup:
    """r(s, a) + sum over s' of P(s' | s, a) V(s'), the same at every stage: (rows, states, actions[, states]).

    If the probabilities sum to less than one, the episode ends with the remaining probability.
    """
    return _Expected(reward, transition)


@attrs.frozen(eq=False)
class _Expected:
    """A mean over next states. The optimal values of all stages take one call."""

    reward: Array
    transition: Array

    def __call__(self, stage: int, value: Array) -> Array:
        # Not a matrix product: its rounding depends on the position of a row, but equal actions must stay equal.
        terms = products(self.transition.transpose(3, 0, 1, 2), value.T[:, :, None, None])
        return np.asarray(summed(terms) + self.reward)

    def optimal(self, rows: int, states: int, stages: int) -> Array:
        """The optimal action-values (rows, stages, states, actions)."""
        shape = (rows, states, self.transition.shape[2], states)
        transition = np.ascontiguousarray(np.broadcast_to(self.transition, shape), dtype=np.float64)
        reward = np.ascontiguousarray(np.broadcast_to(self.reward, shape[:3]), dtype=np.float64)
        found: Array = best_values(reward, transition, stages)
        return found
