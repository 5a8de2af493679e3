"""SupCB-GLM: the model of UCB-GLM in levels, so that the rewards each level learns from are independent.

The first tau = ceil(sqrt(d T)) plays are drawn uniformly from the available arms, and every level learns from them
(`initial` sets another tau). After that there are n = ceil(log2(T)/2) levels, each with its own V_l and theta_l as in
UCB-GLM, and a play goes down the levels (corral_kit.linear.levels) with the unit 1, the index <x, theta_l>, and

    w = (scale/kappa) sqrt(1 + C)
        (3 sigma sqrt(2 ln(TK/delta)) + sqrt(lambda) S) ||x||_{V_l^-1}.

Ties go to the lowest index; of the candidates that are too wide, the widest is played (the source takes any). The
source has floor(log2 T) levels, but no play goes beyond the n-th, because 2^-n <= 1/sqrt(T). theta_l is refitted only
when det V_l has grown by a factor 1 + C, so the V_l it was fitted with may be smaller by that factor: hence
sqrt(1 + C), which is not in the source; nor are the ridge lambda and its part of w. For a link that rises with |z|, the
index is |<x, theta_l>| and nothing is proved.

Bound: for features of norm at most 1 and lambda >= 1, if the widths hold (Theorem 1 of the source proves this with
probability 1 - delta per level, for T so large that tau random plays make V_l large), for all s <= T,

    U(s, delta) = tau R + b a sqrt(2 d n s ln(1 + s/d)) + 2 L_mu sqrt(s),
    b = max(8 L_mu, 2 R),  w = a ||x||,

with R = high - low of the link, or 2 L_mu L S if that is smaller. A play that level l learns from costs at most
8 2^-l L_mu, at the first level R, and so less than b w; the widths of a level sum as in SupLinUCB; a play that no level
learns from costs at most 2 L_mu/sqrt(T). Theorem 4 of the source has this order: sqrt(d T) up to logarithms and
L_mu sigma/kappa. The shape is sigma sqrt(d s), the same for all links. There is no bound for a scale below 1.

Source: Li, Lu, Zhou, "Provably optimal algorithms for generalized linear contextual bandits", 2017, Algorithms 2 and 3.

>>> from corral_core import Problem
>>> problem = Problem(arms=2, dimension=4, changing=True, noise=0.5, low=0, high=1, horizon=1000, delta=0.01)
>>> base = SupCbGlm(link="probit").resolve(problem)
>>> base.levels, base.tau
(5, 64)
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le, optional
from corral_kit.linear.arms import best_arm, certain
from corral_kit.linear.levels import InLevels, LevelDecision, Levels, LevelsState
from corral_kit.linear.ridge import Ridge, learn
from numpy.random import Generator

from corral_core import Array, Bound, Observation, Term, parameter
from corral_core.bases.policies import arm_type, uniform
from corral_glm.estimates import EVERY, Estimates, record, refit
from corral_glm.generalised import Generalised

ALL = -2  # used as a level: the play is drawn uniformly, and every level learns from it


class LevelState(LevelsState):
    estimates: Estimates | None = None
    fitted_at: Array | None = None  # (rows, levels), ln det V_l at the last fit
    plays: Array | None = None  # (rows,), plays that at least one level learned from


@attrs.frozen
class SupCbGlm(Generalised, InLevels):
    """UCB-GLM in levels of independent samples (SupCB-GLM)."""

    name: ClassVar[str] = "supcb-glm"
    formula: ClassVar[str] = (
        "tau R + b a sqrt(2 d n s ln(1 + s/d)) + 2 L_mu sqrt(s), b = max(8 L_mu, 2 R), w = a ||x||, n levels"
    )

    initial: int | None = parameter(
        None,
        help="tau, number of uniformly drawn plays at the start (default: ceil(sqrt(d T)))",
        validator=optional(ge(0)),
    )
    switching: float = parameter(
        0.05,
        help="C: theta_l is refitted only when det V_l has grown by a factor 1 + C",
        validator=and_(gt(0), le(1e9)),
    )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(initial=5, scale=0.02, switching=0.5)]

    @property
    def levels(self) -> int:
        """The number n of levels: the smallest with 2^-n <= 1/sqrt(T). Every play ends there at the latest."""
        return max(1, math.ceil(math.log2(self.horizon) / 2))

    @property
    def unit(self) -> float:
        return 1.0

    @property
    def tau(self) -> int:
        """The number of plays drawn uniformly."""
        return math.ceil(math.sqrt(self.dimension * self.horizon)) if self.initial is None else self.initial

    def _factor(self, scale: Array, delta: Array) -> Array:
        alpha = 3 * self.noise * np.sqrt(2 * np.log(self.horizon * self.arms / delta))
        behind = math.sqrt(1 + self.switching)
        found: Array = scale * behind * (alpha + math.sqrt(self.penalty) * self.norm) / self.kappa
        return found

    def init(self, given: Any, rng: Generator) -> LevelState:
        rows, features = len(given), self.shown(given)
        factor = self._factor(np.asarray(given.scale, dtype=np.float64), np.asarray(given.delta, dtype=np.float64))
        return LevelState(
            Ridge.fresh((rows, self.levels), self.dimension, self.penalty),
            factor,
            features,
            Estimates.fresh(rows, self.levels, self.dimension, None if features is None else self.arms),
            np.zeros((rows, self.levels)),
            np.zeros(rows, dtype=np.int64),
        )

    def _theta(self, state: LevelState, rows: Array) -> Array:
        assert state.estimates is not None
        found: Array = state.estimates.theta.take(rows, axis=0)
        return found

    def _index(self, mean: Array, width: Array) -> Array:
        return self.value(mean)

    def policy(self, state: LevelState, rows: Array) -> Levels | LevelDecision:
        """The policy of the levels; in the first tau plays an infinite factor, or the arm -1, marks a uniform draw."""
        found = super().policy(state, rows)
        assert state.plays is not None
        drawn = state.plays.take(rows) < self.tau
        if isinstance(found, Levels):
            return found.replace(factor=np.where(drawn, np.float32(np.inf), found.factor))
        kind = arm_type(self.arms)
        return LevelDecision(np.where(drawn, kind(-1), found.action), np.where(drawn, np.int8(ALL), found.level))

    def act(self, policy: Levels | LevelDecision, observation: Observation, rng: Generator) -> LevelDecision:
        drawn = _drawn(policy)
        numbers = rng.random((len(drawn), self.arms)) if self.tau else np.zeros((len(drawn), self.arms))
        found = self._undrawn(policy, observation, drawn)
        action = np.where(drawn, best_arm(numbers, observation.mask), found.action)
        return LevelDecision(action, np.where(drawn, ALL, found.level))

    def action_probabilities(self, policy: Levels | LevelDecision, observation: Observation) -> Array:
        drawn = _drawn(policy)
        found = self._undrawn(policy, observation, drawn)
        each = uniform(len(drawn), self.arms, observation.mask)
        return np.where(drawn[:, None], each, certain(found.action, self.arms))

    def _undrawn(self, policy: Levels | LevelDecision, observation: Observation, drawn: Array) -> LevelDecision:
        """What the levels decide; anything in rows whose play is drawn."""
        if isinstance(policy, Levels):
            policy = policy.replace(factor=np.where(drawn, np.float32(1.0), policy.factor))
        return super().act(policy, observation, None)  # type: ignore[arg-type]

    def _teach(self, state: LevelState, rows: Array, level: Array, action: Array, x: Array, reward: Array) -> None:
        estimates, grown_at = state.estimates, state.fitted_at
        assert estimates is not None and grown_at is not None and state.plays is not None
        x, every = np.asarray(x, dtype=np.float64), level == ALL
        state.plays[rows] += 1
        record(estimates, rows, np.where(every, EVERY, level), action, x, reward)
        those, part = rows, level
        if every.any():
            one, all_ = np.flatnonzero(~every), np.flatnonzero(every)
            whose = np.concatenate([one, all_.repeat(self.levels)])
            part = np.concatenate([level[one], np.tile(np.arange(self.levels), len(all_))])
            those, x, reward = rows[whose], x[whose], reward[whose]
        learn(state.ridge.flat(), those * self.levels + part, x, reward)
        reached = state.ridge.log_determinant[those, part]
        due = reached > grown_at[those, part] + math.log1p(self.switching)
        if not due.any():
            return
        those, part = those[due], part[due]
        grown_at[those, part] = reached[due]
        alike = (state.ridge.plays.take(those, axis=0) == state.plays.take(those)[:, None]).all(axis=1)
        if alike.any():  # every level has learned every play, so what is due at one is due at all
            fitted = ~alike | (part == 0)
            those, part, alike = those[fitted], part[fitted], alike[fitted]
        penalty = state.ridge.penalty[those, part]
        refit(estimates, those, part, state.features, self.mu, penalty, self.name, alike)

    def bound(self, delta: float) -> Bound | None:
        if self.scale < 1:
            return None
        a = self._factor(np.asarray(self.scale), np.asarray(delta))
        link, slope, d = self.mu, self.mu.largest_slope, self.dimension
        spread = min(link.high - link.low, 2 * slope * self.length * self.norm)
        cost = max(8 * slope, 2 * spread)

        def literal(s: Array) -> Array:
            widths = a * np.sqrt(2 * d * self.levels * s * np.log1p(s / d))
            found: Array = self.tau * spread + cost * widths + 2 * slope * np.sqrt(s)
            return found

        return Bound(literal, (Term(self.noise * math.sqrt(d), 0.5),))


def _drawn(policy: Levels | LevelDecision) -> Array:
    """Which rows play an arm that is drawn uniformly."""
    return np.isinf(policy.factor) if isinstance(policy, Levels) else policy.action < 0
