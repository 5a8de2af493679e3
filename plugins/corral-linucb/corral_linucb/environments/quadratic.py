"""Means that are squares of a linear function: <z, theta>^2, with z and theta uniform on the unit sphere of R^d.

z and -z have the same mean, so under uniform play nothing is linear in z: LinUCB ends up favouring one side of the
sphere and keeps missing the rewards of the other. In the products of the coordinates the mean is linear:
<z, theta>^2 = <svec(z z^T), svec(theta theta^T)>. Arms are fixed (quadratic), or drawn at every play
(quadratic-contexts). (The example of Pacchiano et al. 2020, Section 1, made concrete for Corral.)
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le
from corral_kit.linear.contexts import ContextualBandit
from corral_kit.linear.directions import inner, sphere
from numpy.random import Generator

from corral_core import Array, Rows, parameter
from corral_linucb.environments.fixed import GaussianLinearArms


@attrs.frozen
class QuadraticArms(GaussianLinearArms):
    """Fixed arms whose means are squares of a linear function."""

    name: ClassVar[str] = "quadratic"

    dimension: int = parameter(4, help="number of features of an arm", validator=ge(1))
    noise: float = parameter(0.3, help="standard deviation of the noise", validator=and_(gt(0), le(1e9)))

    @property
    def mean_range(self) -> tuple[float, float]:
        return 0.0, 1.0

    def draw_features(self, rows: int, rng: Generator) -> Array:
        return sphere(rng, rows, self.arms, self.dimension)

    def draw_means(self, features: Array, rng: Generator) -> Array:
        return _squares(features, sphere(rng, len(features), self.dimension))


class QuadraticInstance(Rows):
    theta: Array  # (rows, dimension)


@attrs.frozen
class QuadraticContexts(ContextualBandit):
    """Contexts whose means are squares of a linear function."""

    name: ClassVar[str] = "quadratic-contexts"
    mean_range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    arms: int = parameter(50, help="number of arms", validator=ge(1))
    dimension: int = parameter(4, help="number of features of an arm", validator=ge(1))

    def draw(self, rows: int, rng: Generator) -> QuadraticInstance:
        return QuadraticInstance(sphere(rng, rows, self.dimension))

    def draw_contexts(self, instance: QuadraticInstance, rng: Generator) -> Array:
        return sphere(rng, len(instance), self.arms, self.dimension)

    def means(self, instance: QuadraticInstance, features: Array) -> Array:
        return _squares(features, instance.theta)


def _squares(features: Array, theta: Array) -> Array:
    found: Array = np.square(inner(features, theta))
    return found
