"""Counts for bases that learn a model: rewards and outcomes of every action in every state, over all stages.

The outcome of the last step of an episode is left out, as in TabulaRL, because it does not matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from corral_kit.tabular.tabular import Steps

from corral_core import Array, Rows
from corral_core.kernels.ranges import in_range
from corral_core.kernels.twins import kernel


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
        at = np.ravel_multi_index((steps.learner, steps.state, steps.action), self.taken.shape)
        count(self.taken, self.reward, self.led, at, steps.reward, steps.outcome, steps.last)

    def forget(self, rows: Array, arms: Array) -> None:
        """Remove, in place, everything about some actions of these rows: (rows, actions) booleans."""
        row, action = np.nonzero(arms)
        for counted in (self.taken, self.reward, self.led):
            counted[rows[row], :, action] = 0.0

    def likely(self, prior_transition: float, prior_reward: float) -> tuple[Array, Array]:
        """Mean rewards and probabilities of outcomes, with prior weights on a reward of 0 and on every outcome."""
        led = self.led + prior_transition
        return self.reward / (self.taken + prior_reward), led / led.sum(axis=-1, keepdims=True)


NO_OUTCOME = "there is no such outcome of a step"
UNLIKE = "the counts do not fit together"


def _count_arrays(taken: Any, reward: Any, led: Any, at: Any, paid: Any, outcome: Any, last: Any) -> None:
    on = ~last
    if not in_range(outcome[on], 0, led.shape[3] - 1):
        raise ValueError(NO_OUTCOME)
    np.add.at(taken.reshape(-1), at, 1)
    np.add.at(reward.reshape(-1), at, paid)
    np.add.at(led.reshape(-1), at[on] * led.shape[3] + outcome[on], 1)


@kernel(_count_arrays)
def count(taken: Any, reward: Any, led: Any, at: Any, paid: Any, outcome: Any, last: Any) -> None:
    """Count steps in arrays of `Counts` in C order, in place; `at` numbers the learner, state and action of a step.

    Raises a ValueError, and changes nothing, if there is no such outcome.
    """
    if reward.shape != taken.shape or led.shape[:3] != taken.shape:
        raise IndexError(UNLIKE)
    for step in range(len(at)):
        if not (last[step] or 0 <= outcome[step] < led.shape[3]):
            raise ValueError(NO_OUTCOME)
    times, sums, outcomes = taken.reshape(-1), reward.reshape(-1), led.reshape((-1, led.shape[3]))
    for step in range(len(at)):
        times[at[step]] += 1
        sums[at[step]] += paid[step]
        if not last[step]:
            outcomes[at[step], outcome[step]] += 1
