"""One context for all arms, and one parameter vector per arm: the mean of arm a is <x, theta_a>.

x is uniform on the unit sphere and drawn at every play; theta_a is uniform on the unit sphere and drawn once. (The
disjoint linear model of Li, Chu, Langford and Schapire 2010.)
"""

from __future__ import annotations

from typing import ClassVar

import attrs
from attrs.validators import ge
from corral_kit.linear.contexts import ContextualBandit
from corral_kit.linear.directions import inner, sphere
from numpy.random import Generator

from corral_core import Array, Rows, parameter


class SharedContextInstance(Rows):
    theta: Array  # (rows, arms, dimension)


@attrs.frozen
class SharedContext(ContextualBandit):
    """One context for all arms, and one parameter vector per arm."""

    name: ClassVar[str] = "shared-context"
    shared: ClassVar[bool] = True

    arms: int = parameter(4, help="number of arms", validator=ge(1))
    dimension: int = parameter(5, help="number of features of the context", validator=ge(1))

    def draw(self, rows: int, rng: Generator) -> SharedContextInstance:
        return SharedContextInstance(sphere(rng, rows, self.arms, self.dimension))

    def draw_contexts(self, instance: SharedContextInstance, rng: Generator) -> Array:
        return sphere(rng, len(instance), self.dimension)

    def means(self, instance: SharedContextInstance, features: Array) -> Array:
        return inner(instance.theta, features)
