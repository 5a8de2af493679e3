"""UCB-GLM: optimism for mean rewards mu(<x, theta>) with a known link mu.

With V = lambda I + sum x x^T and theta the root of sum (y - mu(<x, theta>)) x = lambda theta, it plays
argmax_x <x, theta> + alpha ||x||_{V^-1} (ties: the lowest index). Because mu rises, it need not be evaluated. Here

    alpha = (scale/kappa) (sigma sqrt(ln(det V/lambda^d) + 2 ln(1/delta))
                           + sqrt(lambda) S),

with kappa the smallest slope of mu on |z| <= L (S + 1), or 1 if that is smaller. For a link that rises with |z|, the
index has |<x, theta>| instead of <x, theta>, and nothing is proved.

theta is refitted, and the policy changes, only when det V has grown by a factor 1 + C (`switching`). For fixed arms the
fit uses the number of plays and the mean reward of each arm, otherwise all plays. If a fit does not converge, the last
estimate stays in force, the state's `estimates.failures` counts it, and a warning is issued.

Differences from the source: it draws the first tau arms at random until V >= I, fits without a ridge, and has
alpha = (sigma/kappa) sqrt((d/2) ln(1 + 2T/d) + ln(1/delta)). With a ridge no such plays are needed for V or for
separable data, and alpha follows from the determinant, without the horizon. (Both come from the same inequality:
kappa ||theta - theta*||_V is at most the norm of sum (y - mu) x - lambda theta* in V^-1, as long as theta is within 1
of theta*; the source's random plays ensure this.) In practice alpha is far too large because kappa is tiny; use `scale`
and `curvature` to reduce it. With a curvature above the link's own smallest slope nothing is proved.

Bound: a play costs at most L_mu times 2 alpha ||x||_{V^-1}, so U is L_mu/kappa times the bound of LinUCB: of the order
(L_mu/kappa) sigma d ln(s) sqrt(s), as in the source (Theorem 2). The shape is sigma sqrt(d s), the same for all links.
Masks leave it as it is, because sets of actions may change. For a scale below 1 the bound of scale 1 is stated, of
which rates that are `auto` read the shape; nothing is proved there.

Source: Li, Lu, Zhou, "Provably optimal algorithms for generalized linear contextual bandits", 2017, Algorithm 1.

>>> from corral_core import try_out
>>> from corral_glm import GlmContexts
>>> regret = try_out(GlmContexts(dimension=2, arms=4), UcbGlm(norm=4.0, curvature=1.0), horizon=300, rows=8).regret
>>> bool(regret[:, -1].mean() < 300 * 0.1)  # uniform play loses .34 per play
True
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, gt, le
from corral_kit.linear.arms import best_arm, played, quietly, widths
from corral_kit.linear.optimism import Optimistic, OptimisticState, beliefs
from corral_kit.linear.packing import unpacked
from corral_kit.linear.ridge import Ridge, learn
from numpy.random import Generator

from corral_core import Array, Bound, Feedback, Observation, Pick, parameter
from corral_core.bases.policies import arm_type
from corral_glm.estimates import Estimates, record, refit
from corral_glm.generalised import Generalised


class GlmState(OptimisticState):
    estimates: Estimates | None = None


@attrs.frozen
class UcbGlm(Generalised, Optimistic):
    """Optimism for generalised linear rewards with a known link (UCB-GLM)."""

    name: ClassVar[str] = "ucb-glm"
    formula: ClassVar[str] = (
        "4 (L_mu/kappa) beta sqrt(s d ln(1 + s L^2/(lambda d))), beta = kappa alpha with ln det V at its largest"
    )

    switching: float = parameter(
        0.05, help="C: theta is refitted only when det V has grown by a factor 1 + C", validator=and_(gt(0), le(1e9))
    )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(link="cloglog", curvature=1.0, switching=0.5), cls(link="square", switching=0.5)]

    def _fresh(self, given: Any) -> GlmState:
        ridge = Ridge.fresh(len(given), self.dimension, self.penalty)
        arms = self.shown(given)
        estimates = Estimates.fresh(len(given), 1, self.dimension, None if arms is None else arms.shape[1])
        scale, delta = np.asarray(given.scale, dtype=np.float64), np.asarray(given.delta)
        return GlmState(ridge, scale, delta, arms=arms, estimates=estimates)

    def _offset(self, given: Any) -> Array:
        return np.full(len(given), math.sqrt(self.penalty) * self.norm)

    def _fit(self, state: OptimisticState, rows: Array, feedback: Feedback) -> None:
        assert isinstance(state, GlmState) and state.estimates is not None
        action, reward = feedback.action, feedback.reward
        changing = state.arms is None
        x = played(self.observed(feedback.observation), action) if changing else state.arms[rows, action]
        x = np.asarray(x, dtype=np.float64)
        learn(state.ridge, rows, x, reward)
        record(state.estimates, rows, np.zeros(len(rows), dtype=np.intp), action, x, reward)

    def _current(self, state: OptimisticState, rows: Array) -> Any:
        """Refit, and return the new policy; this is called only when the policy changes, which is rare."""
        assert isinstance(state, GlmState) and state.estimates is not None
        taught = rows[state.ridge.plays.take(rows) > 0]
        if len(taught):
            part = np.zeros(len(taught), dtype=np.intp)
            penalty = state.ridge.penalty.take(taught)
            refit(state.estimates, taught, part, state.arms, self.mu, penalty, self.name)
        theta, inverse = state.estimates.theta[rows, 0], state.ridge.inverse.take(rows, axis=0)
        alpha = self._radius(state, rows) / self.kappa
        if state.arms is None:
            return beliefs(theta, inverse, alpha)
        index = self._index(state.arms.take(rows, axis=0), theta, inverse, alpha)
        return Pick(best_arm(index, None).astype(arm_type(index.shape[1])))

    @quietly
    def _index(self, features: Array, theta: Array, inverse: Array, alpha: Array) -> Array:
        x = features.astype(theta.dtype, copy=False)
        product: Array = np.einsum("nki,ni->nk", x, theta)
        bonus: Array = alpha[:, None] * widths(x, inverse)
        return self.value(product) + bonus

    def act(self, policy: Any, observation: Observation, rng: Generator) -> Array:
        if isinstance(policy, Pick):
            return policy.arm.astype(np.intp)
        index = self._index(self.observed(observation), policy.theta, unpacked(policy.inverse), policy.radius)
        return best_arm(index, observation.mask)

    def bound(self, delta: float) -> Bound:
        linear = Optimistic.bound(attrs.evolve(self, scale=max(self.scale, 1.0)), delta)
        assert linear is not None
        factor = self.mu.largest_slope / self.kappa
        return Bound(lambda s: factor * linear.literal(s), linear.shape)
