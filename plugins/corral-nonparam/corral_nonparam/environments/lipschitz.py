"""Lipschitz mean rewards of one context, uniform on the unit cube of D features, of which the first d* matter.

With `form = "product"` there are two arms, with means

    1/2 + s/2 prod_{i <= d*} sin(2 pi m x_i),   s = 1 and -1,

so both arms are equal on average over any one of the d* features: a learner that leaves one out learns nothing. Uniform
play loses (2/pi)^d*/2 per play, and so does any learner that ignores one of these features. The means are Lipschitz
with constant pi m sqrt(d*).

With `form = "sum"` there are K arms, with means

    1/2 + 1/(2 d*) sum_{i <= d*} cos(2 pi m (x_i - phi_{a,i})),

with phi uniform on [0, 1], drawn once for every row, arm and feature: each feature left out costs a share. The means
are Lipschitz with constant pi m/sqrt(d*).

m is `frequency`. Noise is Gaussian. (Made for Corral; the setting is that of Pacchiano et al. 2020, Section 6.)

>>> world = Lipschitz(dimension=2, relevant=1)
>>> world.means(world.draw(1, np.random.default_rng(1)), np.array([[0.25, 0.9]])).round(9)
array([[1., 0.]])
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self, get_args

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, in_, le
from corral_kit.linear.contexts import ContextualBandit
from corral_kit.linear.directions import check_relevant
from numpy.random import Generator

from corral_core import Array, CorralError, Rows, parameter

Form = Literal["product", "sum"]


class LipschitzInstance(Rows):
    phase: Array  # (rows, arms, d*); for the product (rows, 0, 0)


@attrs.frozen
class Lipschitz(ContextualBandit):
    """Lipschitz mean rewards of a context with D features, of which the first d* matter."""

    name: ClassVar[str] = "lipschitz"
    shared: ClassVar[bool] = True
    mean_range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    arms: int = parameter(2, help="number of arms; must be 2 for the product", validator=ge(1))
    dimension: int = parameter(4, help="number D of features", validator=ge(1))
    noise: float = parameter(0.1, help="standard deviation of the noise", validator=and_(gt(0), le(1e9)))
    relevant: int = parameter(2, help="number d* of leading features that matter", validator=ge(1))
    form: Form = parameter("product", help="shape of the means: product or sum of waves", validator=in_(get_args(Form)))
    frequency: float = parameter(1.0, help="number m of waves along a feature", validator=and_(gt(0), le(1e6)))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(form="sum", arms=3, available=0.5)]

    def __attrs_post_init__(self) -> None:
        check_relevant(self.name, self.dimension, self.relevant)
        if self.form == "product" and self.arms != 2:
            raise CorralError(f'{self.name}: form = "product" needs 2 arms, not {self.arms}; "sum" takes any number')

    def draw(self, rows: int, rng: Generator) -> LipschitzInstance:
        if self.form == "product":
            return LipschitzInstance(np.empty((rows, 0, 0)))
        return LipschitzInstance(rng.random((rows, self.arms, self.relevant)))

    def draw_contexts(self, instance: LipschitzInstance, rng: Generator) -> Array:
        return rng.random((len(instance), self.dimension))

    def means(self, instance: Any, features: Array) -> Array:
        x, turn = features[:, : self.relevant], 2 * np.pi * self.frequency
        if self.form == "product":
            wave = np.sin(turn * x).prod(axis=1, keepdims=True) / 2
            return np.concatenate([0.5 + wave, 0.5 - wave], axis=1)
        found: Array = 0.5 + np.cos(turn * (x[:, None] - instance.phase)).mean(axis=2) / 2
        return found
