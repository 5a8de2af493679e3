"""Common part of optimistic bases: their parameters, their bound, and rare policy changes.

Optimism in the face of uncertainty: with V = lambda I + sum x x^T and theta the ridge estimate, play the action of the
largest <a, theta> + beta ||a||_{V^-1}, where

    beta = scale (sigma sqrt(ln(det V/lambda^d) + 2 ln(1/delta)) + sqrt(lambda) S)

Rare switching (Theorem 4 of the source): the policy changes only when det V has grown by the factor 1 + C since the
last change. This happens at most d ln(1 + s L^2/(lambda d))/ln(1 + C) times and costs a factor sqrt(1 + C) of regret.

Bound (Theorem 3, with L^2 where the source prints L), for lambda >= max(1, L^2): with probability 1 - delta, for all s,

    U(s, delta) = 4 sqrt(s g) (sqrt(lambda) S + sigma sqrt(2 ln(1/delta) + g)),  g = d ln(1 + s L^2/(lambda d))

A `scale` above 1 multiplies the second factor. Below 1 nothing is proved, so there is no bound. The theorem holds for
any sets of actions, also if they change from play to play, so masks leave it as it is.

A play is learned from in the same way, no matter which base chose the action: V and sum x y are all that is kept of it.

Source: Abbasi-Yadkori, Pal, Szepesvari, "Improved algorithms for linear stochastic bandits", 2011.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, gt, le
from numpy.random import Generator

from corral_core import Array, Bound, Feedback, Observation, Pick, Rows, Term, parameter
from corral_core.bases.policies import InForce
from corral_kit.linear.arms import best_arm, upper_bounds
from corral_kit.linear.featured import MODERATE, Linear
from corral_kit.linear.packing import packed, single, unpacked
from corral_kit.linear.rank_one import radii
from corral_kit.linear.ridge import Ridge, radius


class Beliefs(Rows):
    """The policy if actions change from play to play: everything that the index of an action needs."""

    theta: Array  # (rows, d)
    inverse: Array  # (rows, d (d + 1)/2), the upper half of V^-1
    radius: Array  # (rows,), beta


class OptimisticState(Rows):
    ridge: Ridge
    scale: Array
    delta: Array
    epsilon: Array | None = None
    arms: Any = None  # what is known about fixed arms
    in_force: InForce | None = None  # if the policy rarely changes; since: ln det V - d ln lambda
    confidence: Array | None = None  # 2 ln(1/delta)
    offset: Array | None = None  # sqrt(lambda) S


@attrs.frozen
class Optimistic(Linear):
    """Plays the action that could be best in a confidence ellipsoid."""

    formula: ClassVar[str] = "4 beta sqrt(s d ln(1 + s L^2/(lambda d))), beta with ln det V at its largest"
    learns_from_others: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True

    switching: float = parameter(
        0.0, help="C: the policy changes only if det V has grown by the factor 1 + C; 0: always", validator=MODERATE
    )
    length: float = parameter(
        1.0, help="upper bound L on the norm of an action's features; used only for U", validator=and_(gt(0), le(1e9))
    )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(switching=0.5)]

    @property
    def parameters(self) -> int:
        """Number of parameters of the model."""
        return self.dimension

    @property
    def squared_length(self) -> float:
        """L^2 for the features as the model sees them."""
        return self.length**2

    # --- what the bases differ in ---

    def mapped(self, features: Array) -> Array:
        """(..., d) features as the model sees them."""
        return features

    @abstractmethod
    def _fresh(self, given: Any) -> OptimisticState:
        """A state that has learned nothing, without a current policy."""

    @abstractmethod
    def _current(self, state: OptimisticState, rows: Array) -> Any:
        """The policy computed from everything that these rows have learned."""

    @abstractmethod
    def _fit(self, state: OptimisticState, rows: Array, feedback: Feedback) -> None:
        """Add these plays to the estimate."""

    def _log_determinant(self, state: OptimisticState, rows: Array) -> Array:
        """ln det V - d ln lambda of these rows."""
        found: Array = state.ridge.log_determinant.take(rows)
        return found

    def _offset(self, given: Any) -> Array:
        """sqrt(lambda) S of every row."""
        return np.asarray(np.sqrt(given.penalty) * given.norm)

    def _radius(self, state: OptimisticState, rows: Array) -> Array:
        """beta of these rows."""
        assert state.confidence is not None and state.offset is not None
        beta: Array = radii(state.ridge.log_determinant, state.confidence, self.noise, state.offset, state.scale, rows)
        if state.epsilon is not None:
            beta += state.epsilon.take(rows) * np.sqrt(state.ridge.plays.take(rows) + 1)
        return beta

    # --- Base ---

    def init(self, given: Any, rng: Generator) -> OptimisticState:
        state = self._fresh(given)
        state.confidence = -2 * np.log(np.asarray(state.delta, dtype=np.float64))
        state.offset = self._offset(given)
        if self.switching:
            rows = np.arange(len(given))
            state.in_force = InForce.begin(self._current(state, rows), self._log_determinant(state, rows))
        return state

    @property
    def rarely_changes(self) -> bool:
        return self.switching > 0

    def max_policies(self, plays: int) -> int:
        if not self.switching:
            return plays
        growth = self.parameters * math.log1p(plays * self.squared_length / (self.penalty * self.parameters))
        return min(plays, 1 + math.ceil(growth / math.log1p(self.switching)))

    def changed(self, state: OptimisticState, rows: Array) -> Array:
        return super().changed(state, rows) if state.in_force is None else state.in_force.unasked.take(rows)

    def policy(self, state: OptimisticState, rows: Array) -> Any:
        return self._current(state, rows) if state.in_force is None else state.in_force.ask(rows)

    def act(self, policy: Any, observation: Observation, rng: Generator) -> Array:
        if isinstance(policy, Pick):
            return policy.arm.astype(np.intp)
        features = self.mapped(self.observed(observation))
        index = upper_bounds(features, policy.theta, unpacked(policy.inverse), policy.radius)
        return best_arm(index, observation.mask)

    def learn(self, state: OptimisticState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        self._fit(state, rows, feedback)
        if state.in_force is not None:
            reached = self._log_determinant(state, rows)
            grown = reached > state.in_force.since.take(rows) + math.log1p(self.switching)
            if grown.any():
                those = rows[grown]
                state.in_force.change(those, self._current(state, those), reached[grown])

    def bound(self, delta: float) -> Bound | None:
        return self._bound(delta, self.noise * math.sqrt(self.parameters), 0.0)

    def _bound(self, delta: float, c: float, epsilon: float) -> Bound | None:
        """U with misspecification epsilon, and its shape c sqrt(s) + epsilon sqrt(d) s; None if scale < 1."""
        if self.scale < 1:
            return None
        d, slack = self.parameters, math.sqrt(1 + self.switching)

        def literal(s: Array) -> Array:
            grown = d * np.log1p(s * self.squared_length / (self.penalty * d))
            beta = self.scale * radius(grown, np.asarray(delta), self.noise, self.penalty, self.norm)
            off = 2 * epsilon * s * (slack * np.sqrt(2 * grown) + 1)
            found: Array = slack * 4 * np.sqrt(s * grown) * beta + off
            return found

        terms = [Term(c, 0.5), Term(epsilon * math.sqrt(d), 1.0)] if epsilon else [Term(c, 0.5)]
        return Bound(literal, tuple(terms))


def beliefs(theta: Array, inverse: Array, radius: Array) -> Beliefs:
    """A policy in single precision; step 1 plays with it too, so replays are exact."""
    return Beliefs(single(theta), packed(inverse), single(radius))
