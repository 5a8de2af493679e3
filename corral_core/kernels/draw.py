"""One base per row, drawn in proportion to (bases, rows) weights, from a uniform number u per row.

chosen = how many j < M - 1 have w_0 + ... + w_j <= u (w_0 + ... + w_{M-1}),   probability = its share of the weights
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.twins import kernel

SMALL = np.iinfo(np.int8).max  # so much can be counted in small numbers, which is faster
FEW = 128  # rows; with fewer, numpy's running sum is faster than a loop of additions


def _arrays(weights: Any, uniform: Any) -> Any:
    bases, rows = weights.shape
    if rows == 1 and bases <= 4:
        return draw.loops(weights, uniform)
    if rows < FEW:
        sums = np.add.accumulate(weights, axis=0)
    else:
        sums = weights.copy()
        below = sums[0]
        for here in sums[1:]:
            here += below
            below = here
    total = sums[-1]
    chosen = counted(sums[:-1] <= uniform * total)
    return chosen, weights.take(chosen * rows + np.arange(rows)) / total


def counted(found: Any) -> Any:
    """How many of (terms, rows) booleans are true in each row."""
    if len(found) > SMALL:
        return np.add.reduce(found, axis=0, dtype=np.intp)
    return np.add.reduce(found.view(np.int8), axis=0, dtype=np.int8).astype(np.intp)


@kernel(_arrays)
def draw(weights: Any, uniform: Any) -> Any:
    """The base of every row, and its probability."""
    bases, rows = weights.shape
    chosen, probability = np.zeros(rows, np.intp), np.empty(rows)
    until, below = np.zeros(rows), np.zeros(rows)
    for base in range(bases):
        for row in range(rows):
            until[row] += weights[base, row]
    for row in range(rows):
        probability[row] = until[row]
        until[row] *= uniform[row]
    for base in range(bases - 1):
        for row in range(rows):
            below[row] += weights[base, row]
            chosen[row] += below[row] <= until[row]
    for row in range(rows):
        probability[row] = weights[chosen[row], row] / probability[row]
    return chosen, probability
