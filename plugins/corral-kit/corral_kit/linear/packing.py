"""What policies keep, in single precision; of symmetric matrices the upper half alone.

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

from corral_core.rows import Array


def packed(matrices: Array) -> Array:
    """(..., d, d) symmetric matrices as (..., d (d + 1)/2)."""
    *front, d, _ = matrices.shape
    return single(matrices.reshape(*front, d * d).take(_upper(d), axis=-1))


@np.errstate(over="ignore")  # `best_arm` names what is not finite
def single(values: Array) -> Array:
    """In single precision; beyond its range, infinite."""
    return values.astype(np.float32)


def unpacked(halves: Array) -> Array:
    """What `packed` packed, as (..., d, d)."""
    *front, size = halves.shape
    d = (math.isqrt(8 * size + 1) - 1) // 2
    whole: Array = halves.take(_places(d), axis=-1)
    return whole.reshape(*front, d, d)


@functools.cache
def _upper(d: int) -> Array:
    """Where the upper half lies in a flat d x d matrix."""
    row, column = np.triu_indices(d)
    return row * d + column


@functools.cache
def _places(d: int) -> Array:
    """For every place of a flat d x d matrix, where its value lies in the half."""
    places = np.zeros((d, d), dtype=np.intp)
    places[np.triu_indices(d)] = np.arange(d * (d + 1) // 2)
    return np.maximum(places, places.T).reshape(-1)
