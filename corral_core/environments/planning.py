"""Backward induction over the stages of an episode, in all rows at once.

    Q_h(s, a) = backup of V_{h+1},   V_h(s) = max_a Q_h(s, a),   V_H = 0

What a backup is depends on who plans: the mean over what the next state may be (`expected`), its largest over plausible
models, or a regression on features.

>>> reward, stay = np.array([[[1.0, 0.0]]]), np.ones((1, 1, 2, 1))  # one state: the first action pays 1
>>> backward(expected(reward, stay), rows=1, states=1, stages=3)[0, :, 0]
array([[3., 2.],
       [2., 1.],
       [1., 0.]])
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from corral_core.rows import Array

Backup = Callable[[int, Array], Array]
"""Of a stage and the values of the next, (rows, states): the action-values (rows, states, actions) of the stage."""
Worth = Callable[[int, Array], Array]
"""Of a stage and its action-values, (rows, states, actions): what its states are worth, (rows, states)."""


def best(stage: int, values: Array) -> Array:
    """What a state is worth to whoever takes its best action."""
    found: Array = values.max(axis=2)
    return found


def worst(stage: int, values: Array) -> Array:
    """What a state is worth to whoever takes its worst action."""
    found: Array = values.min(axis=2)
    return found


def following(policy: Array) -> Worth:
    """What a state is worth to a policy, (rows, stages, states, actions) probabilities."""

    def worth(stage: int, values: Array) -> Array:
        return np.asarray((policy[:, stage] * values).sum(axis=2))

    return worth


def backward(backup: Backup, *, rows: int, states: int, stages: int, worth: Worth = best) -> Array:
    """The action-values of every stage, (rows, stages, states, actions)."""
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

    Where the probabilities sum to less than one, the episode ends with what is missing.
    """

    def backup(stage: int, value: Array) -> Array:
        # Not a matrix product, whose rounding depends on the place of a row: equal actions must stay equal.
        return np.asarray(reward + np.einsum("nsak,nk->nsa", transition, value))

    return backup
