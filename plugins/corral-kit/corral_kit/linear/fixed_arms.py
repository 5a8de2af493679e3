"""Fixed arms with features, which are shown to every base before the first play.

A subclass of `FixedArms` defines the means, the rewards of an arm with a given mean and, if features are not uniform on
the unit cube, how they are drawn. If rewards depend on more than the mean, derive from `ArmsWithFeatures` and define
`pay`.
"""

from __future__ import annotations

from abc import abstractmethod

import attrs
from attrs.validators import ge
from numpy.random import Generator

from corral_core import Array, Bandit, Observation, Problem, Rows, parameter
from corral_core.environments.bandit import chosen
from corral_kit.linear.directions import inner


class FixedInstance(Rows):
    features: Array  # (rows, arms, dimension)
    mean: Array  # (rows, arms)
    best: Array  # (rows,), the largest of them


@attrs.frozen
class ArmsWithFeatures(Bandit):
    """Common part of arms with fixed features; by default features are uniform on the unit cube."""

    arms: int = parameter(50, help="number of arms", validator=ge(1))
    dimension: int = parameter(2, help="number of features of an arm", validator=ge(1))

    @property
    @abstractmethod
    def mean_range(self) -> tuple[float, float]:
        """Lowest and highest possible mean."""

    @abstractmethod
    def draw_means(self, features: Array, rng: Generator) -> Array:
        """The mean of every arm: (rows, arms)."""

    @property
    def sub_gaussian_noise(self) -> float | None:
        """The scale of the noise if it is sub-Gaussian, else None."""
        return None

    def draw_features(self, rows: int, rng: Generator) -> Array:
        return rng.random((rows, self.arms, self.dimension))

    @property
    def problem(self) -> Problem:
        low, high = self.mean_range
        noise = self.sub_gaussian_noise
        return Problem(self.name, arms=self.arms, dimension=self.dimension, noise=noise, low=low, high=high)

    def draw(self, rows: int, rng: Generator) -> FixedInstance:
        features = self.draw_features(rows, rng)
        mean = self.draw_means(features, rng)
        return FixedInstance(features, mean, mean.max(axis=1))

    def shown(self, instance: FixedInstance) -> dict[str, Array]:
        return {"features": instance.features}


@attrs.frozen
class FixedArms(ArmsWithFeatures):
    """Arms with fixed features whose rewards depend only on their means."""

    @abstractmethod
    def payoff(self, mean: Array, rng: Generator) -> Array:
        """Rewards of arms with these means."""

    def pay(
        self, instance: FixedInstance, observation: Observation, action: Array, rng: Generator
    ) -> tuple[Array, Array]:
        mean = chosen(instance.mean, action)
        return self.payoff(mean, rng), instance.best - mean


def cube_means(features: Array, rng: Generator) -> Array:
    """<a, theta> of every arm, (rows, arms), with one theta per row, uniform on the unit cube."""
    return inner(features, rng.random((len(features), features.shape[2])))
