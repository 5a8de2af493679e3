"""Tables as policies: for every stage and state one action, or the actions among which one is drawn.

One policy is kept per play, so tables are as small as possible: one byte per action (two or eight if there are more
than 127), or one bit for each action that may be drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from corral_core import Array, Observation, Rows
from corral_core.bases.policies import arm_type
from corral_kit.tabular.lookup import drawn, looked_up


class TabularPolicy(Rows):
    """One action for every stage and state."""

    action: Array  # (rows, stages, states)


class Ties(Rows):
    """A uniformly random action with probability epsilon, else one of the best, drawn uniformly."""

    best: Array  # (rows, stages, states, bytes), one bit per action
    epsilon: Array  # (rows,)


def table(values: Array) -> TabularPolicy:
    """The best action by action-values (rows, stages, states, actions); ties go to the lowest number."""
    actions = values.shape[-1]
    return TabularPolicy(values.argmax(axis=-1).astype(np.int8 if actions <= 127 else arm_type(actions)))


def ties(values: Array, epsilon: Array) -> Ties:
    """All the best actions by action-values (rows, stages, states, actions)."""
    return Ties(np.packbits(values == values.max(axis=-1, keepdims=True), axis=-1), epsilon)


def look_up(policy: TabularPolicy, observation: Observation) -> Array:
    """The action of every row at its stage and state."""
    found: Array = looked_up(policy.action, observation.stage, observation.state)
    return found


def draw(policy: Ties, observation: Observation, actions: int, rng: Generator) -> Array:
    """Draw an action for every row at its stage and state."""
    uniform = rng.random((len(policy.best), 2))
    found: Array = drawn(policy.best, policy.epsilon, observation.stage, observation.state, uniform, actions)
    return found


def probabilities(policy: Ties, observation: Observation, actions: int) -> Array:
    """The probability with which `draw` draws each action, (rows, actions)."""
    bits = policy.best[np.arange(len(policy)), observation.stage, observation.state]
    best = np.unpackbits(bits, axis=1, count=actions)
    explores = policy.epsilon[:, None]
    return np.asarray(explores / actions + (1 - explores) * best / best.sum(axis=1, keepdims=True))
