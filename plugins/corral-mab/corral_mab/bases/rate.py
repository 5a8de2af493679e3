"""A base whose regret is known exactly: c s^alpha times the gap, for tests of theory.

In state s it plays the bad arm with probability min(1, c alpha s^(alpha - 1)), otherwise the good arm. Its expected
regret after s plays is gap * sum_{t <= s} min(1, c alpha t^(alpha - 1)), which is at most gap * c s^alpha and tends to
it.

It learns nothing, and it needs its two arms at every play: it cannot play masked or new ones. Set `gap` to the gap
between the environment's two arms.

>>> from corral_core import Problem
>>> Rate(c=2.0, alpha=0.5, gap=0.3).resolve(Problem(arms=2)).bound(0.1).shape
(Term(c=0.6, alpha=0.5),)
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le
from numpy.random import Generator

from corral_core import (
    Array,
    Base,
    Bound,
    CorralError,
    Feedback,
    Observation,
    Problem,
    Rows,
    Term,
    fitted,
    knob,
    parameter,
)


class RateState(Rows):
    played: Array
    c: Array
    alpha: Array


class RatePolicy(Rows):
    bad: Array  # probability of the bad arm


@attrs.frozen
class Rate(Base):
    """Regret exactly c s^alpha, for tests of theory."""

    name: ClassVar[str] = "rate"
    formula: ClassVar[str] = "gap c s^alpha, exactly"

    c: float = knob(1.0, help="constant of the regret", validator=gt(0))
    alpha: float = knob(0.5, help="exponent of the regret", validator=and_(gt(0), le(1)))
    good: int = parameter(0, help="the best arm", validator=ge(0))
    bad: int = parameter(1, help="the arm it plays by mistake", validator=ge(0))
    gap: float = parameter(1.0, help="difference between the means of the two arms", validator=gt(0))
    arms: int = fitted(help="number of arms", validator=ge(2))

    def resolve(self, problem: Problem) -> Self:
        fitted_to = super().resolve(problem)
        if max(self.good, self.bad) >= fitted_to.arms:
            raise CorralError(
                f"rate: good and bad must be arms 0 to {fitted_to.arms - 1}, not {self.good} and {self.bad}"
            )
        return fitted_to

    def init(self, given: Any, rng: Generator) -> RateState:
        c, alpha = (np.asarray(value, dtype=np.float64) for value in (given.c, given.alpha))
        return RateState(np.zeros(len(given)), c, alpha)

    def policy(self, state: RateState, rows: Array) -> RatePolicy:
        c, alpha = state.c.take(rows), state.alpha.take(rows)
        return RatePolicy(np.minimum(1.0, c * alpha * (state.played.take(rows) + 1) ** (alpha - 1)))

    def act(self, policy: RatePolicy, observation: Observation, rng: Generator) -> Array:
        return np.where(rng.random(len(policy)) < policy.bad, self.bad, self.good)

    def action_probabilities(self, policy: RatePolicy, observation: Observation) -> Array:
        bad, arm = policy.bad[:, None], np.arange(self.arms)
        return np.asarray(np.where(arm == self.bad, bad, 0.0) + np.where(arm == self.good, 1 - bad, 0.0))

    def learn(self, state: RateState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        state.played[rows] += 1

    def bound(self, delta: float) -> Bound:
        c, alpha = self.gap * self.c, self.alpha
        return Bound(lambda s: c * s**alpha, (Term(c, alpha),))
