"""Epsilon-greedy Q-learning: one table of action-values per stage, moved towards each observed target.

After step h of an episode, with n the number of visits of (h, s, a) including this one,

    Q_h(s, a) <- (1 - alpha) Q_h(s, a) + alpha (r + max_a' Q_{h+1}(s', a')),   Q_H = 0,

    alpha = 1/n (`rate = "mean"`)   or   (H + 1)/(H + n) (`rate = "stage"`, Jin et al. 2018).

After an early end of an episode the value is 0. In every step it plays a uniformly random action with probability
epsilon, else one of the best, drawn uniformly. With `optimistic`, values start at the most that can be earned from that
stage on, otherwise at 0. Every stage has its own table, so learning after the episode is the same as learning during
it. No regret bound is known: undirected exploration may take time exponential in the number of states.

It cannot renew actions: values of other actions at earlier stages were moved towards their values.

Source: Watkins, Dayan, "Q-learning", 1992; as a base on RiverSwim, Pacchiano et al. 2020.

>>> from corral_core import try_out
>>> from corral_tabular import RiverSwim
>>> regret = try_out(RiverSwim(), QLearning(), horizon=100, rows=4).regret
>>> bool(regret[:, -1].mean() > 100 * 3.3973 / 2)
True
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import attrs
import numpy as np
from corral_kit.tabular.tables import Ties, ties
from numpy.random import Generator

from corral_core import Array, CorralError, Feedback, Problem, Rows, parameter
from corral_tabular.exploring import EpsilonGreedyTabular


class QLearningState(Rows):
    value: Array  # (rows, stages, states, actions), Q
    visits: Array  # (rows, stages, states, actions)
    epsilon: Array


@attrs.frozen
class QLearning(EpsilonGreedyTabular):
    """Epsilon-greedy Q-learning."""

    name: ClassVar[str] = "q-learning"

    rate: Literal["mean", "stage"] = parameter("mean", help="learning rate: 1/n, or (H + 1)/(H + n)")
    optimistic: bool = parameter(False, help="start values at the maximum return, not at 0")
    step_high: float | None = parameter(None, help="maximum reward of a step (default: what the environment states)")

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(epsilon=0.0, rate="stage", optimistic=True)]

    def resolve(self, problem: Problem) -> Self:
        found = super().resolve(problem)
        if not self.optimistic or self.step_high is not None:
            return found
        if problem.step_high is None:
            raise CorralError(
                f"{self.name} with optimistic needs the maximum reward of a step; {problem.environment} does not state "
                f"it, so set step_high of {self.name}"
            )
        return attrs.evolve(found, step_high=problem.step_high)

    def init(self, given: Any, rng: Generator) -> QLearningState:
        shape = (len(given), self.stages, self.states, self.arms)
        most = max(self.step_high or 0.0, 0.0) if self.optimistic else 0.0  # an early end is worth 0
        left = np.arange(self.stages, 0, -1)[:, None, None]
        return QLearningState(most * left * np.ones(shape), np.zeros(shape), np.array(given.epsilon, dtype=np.float64))

    def policy(self, state: QLearningState, rows: Array) -> Ties:
        return ties(state.value.take(rows, axis=0), state.epsilon.take(rows))

    def learn(self, state: QLearningState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        steps = self.steps(rows, feedback.observation)
        at = (steps.learner, steps.stage, steps.state, steps.action)
        onward = np.zeros(len(steps.learner))
        more = ~steps.last & (steps.outcome < self.states)
        onward[more] = state.value[steps.learner[more], steps.stage[more] + 1, steps.outcome[more]].max(axis=1)
        visits = state.visits[at] + 1
        alpha = 1 / visits if self.rate == "mean" else (self.stages + 1) / (self.stages + visits)
        state.visits[at] = visits
        state.value[at] += alpha * (steps.reward + onward - state.value[at])
