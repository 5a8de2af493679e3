"""Random directions: on the sphere, and in dyadic blocks of coordinates.

The blocks are [0], [1], [2, 3], [4..7], ...: each doubles the total, so the first 1, 2, 4, 8, ... coordinates are whole
blocks. A vector with a uniform direction and length 1/sqrt(J) in each of J blocks has norm 1 and the same energy in
every block: the scale does not reveal how many coordinates matter.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.random import Generator

from corral_core import Array, CorralError


def sphere(rng: Generator, *shape: int) -> Array:
    """Vectors uniform on the unit sphere of the last axis."""
    return normalised(rng.standard_normal(shape))


def normalised(vectors: Array) -> Array:
    """Normalise these vectors in place to norm 1 along the last axis."""
    vectors /= np.sqrt(np.einsum("...i,...i->...", vectors, vectors))[..., None]
    return vectors


def in_blocks(vectors: Array) -> Array:
    """Rescale these vectors in place to equal energy in every dyadic block of the last axis, and norm 1."""
    first, size = blocks(vectors.shape[-1])
    energy = np.add.reduceat(vectors * vectors, first, axis=-1)
    vectors *= np.repeat(1 / np.sqrt(len(first) * energy), size, axis=-1)
    return vectors


@cache
def blocks(dimension: int) -> tuple[Array, Array]:
    """The first coordinate and the size of every dyadic block."""
    first = np.concatenate([[0], 1 << np.arange(dimension.bit_length() - 1)])
    return first, np.diff(first, append=dimension)


def check_blocks(name: str, dimension: int, relevant: int) -> None:
    """Raise an error unless both numbers of coordinates are whole dyadic blocks."""
    for what, value in (("dimension", dimension), ("relevant", relevant)):
        if value & (value - 1):
            near = 1 << round(math.log2(value))
            raise CorralError(f"{name}: {what} must be a power of two, such as {near}, not {value}")
    check_relevant(name, dimension, relevant)


def check_relevant(name: str, dimension: int, relevant: int) -> None:
    """Raise an error if more coordinates matter than there are."""
    if relevant > dimension:
        raise CorralError(f"{name}: relevant must be at most the dimension {dimension}, not {relevant}")


def leading(vectors: Array, dimension: int) -> Array:
    """These vectors, followed by zeros up to this dimension."""
    padded = np.zeros((*vectors.shape[:-1], dimension))
    padded[..., : vectors.shape[-1]] = vectors
    return padded


def inner(features: Array, theta: Array) -> Array:
    """<a, theta> of every arm: (rows, arms) from features (rows, arms, dimension) and one theta per row."""
    products: Array = (features @ theta[:, :, None])[:, :, 0]
    return products
