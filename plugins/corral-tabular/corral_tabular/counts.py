"""What bases that learn a model have seen: rewards and outcomes of every action in every state, at whatever stage.

Where the last step of an episode leads is left out, as in TabulaRL: nothing follows from it.
"""

from __future__ import annotations

import numpy as np
from corral_kit.tabular.tabular import Steps

from corral_core.rows import Array, Rows


class Counts(Rows):
    """(rows, states, actions), and (rows, states, actions, outcomes)."""

    taken: Array  # how often an action was taken
    reward: Array  # the sum of what it paid
    led: Array  # how often it led to each outcome

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

    def likely(self, prior_transition: float, prior_reward: float) -> tuple[Array, Array]:
        """Mean rewards and probabilities of outcomes, with this much weight on a reward of 0 and on every outcome."""
        led = self.led + prior_transition
        return self.reward / (self.taken + prior_reward), led / led.sum(axis=-1, keepdims=True)
