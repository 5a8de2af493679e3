"""Fixed arms with features, which every base sees before the first play.

linear-arms: a_j ~ U[0,1]^d, theta ~ U[0,1]^d, mean <a_j, theta>. independent-arms: the same a_j, and means U[low, high]
that are independent of them. These are the two problems of the first figure of Pacchiano et al. 2020 (k = 50, d = 2).

misspecified-arms: a_j and theta uniform on the unit sphere, mean (1 - eps) <a_j, theta> + eps h_j with |h_j| <= 1, so
means are within eps of the linear function (1 - eps) theta. (The fixed arms of Section 6 of the same paper, made
concrete for Corral.) Rewards are Gaussian.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self, get_args

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, in_, le
from corral_kit.linear.directions import inner, sphere
from corral_kit.linear.fixed_arms import FixedArms, cube_means
from numpy.random import Generator

from corral_core import Array, CorralError, parameter
from corral_core.environments.bandit import noisy


@attrs.frozen
class GaussianLinearArms(FixedArms):
    """Arms with fixed features that pay their means plus Gaussian noise."""

    noise: float = parameter(1.0, help="standard deviation of the noise", validator=and_(gt(0), le(1e9)))

    @property
    def sub_gaussian_noise(self) -> float:
        return self.noise

    def payoff(self, mean: Array, rng: Generator) -> Array:
        return noisy(mean, self.noise, rng)


@attrs.frozen
class LinearArms(GaussianLinearArms):
    """Arms whose means are linear in their features."""

    name: ClassVar[str] = "linear-arms"

    @property
    def mean_range(self) -> tuple[float, float]:
        return 0.0, float(self.dimension)

    def draw_means(self, features: Array, rng: Generator) -> Array:
        return cube_means(features, rng)


@attrs.frozen
class IndependentArms(GaussianLinearArms):
    """Arms whose features are unrelated to their means."""

    name: ClassVar[str] = "independent-arms"

    low: float = parameter(0.0, help="smallest possible mean", validator=and_(ge(-1e9), le(1e9)))
    high: float = parameter(10.0, help="largest possible mean", validator=and_(ge(-1e9), le(1e9)))

    def __attrs_post_init__(self) -> None:
        if not self.low < self.high:
            raise CorralError(f"{self.name}: low must be less than high, not {self.low} and {self.high}")

    @property
    def mean_range(self) -> tuple[float, float]:
        return self.low, self.high

    def draw_means(self, features: Array, rng: Generator) -> Array:
        return self.low + (self.high - self.low) * rng.random((len(features), self.arms))


Deviation = Literal["uniform", "rademacher", "adversarial"]


@attrs.frozen
class MisspecifiedArms(GaussianLinearArms):
    """Arms whose means are linear up to eps.

    The deviation h_j is uniform on [-1, 1], or -1 or 1 with equal probability, or chosen by an adversary: +1 on a
    random half of the arms (rounded down) that excludes the best arm of the linear part, and -1 on all others,
    including that arm.
    """

    name: ClassVar[str] = "misspecified-arms"

    dimension: int = parameter(4, help="number of features of an arm", validator=ge(1))
    noise: float = parameter(0.3, help="standard deviation of the noise", validator=and_(gt(0), le(1e9)))
    misspecification: float = parameter(0.1, help="distance eps from linear means", validator=and_(ge(0), le(1)))
    deviation: Deviation = parameter(
        "uniform", help="how arms deviate; adversarial: against the linear optimum", validator=in_(get_args(Deviation))
    )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(deviation=kind) for kind in get_args(Deviation)]

    @property
    def mean_range(self) -> tuple[float, float]:
        return -1.0, 1.0

    def draw_features(self, rows: int, rng: Generator) -> Array:
        return sphere(rng, rows, self.arms, self.dimension)

    def draw_means(self, features: Array, rng: Generator) -> Array:
        linear = inner(features, sphere(rng, len(features), self.dimension))
        deviation = self.deviations(linear, rng.random(linear.shape))
        return (1 - self.misspecification) * linear + self.misspecification * deviation

    def deviations(self, linear: Array, uniform: Array) -> Array:
        """The deviations h, from one uniform number per arm."""
        if self.deviation == "uniform":
            return 2 * uniform - 1
        if self.deviation == "rademacher":
            return np.where(uniform < 0.5, -1.0, 1.0)
        np.put_along_axis(uniform, linear.argmax(axis=1)[:, None], 1.0, axis=1)  # always last when sorted by `uniform`
        rank = uniform.argsort(axis=1).argsort(axis=1)
        return np.where(rank < self.arms // 2, 1.0, -1.0)
