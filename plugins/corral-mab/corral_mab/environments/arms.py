"""Independent arms: the classical bandit.

Every row has K arms with its own means, given or drawn uniformly from [low, high]. An arm pays its mean plus noise;
the regret of a play is the best mean minus the mean of the arm played.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from attrs.validators import ge, gt
from numpy.random import Generator

from corral_core import Array, Bandit, CorralError, Observation, Problem, Rows, parameter
from corral_core.environments.bandit import chosen, gaussian


class ArmsInstance(Rows):
    mean: Array  # (rows, arms)
    best: Array  # (rows,), the largest mean


@attrs.frozen
class Arms(Bandit):
    """What Bernoulli and Gaussian arms share."""

    means: tuple[float, ...] | None = parameter(None, help="mean of each arm (default: drawn for every row)")
    arms: int = parameter(5, help="number of arms, if means are drawn", validator=ge(1))
    low: float = parameter(0.0, help="smallest possible mean")
    high: float = parameter(1.0, help="largest possible mean")

    def __attrs_post_init__(self) -> None:
        if not self.low < self.high:
            raise CorralError(f"{self.name}: low must be less than high, not {self.low} and {self.high}")
        if self.means is not None:
            if not self.means:
                raise CorralError(f"{self.name}: means must have at least one value")
            outside = [mean for mean in self.means if not self.low <= mean <= self.high]
            if outside:
                raise CorralError(f"{self.name}: the mean {outside[0]} lies outside [{self.low}, {self.high}]")

    @property
    def count(self) -> int:
        return self.arms if self.means is None else len(self.means)

    def draw(self, rows: int, rng: Generator) -> ArmsInstance:
        if self.means is None:
            mean = self.low + (self.high - self.low) * rng.random((rows, self.arms))
        else:
            mean = np.tile(np.asarray(self.means, dtype=np.float64), (rows, 1))
        return ArmsInstance(mean, mean.max(axis=1))


@attrs.frozen
class BernoulliArms(Arms):
    """Arms that pay 1 with probability equal to their mean, otherwise 0."""

    name: ClassVar[str] = "bernoulli-arms"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.low < 0 or self.high > 1:
            raise CorralError(f"{self.name}: means are probabilities, so low and high must lie in [0, 1]")

    @property
    def problem(self) -> Problem:
        return Problem(
            self.name, arms=self.count, noise=0.5, low=self.low, high=self.high, reward_low=0.0, reward_high=1.0
        )

    def pay(
        self, instance: ArmsInstance, observation: Observation, action: Array, rng: Generator
    ) -> tuple[Array, Array]:
        mean = chosen(instance.mean, action)
        reward = (rng.random(len(action)) < mean).astype(np.float64)
        return reward, instance.best - mean


@attrs.frozen
class GaussianArms(Arms):
    """Arms that pay their mean plus Gaussian noise."""

    name: ClassVar[str] = "gaussian-arms"

    noise: float = parameter(1.0, help="standard deviation of the noise", validator=gt(0))

    @property
    def problem(self) -> Problem:
        return Problem(self.name, arms=self.count, noise=self.noise, low=self.low, high=self.high)

    def pay(
        self, instance: ArmsInstance, observation: Observation, action: Array, rng: Generator
    ) -> tuple[Array, Array]:
        return gaussian(instance.mean, instance.best, action, self.noise, rng)
