"""Places in flat arrays: count at some of them, and take one value per row."""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.twins import kernel

NO_PLACE = "there is no such row or column"


def _count_arrays(counts: Any, at: Any) -> None:
    counts[at] += 1


@kernel(_count_arrays)
def count(counts: Any, at: Any) -> None:
    """Add one at each of these (distinct) places."""
    for place in at:
        counts[place] += 1


def _picked_arrays(values: Any, column: Any) -> Any:
    return values[np.arange(len(column)), column]


@kernel(_picked_arrays)
def picked(values: Any, column: Any) -> Any:
    """The value of each row at its own column, from (rows, columns) values.

    Raises an IndexError if there is no such row or column.
    """
    rows, columns = values.shape
    if len(column) > rows:
        raise IndexError(NO_PLACE)
    found = np.empty(len(column), values.dtype)
    for row in range(len(column)):
        if not -columns <= column[row] < columns:
            raise IndexError(NO_PLACE)
        found[row] = values[row, column[row]]
    return found
