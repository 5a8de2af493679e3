"""Finite arms with new contexts at every play; optionally some arms are unavailable.

A subclass defines how contexts are drawn and what their means are. With `available` < 1 each arm is available at a play
with that probability, independently of other arms, rows and plays. If none is, one uniformly drawn arm is available.
Noise is Gaussian unless the subclass overrides `payoff`, and regret is against the best available arm.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le
from numpy.random import Generator

from corral_core import Array, Bandit, Observation, Problem, parameter
from corral_core.environments.bandit import chosen, noisy


@attrs.frozen
class ContextualBandit(Bandit):
    """Common part of environments with changing contexts and finite arms."""

    mean_range: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    shared: ClassVar[bool] = False  # one context for all arms

    arms: int = parameter(10, help="number of arms", validator=ge(1))
    dimension: int = parameter(8, help="number of features", validator=ge(1))
    noise: float = parameter(0.3, help="standard deviation of the noise", validator=and_(gt(0), le(1e9)))
    available: float = parameter(
        1.0,
        help="probability that an arm is available at a play; at least one always is",
        validator=and_(gt(0), le(1)),
    )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(available=0.5)]

    @abstractmethod
    def draw_contexts(self, instance: Any, rng: Generator) -> Array:
        """Features of this play: (rows, arms, dimension), or (rows, dimension) if one context is shared."""

    @abstractmethod
    def means(self, instance: Any, features: Array) -> Array:
        """The mean of every arm: (rows, arms)."""

    @property
    def problem(self) -> Problem:
        low, high = self.mean_range
        return Problem(
            self.name,
            arms=self.arms,
            dimension=self.dimension,
            changing=True,
            shared=self.shared,
            masked=self.available < 1,
            noise=self.noise,
            low=low,
            high=high,
        )

    def observe(self, instance: Any, rng: Generator) -> Observation:
        features = self.draw_contexts(instance, rng)
        if self.available == 1:
            return Observation(features)
        uniform = rng.random((len(features), self.arms))
        # each arm is equally likely to have the smallest number, so that arm is the one drawn if none is available
        return Observation(features, uniform <= np.maximum(uniform.min(axis=1, keepdims=True), self.available))

    def pay(self, instance: Any, observation: Observation, action: Array, rng: Generator) -> tuple[Array, Array]:
        means = self.means(instance, observation.features)  # type: ignore[arg-type]
        there = means if observation.mask is None else np.where(observation.mask, means, -np.inf)
        mean = chosen(means, action)
        return self.payoff(mean, rng), there.max(axis=1) - mean

    def payoff(self, mean: Array, rng: Generator) -> Array:
        """Rewards of arms with these means."""
        return noisy(mean, self.noise, rng)
