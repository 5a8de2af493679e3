"""Epsilon-greedy with a falling rate: explore with probability min(1, c/s), otherwise play the best mean.

In state s the policy is: with probability eps_s = min(1, c/s) an arm drawn uniformly (including the best), otherwise
the arm with the largest empirical mean (ties: the lowest index). An arm that has not been pulled has an infinite mean,
so each arm is tried once.

Bound (Pacchiano et al. 2020, Lemma 4.9; with c = 10 K ln(1/delta) / Delta^2, Delta the smallest gap, for rewards of
range 1): 16 sqrt(s ln(1/delta)) for two arms, 20 (K ln(1/delta) sum_j Delta_j)^(1/3) s^(2/3) for more. Other values of
c have no bound of their own; the base claims this one for every c. If rewards may lie outside [low, high], contexts
change or arms are masked, it claims none.

If arms are masked, both draws are among the available arms, and a policy holds the order of the means.

Source: Auer, Cesa-Bianchi, Fischer, "Finite-time analysis of the multiarmed bandit problem", 2002.

>>> from corral_core import try_out
>>> from corral_mab import BernoulliArms
>>> regret = try_out(BernoulliArms(means=(0.2, 0.8)), EpsilonGreedy(c=10), horizon=500, rows=4).regret
>>> bool(regret[:, -1].mean() < 75)  # half of what uniform play loses
True
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs.validators import ge, gt
from numpy.random import Generator

from corral_core import Array, Bound, Feedback, Observation, Rows, Term, fitted, knob
from corral_core.bases.policies import arm_type, available_at, best_arm, ranks
from corral_mab.bases.bounded import NeedsBoundedRewards
from corral_mab.bases.means import Means, observe
from corral_mab.exploring import explored, learned, rates


class EpsilonGreedyState(Rows):
    means: Means
    greedy: Array  # the arm with the largest mean
    played: Array  # s - 1
    c: Array


class EpsilonGreedyPolicy(Rows):
    greedy: Array
    rate: Array


class MaskedEpsilonGreedyPolicy(Rows):
    index: Array  # (rows, arms), the order of the means
    rate: Array


@attrs.frozen
class EpsilonGreedy(NeedsBoundedRewards):
    """Explores with probability c/s, otherwise plays the arm with the largest mean."""

    name: ClassVar[str] = "epsilon-greedy"
    formula: ClassVar[str] = (
        "16 sqrt(s ln(1/delta)) for two arms, 20 (K ln(1/delta) (K-1))^(1/3) s^(2/3) for more; times the reward range; "
        "none if rewards may lie outside [low, high], contexts change or arms are masked"
    )
    masks: ClassVar[bool] = True
    learns_from_others: ClassVar[bool] = True
    renews: ClassVar[bool] = True

    c: float = knob(1.0, help="exploration: in state s, a random arm with probability min(1, c/s)", validator=gt(0))
    arms: int = fitted(help="number of arms K", validator=ge(1))
    noise: float = fitted(help="sub-Gaussian scale of the rewards", validator=ge(0))

    def init(self, given: Any, rng: Generator) -> EpsilonGreedyState:
        rows = len(given)
        means = Means.fresh(rows, self.arms)
        return EpsilonGreedyState(
            means, np.zeros(rows, dtype=arm_type(self.arms)), np.zeros(rows), np.asarray(given.c, dtype=np.float64)
        )

    def policy(self, state: EpsilonGreedyState, rows: Array) -> EpsilonGreedyPolicy | MaskedEpsilonGreedyPolicy:
        rate = rates(state.c, state.played, rows)
        if self.masked:
            return MaskedEpsilonGreedyPolicy(ranks(state.means.mean.take(rows, axis=0)), rate)
        return EpsilonGreedyPolicy(state.greedy.take(rows), rate)

    def act(self, policy: Any, observation: Observation, rng: Generator) -> Array:
        uniform = rng.random(len(policy.rate))
        if self.masked:
            share = uniform / np.minimum(policy.rate, 1.0)
            mask = self._available(policy, observation)
            explores = share < 1.0
            random = available_at(np.where(explores, share, 0.0), self.arms, mask)
            return np.asarray(np.where(explores, random, best_arm(policy.index, mask)))
        arm: Array = explored(uniform, policy.rate, policy.greedy, self.arms)
        return arm

    def _available(self, policy: Any, observation: Observation) -> Array:
        return np.ones((len(policy), self.arms), dtype=bool) if observation.mask is None else observation.mask

    def action_probabilities(self, policy: Any, observation: Observation) -> Array:
        mask = self._available(policy, observation)
        greedy = best_arm(policy.index, mask) if self.masked else policy.greedy
        rate = np.minimum(policy.rate, 1.0).astype(np.float64)[:, None]
        explored = rate * mask / mask.sum(axis=1, keepdims=True)
        return np.asarray(explored + (1 - rate) * (np.arange(self.arms) == greedy[:, None]))

    def learn(self, state: EpsilonGreedyState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        observe(state.means, rows, feedback)
        learned(state.means.mean, state.greedy, state.played, rows)

    def renew(self, state: EpsilonGreedyState, rows: Array, arms: Array) -> None:
        state.means.renew(rows, arms)  # s stays: it counts what was learned
        state.greedy[rows] = state.means.mean.take(rows, axis=0).argmax(axis=1)

    def bound(self, delta: float) -> Bound | None:
        if not self.has_bound:
            return None
        span, log = self.high - self.low, math.log(1 / delta)
        if self.arms <= 2:
            return Bound(lambda s: span * 16 * np.sqrt(s * log), (Term(self.noise, 0.5),))
        c = 20 * (self.arms * log * (self.arms - 1)) ** (1 / 3)
        return Bound(lambda s: span * c * s ** (2 / 3), (Term(self.noise, 2 / 3),))
