"""Arrays as policies store them: in single precision, and only the upper half of symmetric matrices.

>>> packed(np.array([[[2.0, 1.0], [1.0, 3.0]]]))
array([[2., 1., 3.]], dtype=float32)
>>> unpacked(packed(np.array([[[2.0, 1.0], [1.0, 3.0]]])))
array([[[2., 1.],
        [1., 3.]]], dtype=float32)
"""

from __future__ import annotations

import functools
import math

import numpy as np

from corral_core import Array


def packed(matrices: Array) -> Array:
    """(..., d, d) symmetric matrices as (..., d (d + 1)/2)."""
    *front, d, _ = matrices.shape
    return single(matrices.reshape(*front, d * d).take(_upper(d), axis=-1))


@np.errstate(over="ignore")  # `best_arm` reports what is not finite
def single(values: Array) -> Array:
    """Values in single precision; infinite if beyond its range."""
    return values.astype(np.float32)


def unpacked(halves: Array) -> Array:
    """The inverse of `packed`: (..., d, d) matrices."""
    *front, size = halves.shape
    d = (math.isqrt(8 * size + 1) - 1) // 2
    whole: Array = halves.take(_places(d), axis=-1)
    return whole.reshape(*front, d, d)


@functools.cache
def _upper(d: int) -> Array:
    """Positions of the upper half in a flat d x d matrix."""
    row, column = np.triu_indices(d)
    return row * d + column


@functools.cache
def _places(d: int) -> Array:
    """For every position of a flat d x d matrix, the position of its value in the half."""
    places = np.zeros((d, d), dtype=np.intp)
    places[np.triu_indices(d)] = np.arange(d * (d + 1) // 2)
    return np.maximum(places, places.T).reshape(-1)
