"""PSRL: posterior sampling for reinforcement learning.

Before the first episode and after every episode learned, a model is drawn from the posterior, and the best policy in
this model is played:

    P(. | s, a) ~ Dirichlet(alpha + counts of outcomes),   r(s, a) ~ N(mu, 1/tau)

where tau = tau_0 + n(s, a)/sigma^2 and mu = (sum of rewards)/(sigma^2 tau). The model is the same at every stage. Ties
have probability zero. There is no bound for a given problem: known bounds hold on average over problems drawn from the
prior (Osband, Russo, Van Roy 2013).

It cannot renew actions, because that would need a new model, and models are drawn only when it learns.

Source: Osband, Van Roy, "Why is posterior sampling better than optimism for reinforcement learning?", 2017; the priors
and updates are those of TabulaRL.

>>> from corral_core import try_out
>>> from corral_tabular import RiverSwim
>>> regret = try_out(RiverSwim(), Psrl(), horizon=300, rows=4).regret
>>> bool(regret[:, -1].mean() < 300 * 3.3973 / 2)
True
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, le
from corral_kit.tabular.tables import TabularPolicy, look_up, table
from corral_kit.tabular.tabular import Tabular
from numpy.random import Generator

from corral_core import Array, Feedback, Observation, Rows, parameter
from corral_core.environments.planning import backward, expected
from corral_tabular.counts import Counts


class PsrlState(Rows):
    counts: Counts
    policy: TabularPolicy  # the best policy in the model drawn last


@attrs.frozen
class Psrl(Tabular):
    """Posterior sampling for reinforcement learning (PSRL)."""

    name: ClassVar[str] = "psrl"
    deterministic: ClassVar[bool] = True  # given the model, which is drawn when it learns

    prior_outcomes: float = parameter(
        1.0, help="alpha: prior weight of every outcome of a step", validator=and_(ge(0.05), le(1e6))
    )
    prior_precision: float = parameter(
        1.0, help="tau_0: prior precision of mean rewards, around 0", validator=and_(ge(1e-9), le(1e9))
    )
    reward_noise: float = parameter(
        1.0, help="sigma: assumed standard deviation of a reward", validator=and_(ge(1e-6), le(1e9))
    )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(prior_outcomes=0.1, prior_precision=4.0, reward_noise=0.1)]

    def init(self, given: Any, rng: Generator) -> PsrlState:
        counts = Counts.fresh(len(given), self.states, self.arms, self.outcomes)
        return PsrlState(counts, self._sampled(counts, np.arange(len(given)), rng))

    @property
    def scratch_bytes(self) -> int:
        return 3 * self.counted

    def policy(self, state: PsrlState, rows: Array) -> TabularPolicy:
        return state.policy.take(rows)

    def act(self, policy: TabularPolicy, observation: Observation, rng: Generator) -> Array:
        return look_up(policy, observation)

    def learn(self, state: PsrlState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        state.counts.add(self.steps(rows, feedback.observation))
        state.policy.put(rows, self._sampled(state.counts, rows, rng))

    def _sampled(self, counts: Counts, rows: Array, rng: Generator) -> TabularPolicy:
        """The best policy in a model drawn from the posterior of these rows."""
        weight = rng.standard_gamma(self.prior_outcomes + counts.led.take(rows, axis=0))
        transition = weight / weight.sum(axis=-1, keepdims=True)
        variance = self.reward_noise**2
        precision = self.prior_precision + counts.taken.take(rows, axis=0) / variance
        mean = counts.reward.take(rows, axis=0) / (variance * precision)
        reward = mean + rng.standard_normal(mean.shape) / np.sqrt(precision)
        backup = expected(reward, transition[..., : self.states])
        return table(backward(backup, rows=len(rows), states=self.states, stages=self.stages))
