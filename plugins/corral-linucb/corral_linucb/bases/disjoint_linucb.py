"""Disjoint LinUCB: one context for all arms, and one parameter vector per arm.

Plays argmax_a <x, theta_a> + beta_a ||x||_{V_a^-1} (ties: the lowest index) with one ridge regression per arm and

    beta_a = scale (sigma sqrt(ln(det V_a/lambda^d) + 2 ln(K/delta)) + sqrt(lambda) S)

so that all K ellipsoids hold together with probability 1 - delta. It is LinUCB in the paper's form X x [K], whose
features e_a (x) x have K d coordinates, but with one radius per arm instead of one for all. If arms have their own
features, each arm's regression sees the features of that arm.

Bound: the bound of LinUCB in K d dimensions, with delta/K. The features e_a (x) x of the available arms are one of the
changing sets of actions that it holds for, so masks leave it as it is.

An arm is known only through its own regression, which `renew` starts over. The current policy is then computed anew.

Source: Li, Chu, Langford, Schapire, "A contextual-bandit approach to personalized news article recommendation", 2010,
Algorithm 1; with the radius of Abbasi-Yadkori, Pal, Szepesvari, 2011.

>>> from corral_core import try_out
>>> from corral_linucb import SharedContext
>>> regret = try_out(SharedContext(arms=3, dimension=2), [DisjointLinUcb()], horizon=300, rows=4).regret
>>> bool((regret[:, -1] < 300 * 0.2).all())
True
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs
import numpy as np
from attrs.validators import ge
from corral_kit.linear.arms import best_arm, played, quietly
from corral_kit.linear.optimism import Beliefs, Optimistic, OptimisticState, beliefs
from corral_kit.linear.packing import unpacked
from corral_kit.linear.ridge import Ridge, learn
from numpy.random import Generator

from corral_core import Array, Bound, Feedback, Observation, Pick, fitted
from corral_core.bases.policies import arm_type


@attrs.frozen
class DisjointLinUcb(Optimistic):
    """LinUCB with one shared context and one parameter vector per arm."""

    name: ClassVar[str] = "disjoint-linucb"
    formula: ClassVar[str] = "the bound of LinUCB in K d dimensions, with delta/K"
    takes_shared: ClassVar[bool] = True
    renews: ClassVar[bool] = True
    more_knobs: ClassVar[tuple[str, ...]] = ("penalty", "norm")

    arms: int = fitted(help="number of arms K", validator=ge(1))

    @property
    def parameters(self) -> int:
        return self.arms * self.dimension

    def bound(self, delta: float) -> Bound | None:
        return super().bound(delta / self.arms)

    def _fresh(self, given: Any) -> OptimisticState:
        ridge = Ridge.fresh((len(given), self.arms), self.dimension, given.penalty[:, None])
        return OptimisticState(
            ridge, np.asarray(given.scale, dtype=np.float64), np.asarray(given.delta), arms=self.shown(given)
        )

    def _log_determinant(self, state: OptimisticState, rows: Array) -> Array:
        found: Array = state.ridge.log_determinant.take(rows, axis=0).sum(axis=1)
        return found

    def _radius(self, state: OptimisticState, rows: Array) -> Array:
        assert state.confidence is not None and state.offset is not None
        grown = state.ridge.log_determinant.take(rows, axis=0) + state.confidence.take(rows)[:, None]
        beta: Array = self.noise * np.sqrt(grown + 2 * math.log(self.arms)) + state.offset.take(rows)[:, None]
        return state.scale.take(rows)[:, None] * beta

    def _current(self, state: OptimisticState, rows: Array) -> Any:
        theta, inverse = state.ridge.theta.take(rows, axis=0), state.ridge.inverse.take(rows, axis=0)
        believed = beliefs(theta, inverse, self._radius(state, rows))
        if state.arms is None:
            return believed
        best = self._best(believed, Observation(features=state.arms.take(rows, axis=0)))
        return Pick(best.astype(arm_type(self.arms)))

    def act(self, policy: Any, observation: Observation, rng: Generator) -> Array:
        return policy.arm.astype(np.intp) if isinstance(policy, Pick) else self._best(policy, observation)

    @quietly
    def _best(self, policy: Beliefs, observation: Observation) -> Array:
        x = self.observed(observation).astype(policy.theta.dtype)
        x = np.broadcast_to(x[:, None] if x.ndim == 2 else x, policy.theta.shape)
        width = np.einsum("nki,nki->nk", x, (unpacked(policy.inverse) @ x[..., None])[..., 0])
        index = np.einsum("nki,nki->nk", x, policy.theta) + policy.radius * np.sqrt(np.maximum(width, 0))
        return best_arm(index, observation.mask)

    def renew(self, state: OptimisticState, rows: Array, arms: Array) -> None:
        row, arm = np.nonzero(arms)
        those = rows[row] * self.arms + arm
        ridge = state.ridge.flat()
        recent = ridge.answers.shape[1]
        ridge.put(those, Ridge.fresh(len(row), self.dimension, ridge.penalty.take(those), recent))
        if state.in_force is not None:
            those = rows[arms.any(axis=1)]
            state.in_force.change(those, self._current(state, those), self._log_determinant(state, those))
            state.in_force.unasked[rows] = True

    def _fit(self, state: OptimisticState, rows: Array, feedback: Feedback) -> None:
        x = self.observed(feedback.observation) if state.arms is None else state.arms.take(rows, axis=0)
        if x.ndim == 3:
            x = played(x, feedback.action)
        learn(state.ridge.flat(), rows * self.arms + feedback.action, x, feedback.reward)
