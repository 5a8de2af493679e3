"""Policies that are tables: for every stage and state an action, or the actions among which one is drawn.

A policy is kept for every play, so a table is as small as it can be: a byte for an action (two or eight where there are
more than 127), a bit for an action that may be drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from corral_core.bases.policies import arm_type
from corral_core.protocols.problem import Observation
from corral_core.rows import Array, Rows


class Table(Rows):
    """One action for every stage and state."""

    action: Array  # (rows, stages, states)


class Ties(Rows):
    """With probability epsilon any action, else one of the best, drawn uniformly."""

    best: Array  # (rows, stages, states, bytes), a bit an action
    epsilon: Array  # (rows,)


def table(values: Array) -> Table:
    """The best action by action-values (rows, stages, states, actions); of equal ones that of the lowest number."""
    actions = values.shape[-1]
    return Table(values.argmax(axis=-1).astype(np.int8 if actions <= 127 else arm_type(actions)))


def ties(values: Array, epsilon: Array) -> Ties:
    """All the best actions by action-values (rows, stages, states, actions)."""
    return Ties(np.packbits(values == values.max(axis=-1, keepdims=True), axis=-1), epsilon)


def look_up(policy: Table, observation: Observation) -> Array:
    """The action of every row where it is."""
    rows = np.arange(len(policy))
    found: Array = policy.action[rows, observation.stage, observation.state].astype(np.intp)
    return found


def draw(policy: Ties, observation: Observation, actions: int, rng: Generator) -> Array:
    """An action for every row where it is."""
    rows = np.arange(len(policy))
    uniform = rng.random((len(rows), 2))
    bits = policy.best[rows, observation.stage, observation.state]
    there = np.unpackbits(bits, axis=1, count=actions).astype(bool)
    there |= (uniform[:, 0] < policy.epsilon)[:, None]
    order = np.cumsum(there, axis=1)
    found: Array = (order > (uniform[:, 1] * order[:, -1])[:, None]).argmax(axis=1)
    return found
