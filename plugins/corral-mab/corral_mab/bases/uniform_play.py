"""Uniform play: at every play, an arm drawn uniformly from the available ones.

It learns nothing; every other base should beat it. (The meta-algorithm `uniform` draws bases, this base draws arms.)

Bound: only the trivial one, U(s) = (high - low) s.

>>> from corral_core import try_out
>>> from corral_mab import BernoulliArms
>>> regret = try_out(BernoulliArms(means=(0.2, 0.8)), UniformPlay(), horizon=1000, rows=100).regret
>>> bool(abs(regret[:, -1].mean() - 300) < 4.5)  # half of the plays lose .6; five standard errors
True
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from attrs.validators import ge
from numpy.random import Generator

from corral_core import Array, Base, Bound, Feedback, Observation, Rows, Term, fitted
from corral_core.bases.policies import available_at, uniform


class Blank(Rows):
    """An empty state, also used as the policy."""

    blank: Array  # (rows, 0)


@attrs.frozen
class UniformPlay(Base):
    """Draws arms uniformly and learns nothing."""

    name: ClassVar[str] = "uniform-play"
    formula: ClassVar[str] = "(high - low) s"
    masks: ClassVar[bool] = True
    learns_from_others: ClassVar[bool] = True
    renews: ClassVar[bool] = True

    arms: int = fitted(help="number of arms K", validator=ge(1))
    low: float = fitted(help="lowest mean reward")
    high: float = fitted(help="highest mean reward")

    def init(self, given: Any, rng: Generator) -> Blank:
        return Blank(np.zeros((len(given), 0), dtype=np.int8))

    def policy(self, state: Blank, rows: Array) -> Blank:
        return state.take(rows)

    def act(self, policy: Blank, observation: Observation, rng: Generator) -> Array:
        return available_at(rng.random(len(policy)), self.arms, observation.mask)

    def action_probabilities(self, policy: Blank, observation: Observation) -> Array:
        return uniform(len(policy), self.arms, observation.mask)

    def learn(self, state: Blank, rows: Array, feedback: Feedback, rng: Generator) -> None:
        """Nothing to learn."""

    def renew(self, state: Blank, rows: Array, arms: Array) -> None:
        """Nothing to forget."""

    def bound(self, delta: float) -> Bound:
        span = self.high - self.low
        return Bound(lambda s: span * s, (Term(span, 1.0),))
