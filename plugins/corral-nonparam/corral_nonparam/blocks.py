"""Search structures for the points of a block near a query: scipy's cKDTree, or a sorted array if d = 1.

Both answer two questions, up to rounding: how far away the k-th nearest point is, and which points lie within a radius.
If d = 1, the number of neighbours is large (n^(2/3) of n), and they are adjacent in a sorted array.

>>> block = Sorted(np.array([[0.5], [0.1], [0.3]]))
>>> block.query(np.array([0.2]), [2])[0].round(9).tolist(), block.query_ball_point(np.array([0.2]), 0.2).tolist()
([0.1], [1, 2])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core import Array

LARGE = 1e140


class Sorted:
    """Points on a line, with the interface of a cKDTree."""

    def __init__(self, x: Array) -> None:
        self.order = np.argsort(x[:, 0], kind="stable").astype(np.int32)
        self.values = x[self.order, 0]

    def query(self, x: Array, k: list[int]) -> tuple[Array, None]:
        """The distance of the k-th nearest point."""
        (wanted,), at = k, int(self.values.searchsorted(x[0]))
        around = np.abs(self.values[max(0, at - wanted) : at + wanted] - x[0])
        return np.partition(around, wanted - 1)[wanted - 1 : wanted], None

    def query_ball_point(self, x: Array, radius: float) -> Array:
        """Points within the radius, widened by one unit in the last place: maybe too many points, never too few."""
        low, high = np.nextafter(x[0] - radius, -np.inf), np.nextafter(x[0] + radius, np.inf)
        return self.order[self.values.searchsorted(low) : self.values.searchsorted(high, side="right")]


def block_of(x: Array) -> Any:
    """A search structure that copies these points, (n, d); None if squares of distances might overflow."""
    if np.abs(x).max() > LARGE:
        return None
    if x.shape[1] == 1:
        return Sorted(x)
    from scipy.spatial import cKDTree  # type: ignore[import-untyped]  # slow to import, not needed for short histories

    return cKDTree(x, copy_data=True)


def block_bytes(block: Any) -> int:
    """Approximate bytes of a block; for a tree its points, their order, and nodes of 72 bytes."""
    if block is None:
        return 0
    if isinstance(block, Sorted):
        return int(block.order.nbytes + block.values.nbytes)
    return int(block.data.nbytes + block.indices.nbytes + 72 * block.size)
