"""Fixed arms with features, which every base is shown before the first play.

A subclass of `FixedArms` says what the means are, how arms of a mean pay, and, where it is not uniform on the unit
cube, how features are drawn. Where more than its mean decides how an arm pays, a subclass of `ArmsWithFeatures` says
`pay` itself.
"""

from __future__ import annotations

from abc import abstractmethod

import attrs
from attrs.validators import ge
from numpy.random import Generator

from corral_core.environments.bandit import Bandit, chosen
from corral_core.protocols.parameters import parameter
from corral_core.protocols.problem import Observation, Problem
from corral_core.rows import Array, Rows
from corral_kit.linear.directions import inner


class FixedInstance(Rows):
    features: Array  # (rows, arms, dimension)
    mean: Array  # (rows, arms)
    best: Array  # (rows,), the largest of them


@attrs.frozen
class ArmsWithFeatures(Bandit):
    """What arms with fixed features share; by default features are uniform on the unit cube."""

    arms: int = parameter(50, help="number of arms", validator=ge(1))
    dimension: int = parameter(2, help="number of features of an arm", validator=ge(1))

    @property
    @abstractmethod
    def mean_range(self) -> tuple[float, float]:
        """Lowest and highest mean that can occur."""

    @abstractmethod
    def draw_means(self, features: Array, rng: Generator) -> Array:
        """The mean of every arm: (rows, arms)."""

    @property
    def sub_gaussian_noise(self) -> float | None:
        """The scale of the noise, where it is sub-Gaussian."""
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
    """Arms with fixed features whose payoffs depend on their means alone."""

    @abstractmethod
    def payoff(self, mean: Array, rng: Generator) -> Array:
        """What arms of these means pay."""

    def pay(
        self, instance: FixedInstance, observation: Observation, action: Array, rng: Generator
    ) -> tuple[Array, Array]:
        mean = chosen(instance.mean, action)
        return self.payoff(mean, rng), instance.best - mean


def cube_means(features: Array, rng: Generator) -> Array:
    """<a, theta> of every arm, (rows, arms), with a theta uniform on the unit cube in every row."""
    return inner(features, rng.random((len(features), features.shape[2])))
