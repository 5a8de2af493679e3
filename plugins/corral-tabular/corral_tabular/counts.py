"""Counts for bases that learn a model: rewards and outcomes of every action in every state, over all stages.

The outcome of the last step of an episode is left out, as in TabulaRL, because it does not matter.
"""

from __future__ import annotations

import numpy as np
from corral_kit.tabular.tabular import Steps

from corral_core import Array, Rows


class Counts(Rows):
    """Arrays (rows, states, actions); `led` is (rows, states, actions, outcomes)."""

    taken: Array  # number of times an action was taken
    reward: Array  # sum of its rewards
    led: Array  # number of times it led to each outcome

    @classmethod
    def fresh(cls, rows: int, states: int, actions: int, outcomes: int) -> Counts:
        shape = (rows, states, actions)
        return cls(np.zeros(shape), np.zeros(shape), np.zeros((*shape, outcomes)))

    def add(self, steps: Steps) -> None:
        """Count these steps, in place."""
        at = (steps.learner, steps.state, steps.action)
        np.add.at(self.taken, at, 1)
        np.add.at(self.reward, at, steps.reward)
        going_on = ~steps.last
        np.add.at(self.led, tuple(index[going_on] for index in (*at, steps.outcome)), 1)

    def forget(self, rows: Array, arms: Array) -> None:
        """Remove, in place, everything about some actions of these rows: (rows, actions) booleans."""
        row, action = np.nonzero(arms)
        for counted in (self.taken, self.reward, self.led):
            counted[rows[row], :, action] = 0.0

    def likely(self, prior_transition: float, prior_reward: float) -> tuple[Array, Array]:
        """Mean rewards and probabilities of outcomes, with prior weights on a reward of 0 and on every outcome."""
        led = self.led + prior_transition
        return self.reward / (self.taken + prior_reward), led / led.sum(axis=-1, keepdims=True)
