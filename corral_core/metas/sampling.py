"""What meta-algorithms that draw a base have in common."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from corral_core.rows import Array


def draw(weights: Array, rng: Generator) -> tuple[Array, Array]:
    """A base for every row, drawn in proportion to (bases, rows) weights, and its probability."""
    rows = weights.shape[1]
    sums = np.cumsum(weights, axis=0)
    total = sums[-1]
    chosen = np.add.reduce(sums <= rng.random(rows) * total, axis=0, dtype=np.intp)
    probability = weights.take(chosen * rows + np.arange(rows)) / total
    return chosen, probability


def among(active: Array, weights: Array) -> Array:
    """The weights as they are while every base is active; else those of active bases, summing to one in every row."""
    if active.all():
        return weights
    kept = np.where(active, weights, 0.0)
    total = kept.sum(axis=0)
    if not total.all():  # all the weight lay on bases that are dropped
        kept, total = np.where(total > 0, kept, active), np.where(total > 0, total, active.sum(axis=0))
    return np.asarray(kept / total)
