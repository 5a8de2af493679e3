"""UCB with self-normalised confidence bounds: time-uniform, without a ln t.

Plays argmax_i mean_i + sigma sqrt((1 + n_i)/n_i^2 (1 + 2 ln(K sqrt(1 + n_i)/delta))); arms not yet pulled come first
(ties: the lowest index). Only the index of the pulled arm changes.

Bound (Theorem 7 of the source, made instance-free by splitting the gaps at 4 sqrt(K L/s), L = ln(2Ks/delta)):
U(s, delta) = 8 scale sigma sqrt(K s ln(2Ks/delta)) + 3 K (high - low), for widths of scale >= 1 times the source's:
then sigma is in effect scale sigma. With narrower widths means can escape them, and with contexts that change or arms
that are masked the best arm does; no bound is claimed.

If arms are masked, the available arm with the largest index is played, and a policy is the order of the indices.

Source: Abbasi-Yadkori, Pal, Szepesvari, "Improved algorithms for linear stochastic bandits", 2011, Section 4.

>>> from corral_core import Problem
>>> Ucb().resolve(Problem(arms=2, noise=0.5, low=0, high=1, delta=0.01)).arms
2
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, lt
from corral_kit.indices import largest, replaced
from numpy.random import Generator

from corral_core import Array, Base, Bound, Feedback, Indices, Observation, Pick, Rows, Term, fitted, knob
from corral_core.bases.policies import arm_type, best_arm, ranks
from corral_mab.bases.means import Means, observe


class UcbState(Rows):
    means: Means
    index: Array  # (rows, arms)
    factor: Array  # of the widths: scale sigma


@attrs.frozen
class Ucb(Base):
    """Self-normalised upper confidence bounds."""

    name: ClassVar[str] = "ucb"
    formula: ClassVar[str] = (
        "8 scale sigma sqrt(K s ln(2Ks/delta)) + 3 K (high - low); "
        "none if scale < 1, contexts change or arms are masked"
    )
    masks: ClassVar[bool] = True
    learns_from_others: ClassVar[bool] = True
    renews: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True

    scale: float = knob(1.0, help="multiplies the confidence width; 1 is the width of the source", validator=gt(0))
    arms: int = fitted(help="number of arms K", validator=ge(1))
    noise: float = fitted(help="sub-Gaussian scale sigma of the rewards", validator=ge(0))
    low: float = fitted(help="lowest mean reward")
    high: float = fitted(help="highest mean reward")
    delta: float = fitted(help="failure probability of the confidence bounds", validator=and_(gt(0), lt(1)))
    changing: bool = fitted(help="whether contexts change; then there is no bound")
    masked: bool = fitted(help="whether arms may be unavailable", hidden=True)

    def init(self, given: Any, rng: Generator) -> UcbState:
        means = Means.fresh(len(given), self.arms)
        return UcbState(means, means.mean.copy(), self.noise * np.asarray(given.scale, dtype=np.float64))

    def policy(self, state: UcbState, rows: Array) -> Pick | Indices:
        if self.masked:
            return Indices(ranks(state.index.take(rows, axis=0)))
        return Pick(largest(state.index, rows).astype(arm_type(self.arms)))

    def act(self, policy: Any, observation: Observation, rng: Generator) -> Array:
        if self.masked:
            return best_arm(policy.index, observation.mask)
        arm: Array = policy.arm.astype(np.intp)
        return arm

    def learn(self, state: UcbState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        n, mean = observe(state.means, rows, feedback)
        log = np.log1p(n) + (1 + 2 * math.log(self.arms / self.delta))
        replaced(state.index, rows, feedback.action, mean, state.factor, log, n)

    def renew(self, state: UcbState, rows: Array, arms: Array) -> None:
        state.means.renew(rows, arms)
        state.index[rows] = np.where(arms, np.inf, state.index[rows])

    def bound(self, delta: float) -> Bound | None:
        if self.changing or self.masked or self.scale < 1:
            return None
        return ucb_bound(self.arms, self.scale * self.noise, self.high - self.low, delta)


def ucb_bound(arms: int, noise: float, span: float, delta: float) -> Bound:
    """The bound 8 sigma sqrt(K s ln(2Ks/delta)) + 3 K span."""
    return Bound(
        lambda s: 8 * noise * np.sqrt(arms * s * np.log(2 * arms * s / delta)) + 3 * arms * span,
        (Term(noise * math.sqrt(arms), 0.5),),
    )
