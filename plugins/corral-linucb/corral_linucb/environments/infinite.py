"""Infinite action sets in R^D, of which only the first d* coordinates matter.

The set is the unit ball {x: ||x|| <= 1}, or a changing ellipsoid, {M_t a: ||a|| <= 1} with M_t = diag(U[.5, 1]^D) drawn
at every play; the observation shows its semi-axes, the diagonal of M_t. An action is the vector x itself, and its mean
is <x, theta>; theta is drawn as in nested-dimension, with norm 1. The best mean is ||M_t theta||, at
x = M_t^2 theta/||M_t theta||. (The infinite sets of Pacchiano et al. 2020, Section 6, made concrete for Corral.)
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self, get_args

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, in_, le
from corral_kit.linear.directions import check_blocks, in_blocks, leading
from numpy.random import Generator

from corral_core import Array, Bandit, CorralError, Observation, Problem, Rows, parameter
from corral_core.protocols.problem import NOTHING

ROUNDING = 1e-9  # relative length by which an action may exceed its set

ActionSet = Literal["ball", "ellipsoid"]


class InfiniteInstance(Rows):
    theta: Array  # (rows, dimension), zero beyond d*


@attrs.frozen
class InfiniteNested(Bandit):
    """A ball or a changing ellipsoid, of which only the first d* of D coordinates matter."""

    name: ClassVar[str] = "nested-dimension-infinite"

    dimension: int = parameter(64, help="number D of coordinates, a power of two", validator=ge(1))
    relevant: int = parameter(8, help="number d* of leading coordinates that matter, a power of two", validator=ge(1))
    noise: float = parameter(0.3, help="standard deviation of the noise", validator=and_(gt(0), le(1e9)))
    set: ActionSet = parameter(
        "ball",
        help="the unit ball, or an ellipsoid that is drawn at every play",
        validator=in_(get_args(ActionSet)),
    )

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(set="ball"), cls(set="ellipsoid")]

    def __attrs_post_init__(self) -> None:
        check_blocks(self.name, self.dimension, self.relevant)

    @property
    def problem(self) -> Problem:
        return Problem(
            self.name,
            actions=self.set,
            dimension=self.dimension,
            changing=self.set == "ellipsoid",
            noise=self.noise,
            low=-1.0,
            high=1.0,
        )

    def draw(self, rows: int, rng: Generator) -> InfiniteInstance:
        return InfiniteInstance(leading(in_blocks(rng.standard_normal((rows, self.relevant))), self.dimension))

    def observe(self, instance: InfiniteInstance, rng: Generator) -> Observation:
        if self.set == "ball":
            return NOTHING
        return Observation(0.5 + 0.5 * rng.random((len(instance), self.dimension)))

    def pay(
        self, instance: InfiniteInstance, observation: Observation, action: Array, rng: Generator
    ) -> tuple[Array, Array]:
        self._check(observation.features, action)
        best = _length(instance.theta if observation.features is None else observation.features * instance.theta)
        mean = np.einsum("ri,ri->r", action, instance.theta)
        regret = np.maximum(best - mean, 0.0)  # rounding may lift the mean above the best
        return mean + self.noise * rng.standard_normal(len(mean)), regret

    def _check(self, axes: Array | None, action: Array) -> None:
        """Raise an error if an action lies outside the set."""
        length = _length(action if axes is None else action / axes)
        inside = length <= 1 + ROUNDING
        if not inside.all():
            row = int(np.flatnonzero(~inside)[0])
            divided = "" if axes is None else " when divided by the semi-axes"
            raise CorralError(
                f"{self.name}: the action of row {row} must have norm at most 1{divided}, not {length[row]:.10g}"
            )


def _length(vectors: Array) -> Array:
    """The Euclidean norm of every row."""
    squares: Array = np.einsum("ri,ri->r", vectors, vectors)
    return np.sqrt(squares)
