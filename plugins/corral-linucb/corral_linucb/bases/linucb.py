"""LinUCB, also known as OFUL: optimism over the confidence ellipsoid of a ridge regression.

With V = lambda I + sum x x^T and theta = V^-1 sum x y, it plays argmax_a <a, theta> + beta ||a||_{V^-1}, where

    beta = scale (sigma sqrt(ln(det V/lambda^d) + 2 ln(1/delta)) + sqrt(lambda) S),

over one of these sets of actions:

- finitely many arms, whose features are fixed or change from play to play (ties: the lowest index);
- the unit ball, or an ellipsoid that changes from play to play, solved exactly by the secular equation.

With `switching` the policy changes only when det V has grown by a factor 1 + C since the last change: at most
d ln(1 + s L^2/(lambda d))/ln(1 + C) times. This costs a factor sqrt(1 + C) of regret.

The base assumes that only the first d of the D features matter: it ignores the others, and sets them to zero if it can
choose them. Fixed arms cost less: <a, theta> and a^T V^-1 a of every arm are kept by a rank-one update per play. Bases
of similar d are kin there: their arrays have room for the largest d of their `ROOMS`, and the features of an arm beyond
a base's own d are zeros, which change nothing.

Source: Abbasi-Yadkori, Pal, Szepesvari, "Improved algorithms for linear stochastic bandits", 2011; Chu, Li, Reyzin,
Schapire, "Contextual bandits with linear payoff functions", 2011.

>>> from corral_core import try_out
>>> from corral_linucb import LinearArms
>>> regret = try_out(LinearArms(arms=10), [LinUcb()], horizon=200, rows=4).regret
>>> bool((regret[:, -1] < 200).all())
True
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from corral_kit.indices import largest_bound
from corral_kit.linear.arms import played
from corral_kit.linear.optimism import Beliefs, Optimistic, OptimisticState, beliefs
from corral_kit.linear.packing import unpacked
from corral_kit.linear.rank_one import MOST, followed
from corral_kit.linear.ridge import Ridge, Step, learn
from numpy.random import Generator

from corral_core import Array, Bound, Feedback, Observation, Pick, Rows
from corral_core.bases.policies import arm_type
from corral_core.protocols.problem import Actions
from corral_linucb.secular import maximise, maximise_ellipsoid

ROOMS = (4, 6, 8, 12, 16, 24, 32)  # with more features, the work of a play outweighs the calls that kin save


class ArmsInForce(Rows):
    """Features, means and widths of arms that never change, kept up to date."""

    features: Array  # (rows, d, arms)
    mean: Array  # (rows, arms), <a, theta>
    width: Array  # (rows, arms), a^T V^-1 a


class PointPolicy(Rows):
    """The policy on the ball: the action itself, in the first d coordinates."""

    action: Array


@attrs.frozen
class LinUcb(Optimistic):
    """Optimism over a confidence ellipsoid (LinUCB, OFUL)."""

    name: ClassVar[str] = "linucb"
    actions: ClassVar[tuple[Actions, ...]] = ("finite", "ball", "ellipsoid")
    more_knobs: ClassVar[tuple[str, ...]] = ("penalty", "norm", "dimension")

    @property
    def kinship(self) -> int | None:
        return None if self.problem is None else self._room

    @property
    def _room(self) -> int:
        """Number of features that its arrays have room for."""
        large = [room for room in ROOMS if room >= self.dimension]
        maps = type(self).mapped is not Optimistic.mapped  # so that zeros need not stay zeros
        if not self.fixed or maps or not large:
            return self.dimension
        return min(large[0], self.resolved.dimension or large[0])

    def bound(self, delta: float) -> Bound | None:
        finite = self.resolved.actions == "finite"
        return self._bound(delta, self.noise * self.parameters ** (0.5 if finite else 1.0), 0.0)

    def _fresh(self, given: Any) -> OptimisticState:
        shown, arms, size = self.shown(given, self._room), None, self.parameters
        if shown is not None:
            own = np.arange(shown.shape[2]) < given.dimension[:, None, None]
            features = np.ascontiguousarray(self.mapped(np.where(own, shown, 0.0)).transpose(0, 2, 1))
            size = features.shape[1]
            square = np.einsum("ndk,ndk->nk", features, features)
            arms = ArmsInForce(features, np.zeros_like(square), square / given.penalty[:, None])
        ridge = Ridge.fresh(len(given), size, given.penalty)
        return OptimisticState(ridge, np.asarray(given.scale, dtype=np.float64), np.asarray(given.delta), arms=arms)

    def _current(self, state: OptimisticState, rows: Array) -> Any:
        beta = self._radius(state, rows)
        if state.arms is not None:
            best = largest_bound(state.arms.mean, state.arms.width, beta, rows)
            return Pick(best.astype(arm_type(state.arms.mean.shape[1])))
        theta, inverse = state.ridge.theta.take(rows, axis=0), state.ridge.inverse.take(rows, axis=0)
        return (
            PointPolicy(maximise(theta, inverse, beta))
            if self.resolved.actions == "ball"
            else beliefs(theta, inverse, beta)
        )

    def act(self, policy: Any, observation: Observation, rng: Generator) -> Array:
        if self.resolved.actions == "finite":
            return super().act(policy, observation, rng)
        if isinstance(policy, PointPolicy):
            return self._padded(policy.action)
        assert isinstance(policy, Beliefs)
        of_policy = (policy.theta, unpacked(policy.inverse), policy.radius)
        theta, inverse, beta = (array.astype(np.float64) for array in of_policy)
        return self._padded(maximise_ellipsoid(theta, inverse, beta, self.observed(observation)))

    def _padded(self, action: Array) -> Array:
        """The action with zeros in the coordinates that are assumed not to matter."""
        whole = np.zeros((len(action), self.resolved.dimension or self.dimension))
        whole[:, : self.dimension] = action
        return whole

    def _fit(self, state: OptimisticState, rows: Array, feedback: Feedback) -> None:
        arms = state.arms
        if arms is not None:
            step = learn(state.ridge, rows, arms.features[rows, :, feedback.action], feedback.reward)
            self._follow(state, rows, step)
        elif self.resolved.actions == "finite":
            x = self.mapped(played(self.observed(feedback.observation), feedback.action))
            learn(state.ridge, rows, x, feedback.reward)
        else:
            learn(state.ridge, rows, feedback.action[:, : self.dimension], feedback.reward)

    def _follow(self, state: OptimisticState, rows: Array, step: Step) -> None:
        """Update means and widths of fixed arms after a play: by rank one, or fully if the regression was rebuilt."""
        arms: ArmsInForce = state.arms
        if arms.features.shape[1] > MOST:
            _followed_by_products(arms, rows, step)
        else:
            followed(arms.features, arms.mean, arms.width, rows, step.direction, step.move)
        if step.rebuilt is not None:
            those = rows[step.rebuilt]
            features, inverse = arms.features.take(those, axis=0), state.ridge.inverse.take(those, axis=0)
            arms.mean[those] = np.einsum("ndk,nd->nk", features, state.ridge.theta.take(those, axis=0))
            arms.width[those] = np.einsum("ndk,ndk->nk", features, inverse @ features)


def _followed_by_products(arms: ArmsInForce, rows: Array, step: Step) -> None:
    """`followed` if there are many features."""
    along = np.einsum("ndk,nd->nk", arms.features.take(rows, axis=0), step.direction)
    arms.mean[rows] += along * step.move[:, None]
    arms.width[rows] -= along * along
