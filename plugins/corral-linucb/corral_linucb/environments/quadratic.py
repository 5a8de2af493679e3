"""Means that are squares of a linear function: <z, theta>^2, with z and theta uniform on the unit sphere of R^d.

z and -z are worth the same, so that under uniform play nothing is linear in z: LinUCB comes to favour one side of the
sphere and keeps losing what the other side has. In the products of the coordinates all is linear:
<z, theta>^2 = <svec(z z^T), svec(theta theta^T)>. Arms are fixed, or drawn anew at every play.
(The example of Pacchiano et al. 2020, Section 1, made concrete for Corral.)
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import attrs
import numpy as np
from attrs.validators import ge, in_
from numpy.random import Generator

from corral_core.environments import gaussian
from corral_core.errors import CorralError
from corral_core.protocols import NOTHING, Observation, Problem, parameter
from corral_core.rows import Array, Rows
from corral_linucb.environments.contextual import ContextualBandit
from corral_linucb.environments.directions import inner, sphere
from corral_linucb.environments.fixed import FixedInstance

Contexts = Literal["fixed", "fresh"]


class FreshInstance(Rows):
    theta: Array  # (rows, dimension)


@attrs.frozen
class Quadratic(ContextualBandit):
    """Means that are squares of a linear function."""

    name: ClassVar[str] = "quadratic"
    mean_range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    arms: int = parameter(50, help="number of arms", validator=ge(1))
    dimension: int = parameter(4, help="number of features of an arm", validator=ge(1))
    contexts: Contexts = parameter(
        "fixed", help="arms that stay, or that are drawn anew at every play", validator=in_(get_args(Contexts))
    )

    def __attrs_post_init__(self) -> None:
        if self.contexts == "fixed" and self.available < 1:
            raise CorralError(f"{self.name}: fixed arms are always there; set available to 1 or contexts to fresh")

    @property
    def problem(self) -> Problem:
        return attrs.evolve(super().problem, changing=self.contexts == "fresh")

    def draw(self, rows: int, rng: Generator) -> FixedInstance | FreshInstance:
        fresh = FreshInstance(sphere(rng, rows, self.dimension))
        if self.contexts == "fresh":
            return fresh
        features = self.draw_contexts(fresh, rng)
        mean = self.means(fresh, features)
        return FixedInstance(features, mean, mean.max(axis=1))

    def shown(self, instance: Any) -> dict[str, Array]:
        return {"features": instance.features} if self.contexts == "fixed" else {}

    def observe(self, instance: Any, rng: Generator) -> Observation:
        return NOTHING if self.contexts == "fixed" else super().observe(instance, rng)

    def pay(self, instance: Any, observation: Observation, action: Array, rng: Generator) -> tuple[Array, Array]:
        if self.contexts == "fixed":
            return gaussian(instance.mean, instance.best, action, self.noise, rng)
        return super().pay(instance, observation, action, rng)

    def draw_contexts(self, instance: FreshInstance, rng: Generator) -> Array:
        return sphere(rng, len(instance), self.arms, self.dimension)

    def means(self, instance: FreshInstance, features: Array) -> Array:
        squares: Array = np.square(inner(features, instance.theta))
        return squares
