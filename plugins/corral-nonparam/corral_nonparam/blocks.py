"""What finds the points of a block near a query: scipy's cKDTree, and for points on a line a sorted array.

Both answer two questions, up to rounding: how far the nearest so many points reach, and which points lie within a
radius. On a line the number of neighbours is large (n^(2/3) of n), and they lie beside each other in a sorted array.

>>> block = Sorted(np.array([[0.5], [0.1], [0.3]]))
>>> block.query(np.array([0.2]), [2])[0].round(9).tolist(), block.query_ball_point(np.array([0.2]), 0.2).tolist()
([0.1], [1, 2])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.rows import Array

LARGE = 1e140


class Sorted:
    """Points on a line, asked like a cKDTree."""

    def __init__(self, x: Array) -> None:
        self.order = np.argsort(x[:, 0], kind="stable").astype(np.int32)
        self.values = x[self.order, 0]

    def query(self, x: Array, k: list[int]) -> tuple[Array, None]:
        """The distance of the k-th nearest."""
        (wanted,), at = k, int(self.values.searchsorted(x[0]))
        around = np.abs(self.values[max(0, at - wanted) : at + wanted] - x[0])
        return np.partition(around, wanted - 1)[wanted - 1 : wanted], None

    def query_ball_point(self, x: Array, radius: float) -> Array:
        """Which lie within the radius: one unit in the last place may be too many, never too few."""
        low, high = np.nextafter(x[0] - radius, -np.inf), np.nextafter(x[0] + radius, np.inf)
        return self.order[self.values.searchsorted(low) : self.values.searchsorted(high, side="right")]


def block_of(x: Array) -> Any:
    """What finds these points, (n, d), in arrays of its own; None where squares of distances might overflow."""
    if np.abs(x).max() > LARGE:
        return None
    if x.shape[1] == 1:
        return Sorted(x)
    from scipy.spatial import cKDTree  # type: ignore[import-untyped]  # slow to import, and short histories need none

    return cKDTree(x, copy_data=True)


def block_bytes(block: Any) -> int:
    """About what a block takes: of a tree its points, their order, and nodes of 72 bytes."""
    if block is None:
        return 0
    if isinstance(block, Sorted):
        return int(block.order.nbytes + block.values.nbytes)
    return int(block.data.nbytes + block.indices.nbytes + 72 * block.size)
