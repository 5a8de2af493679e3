"""LinUCB on products of the features, for rewards that are quadratic in the features.

svec(z z^T) in R^{d(d+1)/2} has z_i^2 on the diagonal and sqrt(2) z_i z_j off it, so that
<svec(z z^T), svec(Theta)> = z^T Theta z and ||svec(z z^T)|| = ||z||^2; for r = <z, theta>^2 the parameter is
svec(theta theta^T), of norm S = ||theta||^2. With `linear`, the model also has the features themselves. `length` bounds
||z||, so the features of the model have norm L^2, or sqrt(L^2 + L^4) with `linear`.

Source: LinUCB, as in `corral_linucb/bases/linucb.py`.

>>> z, theta = np.array([1.0, 2.0]), np.array([3.0, -1.0])
>>> round(float(svec(z) @ svec(theta)), 9), float((z @ theta) ** 2)
(1.0, 1.0)
"""

from __future__ import annotations

import math
from typing import ClassVar, Self

import attrs
import numpy as np
from corral_kit.linear.arms import quietly

from corral_core import Array, parameter
from corral_core.protocols.problem import Actions
from corral_linucb.bases.linucb import LinUcb


@quietly
def svec(z: Array) -> Array:
    """Map (..., d) vectors to (..., d(d+1)/2): the symmetric matrix z z^T, packed so that inner products are kept."""
    one, other = np.triu_indices(z.shape[-1])
    packed: Array = z[..., one] * z[..., other] * np.where(one == other, 1.0, math.sqrt(2))
    return packed


@attrs.frozen
class QuadraticLinUcb(LinUcb):
    """LinUCB on products of the features."""

    name: ClassVar[str] = "quadratic-linucb"
    formula: ClassVar[str] = "the bound of LinUCB in d (d + 1)/2 dimensions, or d (d + 3)/2 with `linear`"
    actions: ClassVar[tuple[Actions, ...]] = ("finite",)

    linear: bool = parameter(False, help="use the features themselves as well as their products")

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(switching=0.5), cls(linear=True)]

    @property
    def parameters(self) -> int:
        return self.dimension * (self.dimension + 1) // 2 + (self.dimension if self.linear else 0)

    @property
    def squared_length(self) -> float:
        return self.length**4 + (self.length**2 if self.linear else 0.0)

    def mapped(self, features: Array) -> Array:
        return np.concatenate([features, svec(features)], axis=-1) if self.linear else svec(features)
