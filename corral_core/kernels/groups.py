"""Which learners play, block by block: rows whose chosen bases are in the same block act and learn together."""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.twins import kernel


def _by_block_arrays(block_of: Any, slot: Any, chosen: Any, blocks: Any) -> Any:
    block = block_of.take(chosen)
    order = block.argsort(kind="stable")
    base = chosen.take(order)
    return (
        order,
        slot.take(base) * len(chosen) + order,
        base * len(chosen) + order,
        np.bincount(block, minlength=blocks),
    )


@kernel(_by_block_arrays)
def by_block(block_of: Any, slot: Any, chosen: Any, blocks: Any) -> Any:
    """The rows in the order of their blocks, their learners (slot * rows + row), their places in flat (bases, rows)
    arrays, and the number of rows of each block, for the base that was chosen in every row.
    """
    rows = len(chosen)
    order, learners, places = np.empty(rows, np.intp), np.empty(rows, np.intp), np.empty(rows, np.intp)
    counts, begin = np.zeros(blocks, np.intp), np.zeros(blocks, np.intp)
    for row in range(rows):
        counts[block_of[chosen[row]]] += 1
    for block in range(1, blocks):
        begin[block] = begin[block - 1] + counts[block - 1]
    for row in range(rows):
        base = chosen[row]
        at = begin[block_of[base]]
        begin[block_of[base]] += 1
        order[at], learners[at], places[at] = row, slot[base] * rows + row, base * rows + row
    return order, learners, places, counts
