"""What meta-algorithms that draw a base have in common."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from corral_core.rows import Array


def draw(weights: Array, rng: Generator) -> tuple[Array, Array]:
    """One base per row, drawn in proportion to (bases, rows) weights, and its probability."""
    rows = weights.shape[1]
    sums = np.cumsum(weights, axis=0)
    total = sums[-1]
    chosen = np.add.reduce(sums <= rng.random(rows) * total, axis=0, dtype=np.intp)
    probability = weights.take(chosen * rows + np.arange(rows)) / total
    return chosen, probability


def among(active: Array, weights: Array) -> Array:
    """The unchanged weights if every base is active; else those of active bases, normalised to sum to one per row."""
    if active.all():
        return weights
    kept = np.where(active, weights, 0.0)
    total = kept.sum(axis=0)
    if not total.all():  # only dropped bases had weight
        kept, total = np.where(total > 0, kept, active), np.where(total > 0, total, active.sum(axis=0))
    return np.asarray(kept / total)
