"""Who takes part: the learners of the chosen bases, or those of every base."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corral_core.kernels.groups import by_block
from corral_core.rows import Array
from corral_core.selection.failures import Failures
from corral_core.selection.judge import Judge
from corral_core.selection.round import Block, Part


class Lineup:
    """Finds the learners that take part in a round, block by block."""

    def __init__(
        self, blocks: Sequence[Block], bases: int, rows: int, judge: Judge, failures: Failures, *, restarts: bool
    ) -> None:
        """`restarts` says whether learners may restart, so that each part must note how often they have."""
        self._blocks, self._rows, self._judge, self._failures = blocks, rows, judge, failures
        self._restarts = restarts
        self._all = np.arange(rows)
        self._block_of = np.zeros(bases, dtype=np.int16)  # small numbers are sorted faster
        self._slot = np.zeros(bases, dtype=np.intp)
        for number, block in enumerate(blocks):
            self._block_of[block.members] = number
            self._slot[block.members] = np.arange(len(block.members))
        # With one row and without restarts, a base always takes part in the same way.
        alone = [] if restarts or rows > 1 else range(bases)
        self._parts = [self._alone(np.array([base])) for base in alone]

    def of(self, chosen: Array, at: Array) -> list[Part]:
        """The learners of the chosen bases; `at` are their places in flat (bases, rows) arrays."""
        if self._parts:
            return self._parts[chosen.item()]
        if len(self._blocks) == 1:
            return [self._part(self._blocks[0], self._all, at, at, whole=True)]
        rows, learners, places, counts = by_block(self._block_of, self._slot, chosen, len(self._blocks))
        parts, begin = [], 0
        for block, count in zip(self._blocks, counts.tolist(), strict=True):
            if count:
                here = slice(begin, begin + count)
                begin += count
                parts.append(self._part(block, rows[here], learners[here], places[here], whole=count == self._rows))
        return parts

    def _alone(self, base: Array) -> list[Part]:
        block = self._blocks[self._block_of.item(base.item())]
        return [self._part(block, self._all, self._slot.take(base), base, whole=True)]

    def everyone(self) -> list[Part]:
        """Every learner of every block that was not set aside."""
        parts = []
        for block in self._blocks:
            learners, at = self.learners(block)
            if self._failures.reasons:
                left = ~self._failures.at.take(at)
                learners, at = learners[left], at[left]
            whole = len(at) == self._rows and len(block.members) == 1
            if len(at):
                parts.append(self._part(block, learners % self._rows, learners, at, whole=whole))
        return parts

    def learners(self, block: Block) -> tuple[Array, Array]:
        """The numbers of all learners of a block, and their places in flat (bases, rows) arrays."""
        learners = np.arange(len(block.members) * self._rows)
        return learners, np.repeat(block.members * self._rows, self._rows) + learners % self._rows

    def _part(self, block: Block, rows: Array, learners: Array, at: Array, whole: bool = False) -> Part:
        restarts = self._judge.restarts.take(at) if self._restarts else None
        return Part(block, rows, learners, at, restarts, whole)
