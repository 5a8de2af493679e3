"""Contexts with D features, of which only the first d* matter: nested classes of linear models, one for every d.

nested-dimension: in each of the J dyadic blocks of coordinates (directions.py) an action has a uniform direction and
length 1/sqrt(J); theta has a uniform direction in each block inside [0, d*), and norm 1. Every d < d* is then clearly
misspecified, and the scale of the coordinates does not reveal d*. The mean is

    (1 - eps) <a, theta> + eps cos(w <v, a> + phi0),

with v uniform on the unit sphere of R^D and phi0 uniform on [0, 2 pi]; it is within eps of the linear function
(1 - eps) theta. misspecified-contexts is the same with d* = D. (Made for Corral; the settings are those of Pacchiano
et al. 2020, Section 6.)

nested-dimension-foster: the contexts of the experiments of Foster, Krishnamurthy and Luo 2019: Gaussian vectors, action
0 replaced by 0.05 Gaussian + theta, all scaled to norm 1; theta uniform on the unit sphere of the first d* coordinates,
mean <a, theta>. They draw theta once for all runs; here every row has its own. Action 0 has a mean of about
1/sqrt(1 + .0025 D) and is almost always best, so an algorithm that ignores the features also does well.
"""

from __future__ import annotations

from typing import ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le
from corral_kit.linear.contexts import ContextualBandit
from corral_kit.linear.directions import check_blocks, check_relevant, in_blocks, inner, leading, normalised, sphere
from numpy.random import Generator

from corral_core import Array, Rows, parameter

SPREAD = 0.05


class NestedInstance(Rows):
    theta: Array  # (rows, dimension), zero beyond d*
    direction: Array  # (rows, dimension), v
    phase: Array  # (rows,), phi0


@attrs.frozen
class BlockContexts(ContextualBandit):
    """Contexts in dyadic blocks, with means that are linear up to eps."""

    misspecification: float = parameter(0.0, help="distance eps from linear means", validator=and_(ge(0), le(1)))
    frequency: float = parameter(50.0, help="frequency w of the deviation from linear means", validator=ge(0))

    def __attrs_post_init__(self) -> None:
        check_blocks(self.name, self.dimension, self.matter)

    @property
    def matter(self) -> int:
        """The number d* of coordinates that matter (default: all)."""
        return self.dimension

    def draw(self, rows: int, rng: Generator) -> NestedInstance:
        theta = leading(in_blocks(rng.standard_normal((rows, self.matter))), self.dimension)
        return NestedInstance(theta, sphere(rng, rows, self.dimension), 2 * np.pi * rng.random(rows))

    def draw_contexts(self, instance: NestedInstance, rng: Generator) -> Array:
        return in_blocks(rng.standard_normal((len(instance), self.arms, self.dimension)))

    def means(self, instance: NestedInstance, features: Array) -> Array:
        linear = inner(features, instance.theta)
        if self.misspecification == 0:
            return linear
        wave = np.cos(self.frequency * inner(features, instance.direction) + instance.phase[:, None])
        return (1 - self.misspecification) * linear + self.misspecification * wave


@attrs.frozen
class NestedDimension(BlockContexts):
    """Contexts with D features, of which only the first d* matter."""

    name: ClassVar[str] = "nested-dimension"

    dimension: int = parameter(64, help="number D of features, a power of two", validator=ge(1))
    relevant: int = parameter(8, help="number d* of leading features that matter, a power of two", validator=ge(1))

    @property
    def matter(self) -> int:
        return self.relevant


@attrs.frozen
class MisspecifiedContexts(BlockContexts):
    """Contexts whose means are linear up to eps, in all features."""

    name: ClassVar[str] = "misspecified-contexts"

    dimension: int = parameter(8, help="number of features, a power of two", validator=ge(1))
    misspecification: float = parameter(0.1, help="distance eps from linear means", validator=and_(ge(0), le(1)))


class FosterInstance(Rows):
    theta: Array  # (rows, dimension), zero beyond d*


@attrs.frozen
class FosterNested(ContextualBandit):
    """The nested contexts of Foster et al. 2019."""

    name: ClassVar[str] = "nested-dimension-foster"

    arms: int = parameter(2, help="number of arms", validator=ge(1))
    dimension: int = parameter(1000, help="number D of features", validator=ge(1))
    noise: float = parameter(1.0, help="standard deviation of the noise", validator=and_(gt(0), le(1e9)))
    relevant: int = parameter(10, help="number d* of leading features that matter", validator=ge(1))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(dimension=50), cls(dimension=50, available=0.5)]

    def __attrs_post_init__(self) -> None:
        check_relevant(self.name, self.dimension, self.relevant)

    def draw(self, rows: int, rng: Generator) -> FosterInstance:
        return FosterInstance(leading(sphere(rng, rows, self.relevant), self.dimension))

    def draw_contexts(self, instance: FosterInstance, rng: Generator) -> Array:
        vectors = rng.standard_normal((len(instance), self.arms, self.dimension))
        vectors[:, 0] *= SPREAD
        vectors[:, 0] += instance.theta
        return normalised(vectors)

    def means(self, instance: FosterInstance, features: Array) -> Array:
        return inner(features, instance.theta)
