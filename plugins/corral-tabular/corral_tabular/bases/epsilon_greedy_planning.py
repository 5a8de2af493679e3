"""Epsilon-greedy planning: the best policy in the likeliest model, and random actions with probability epsilon.

Before every episode it plans by backward induction with the observed mean rewards and frequencies of outcomes, which
are the same at every stage (with a small prior: weight 1e-4 on a reward of 0 and on every outcome). In every step it
plays a uniformly random action with probability epsilon, else one of the best, drawn uniformly.

It is what TabulaRL calls EpsilonGreedyTabular, and so apparently what the figure of Pacchiano et al. 2020 shows as
epsilon-greedy Q-learning; `q-learning` is what the text describes. On RiverSwim both stay on the left bank. No regret
bound is known.

Source: TabulaRL, with Osband, Van Roy, "Why is posterior sampling better than optimism for reinforcement learning?",
2017.

>>> from corral_core import try_out
>>> from corral_tabular import RiverSwim
>>> regret = try_out(RiverSwim(), EpsilonGreedyPlanning(), horizon=100, rows=4).regret
>>> bool(regret[:, -1].mean() > 100 * 3.3973 / 2)
True
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import attrs
import numpy as np
from corral_kit.tabular.tables import Ties, ties
from numpy.random import Generator

from corral_core import Array, Feedback, Rows
from corral_core.environments.planning import backward, expected
from corral_tabular.counts import Counts
from corral_tabular.exploring import EpsilonGreedyTabular

PRIOR = 1e-4


class PlanningState(Rows):
    counts: Counts
    epsilon: Array


@attrs.frozen
class EpsilonGreedyPlanning(EpsilonGreedyTabular):
    """The best policy in the likeliest model, with random actions at rate epsilon."""

    name: ClassVar[str] = "epsilon-greedy-planning"
    renews: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(epsilon=0.0)]

    def init(self, given: Any, rng: Generator) -> PlanningState:
        counts = Counts.fresh(len(given), self.states, self.arms, self.outcomes)
        return PlanningState(counts, np.array(given.epsilon, dtype=np.float64))

    @property
    def scratch_bytes(self) -> int:
        return 3 * self.counted

    def policy(self, state: PlanningState, rows: Array) -> Ties:
        reward, transition = state.counts.take(rows).likely(PRIOR, PRIOR)
        backup = expected(reward, transition[..., : self.states])
        values = backward(backup, rows=len(rows), states=self.states, stages=self.stages)
        return ties(values, state.epsilon.take(rows))

    def learn(self, state: PlanningState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        state.counts.add(self.steps(rows, feedback.observation))

    def renew(self, state: PlanningState, rows: Array, arms: Array) -> None:
        state.counts.forget(rows, arms)
