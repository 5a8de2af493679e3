"""SupLinUCB: LinUCB in levels, so that the rewards each level learns from are independent.

There are S = ceil(ln T) levels, each with its own ridge regression (V_l, theta_l). A play begins at level 1 with
every arm a candidate; at level l, with w = scale (alpha + sqrt(lambda) S_theta) ||x||_{V_l^-1} and
alpha = sigma sqrt(2 ln(2TK/delta)):

- all w <= (high - low)/sqrt(T): play the candidate with the largest <x, theta_l> + w, and learn nothing;
- all w <= 2^-l (high - low): go to the next level with the candidates within 2^(1-l) (high - low) of the largest
  <x, theta_l> + w;
- otherwise: play the candidate with the largest w (the source takes any above 2^-l), and let level l learn.

Ties go to the lowest index. The source has rewards in [0, 1], sigma = 1/2 and lambda = S_theta = 1. Because 2^-S is
below 1/sqrt(T), the last level always decides.

Bound (Theorem 1 of the source, with a constant): for features of norm at most 1 and lambda >= 1, with probability
1 - delta, for all s <= T,
U(s, delta) = C sqrt(s d ln^3(2 K T S/delta)) with C = 16 sigma + 12 sqrt(lambda) S_theta + 2 (high - low):
a play that level l learns from costs at most 8 2^-l, less than 8 w; by the elliptical potential lemma the w of level l
sum to at most (alpha + sqrt(lambda) S_theta) sqrt(2 d n_l ln(1 + s/d)), with n_l its plays; the square roots of the n_l
sum to at most sqrt(S s); and the plays that no level learns from cost at most 2 (high - low) s/sqrt(T). The confidence
bounds of all levels hold together if delta is divided by S; the source does this in its bound but not in alpha. A
`scale` above 1 multiplies the first two terms of C; below 1 nothing is proved, so there is no bound.

Source: Chu, Li, Reyzin, Schapire, "Contextual bandits with linear payoff functions", 2011, Algorithms 1 and 2.

>>> from corral_core import Problem
>>> problem = Problem(arms=2, dimension=3, changing=True, noise=0.5, low=0, high=1, horizon=1000, delta=0.01)
>>> SupLinUcb().resolve(problem).levels
7
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs
import numpy as np
from corral_kit.linear.levels import InLevels, LevelsState
from corral_kit.linear.ridge import Ridge, learn
from numpy.random import Generator

from corral_core import Array, Bound, Term, fitted


@attrs.frozen
class SupLinUcb(InLevels):
    """LinUCB in levels of independent samples."""

    name: ClassVar[str] = "suplinucb"
    formula: ClassVar[str] = (
        "C sqrt(s d ln^3(2 K T ceil(ln T)/delta)), C = 16 sigma + 12 sqrt(lambda) S + 2 (high - low)"
    )

    deterministic: ClassVar[bool] = True

    low: float = fitted(help="lowest mean reward")
    high: float = fitted(help="highest mean reward")

    @property
    def levels(self) -> int:
        """The number of levels S."""
        return max(1, math.ceil(math.log(self.horizon)))

    @property
    def unit(self) -> float:
        return (self.high - self.low) or 1.0

    def init(self, given: Any, rng: Generator) -> LevelsState:
        ridge = Ridge.fresh((len(given), self.levels), self.dimension, self.penalty)
        delta = np.asarray(given.delta, dtype=np.float64)
        alpha = self.noise * np.sqrt(2 * np.log(2 * self.horizon * self.arms / delta))
        factor = np.asarray(given.scale) * (alpha + math.sqrt(self.penalty) * self.norm)
        return LevelsState(ridge, factor, self.shown(given))

    def _index(self, mean: Array, width: Array) -> Array:
        return mean + width

    def _teach(self, state: LevelsState, rows: Array, level: Array, action: Array, x: Array, reward: Array) -> None:
        learn(state.ridge.flat(), rows * self.levels + level, x, reward)

    def bound(self, delta: float) -> Bound | None:
        if self.scale < 1:
            return None
        constant = self.scale * (16 * self.noise + 12 * math.sqrt(self.penalty) * self.norm) + 2 * self.unit
        log = math.log(2 * self.arms * self.horizon * self.levels / delta)
        return Bound(
            lambda s: constant * np.sqrt(s * self.dimension * log**3),
            (Term(self.noise * math.sqrt(self.dimension), 0.5),),
        )
