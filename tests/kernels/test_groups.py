"""Rows block by block: both twins, and a sort of plain lists."""

import numpy as np
import pytest

from corral_core.kernels.groups import by_block
from corral_core.testing import same_bits


@pytest.mark.parametrize("rows", [1, 2, 3, 48, 512])
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_rows_come_block_by_block(rows: int, blocks: int) -> None:
    rng = np.random.default_rng([rows, blocks])
    bases = 9
    block_of = rng.integers(0, blocks, bases).astype(np.int16)
    slot = np.array([int((block_of[:base] == block_of[base]).sum()) for base in range(bases)])
    chosen = rng.integers(0, bases, rows)
    (order, learners, places, counts), _ = same_bits(by_block, block_of, slot, chosen, blocks)
    assert order.tolist() == sorted(range(rows), key=lambda row: (block_of[chosen[row]], row))
    assert learners.tolist() == [slot[chosen[row]] * rows + row for row in order]
    assert places.tolist() == [chosen[row] * rows + row for row in order]
    assert counts.tolist() == [sum(block_of[base] == block for base in chosen) for block in range(blocks)]
