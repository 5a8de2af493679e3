"""Rewards with mean mu(<x, theta>), for any link mu (corral_glm.links).

theta has norm B, which sets how much the link bends: with B = 4 a logistic mean goes from 0.02 to 0.98. If the means of
a link are probabilities, an arm pays 1 with probability equal to its mean, otherwise 0, unless `gaussian` is set. In
all other cases the noise is Gaussian with standard deviation `noise`.

glm-contexts: arms are drawn at every play, with a uniform direction in each dyadic block of coordinates
(corral_kit.linear.directions) and norm 1; theta likewise, with norm B. With `shift` > 0 the arms lean towards a
direction u of the row, drawn like theta: the blocks are those of g + shift sqrt(d) u, with g a Gaussian vector.
Contexts are then no longer symmetric, and a model with a wrong link misses not only the length but also the direction
of theta.

glm-arms: arms are uniform on the unit sphere, drawn once, and theta is uniform on the sphere of radius B.

(Made for Corral; Pacchiano et al. 2020, Section 6, name the problem but state no setting.)
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le
from corral_kit.linear.contexts import ContextualBandit
from corral_kit.linear.directions import in_blocks, inner, sphere
from corral_kit.linear.fixed_arms import FixedArms
from numpy.random import Generator

from corral_core import Array, Problem, Rows, parameter
from corral_core.environments.bandit import noisy
from corral_glm.links import Link, check_reach, link_of, valid_link

COIN = 0.5  # sub-Gaussian scale of a reward that is 0 or 1


@attrs.frozen(slots=False)  # so that it can be mixed with environments
class Rewards:
    """How arms of a generalised linear model pay."""

    name: ClassVar[str]

    link: Any = parameter(
        "logistic",
        help="mu: logistic, probit, cloglog, identity, half-identity, square, or your own as 'module:object'",
        validator=valid_link,
    )
    norm: float = parameter(4.0, help="norm B of theta", validator=and_(ge(0), le(1e9)))
    noise: float = parameter(
        0.3, help="standard deviation of the noise, if it is Gaussian", validator=and_(gt(0), le(1e9))
    )
    gaussian: bool = parameter(False, help="whether the noise is Gaussian even if means are probabilities")

    def __attrs_post_init__(self) -> None:
        check_reach(self.mu, self.norm, self.name)

    @property
    def mu(self) -> Link:
        """The link itself."""
        return link_of(self.link)

    @property
    def coins(self) -> bool:
        """Whether arms pay 0 or 1."""
        return self.mu.coins and not self.gaussian

    @property
    def scale(self) -> float:
        """Sub-Gaussian scale of the rewards."""
        return COIN if self.coins else self.noise

    @property
    def ends(self) -> tuple[float, float]:
        """The means at the smallest and largest <x, theta>, or the whole numbers around them if they are equal."""
        least, most = self.mean_of(np.array([0.0 if self.mu.even else -self.norm, self.norm])).tolist()
        return (least, most) if least < most else (math.floor(least), math.floor(least) + 1.0)

    def with_range(self, problem: Problem) -> Problem:
        """The problem with the range of its rewards: coins pay 0 or 1, Gaussian noise has no range."""
        return attrs.evolve(problem, reward_low=0.0, reward_high=1.0) if self.coins else problem

    def mean_of(self, product: Array) -> Array:
        """Mean rewards, from <x, theta>."""
        return np.clip(self.mu.mean(product), self.mu.low, self.mu.high)

    def payoff(self, mean: Array, rng: Generator) -> Array:
        """Rewards of arms with these means."""
        if self.coins:
            return (rng.random(len(mean)) < mean).astype(np.float64)
        return noisy(mean, self.noise, rng)


class GlmInstance(Rows):
    theta: Array  # (rows, d)
    towards: Array  # (rows, d), u


@attrs.frozen
class GlmContexts(Rewards, ContextualBandit):
    """Contexts whose means follow a generalised linear model."""

    name: ClassVar[str] = "glm-contexts"

    shift: float = parameter(
        0.0, help="how far contexts lean towards a direction of the row (0: not at all)", validator=and_(ge(0), le(1e3))
    )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(link="square", shift=1.0, gaussian=True, available=0.5)]

    @property
    def problem(self) -> Problem:
        low, high = self.ends
        return self.with_range(attrs.evolve(super().problem, noise=self.scale, low=low, high=high))

    def draw(self, rows: int, rng: Generator) -> GlmInstance:
        vectors = in_blocks(rng.standard_normal((rows, 2, self.dimension)))
        return GlmInstance(self.norm * vectors[:, 0], vectors[:, 1])

    def draw_contexts(self, instance: GlmInstance, rng: Generator) -> Array:
        vectors = rng.standard_normal((len(instance), self.arms, self.dimension))
        if self.shift:
            vectors += (self.shift * self.dimension**0.5 * instance.towards)[:, None]
        return in_blocks(vectors)

    def means(self, instance: GlmInstance, features: Array) -> Array:
        return self.mean_of(inner(features, instance.theta))


@attrs.frozen
class GlmArms(Rewards, FixedArms):
    """Fixed arms whose means follow a generalised linear model."""

    name: ClassVar[str] = "glm-arms"

    arms: int = parameter(50, help="number of arms", validator=ge(1))
    dimension: int = parameter(4, help="number of features of an arm", validator=ge(1))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(link="identity")]

    @property
    def problem(self) -> Problem:
        return self.with_range(super().problem)

    @property
    def mean_range(self) -> tuple[float, float]:
        return self.ends

    @property
    def sub_gaussian_noise(self) -> float:
        return self.scale

    def draw_features(self, rows: int, rng: Generator) -> Array:
        return sphere(rng, rows, self.arms, self.dimension)

    def draw_means(self, features: Array, rng: Generator) -> Array:
        return self.mean_of(inner(features, self.norm * sphere(rng, len(features), self.dimension)))
