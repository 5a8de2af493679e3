"""The plays of every row, one list per arm, and the search trees built over them.

A list is append-only, so its state at any time is a prefix, given by its length. Blocks of 2^i plays that begin at a
multiple of 2^i never change once they are full. A tree over such a block is built on first use and serves every prefix
that contains the block. Trees are not saved: they are rebuilt after a history is loaded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core import Array, Log, Rows
from corral_nonparam.blocks import block_bytes, block_of


class Plays(Rows):
    """What is kept of a play."""

    x: Array  # (rows, d)
    reward: Array  # (rows,)


class History(Log):
    """A log with `arms` lists per row. List a of row r has number r * arms + a; methods of a log take these numbers.

    >>> history = History(2, arms=3)
    >>> history.append(np.array([1, 5]), Plays(np.zeros((2, 4)), np.ones(2)))
    >>> len(history), history.length.reshape(2, 3).tolist()
    (2, [[0, 1, 0], [0, 0, 1]])
    >>> history.put(np.array([1]), history)  # row 1 starts over
    >>> history.length.reshape(2, 3).tolist()
    [[0, 1, 0], [0, 0, 0]]
    """

    def __init__(self, rows: int, arms: int) -> None:
        super().__init__(rows * arms, Plays)
        self.arms = arms
        self._trees: dict[int, dict[tuple[int, int], Any]] = {}  # per list, by first play and size

    def __len__(self) -> int:
        return self.rows // self.arms

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(sum(map(block_bytes, trees.values())) for trees in self._trees.values())

    def empty(self, rows: int) -> History:
        return History(rows // self.arms, self.arms)

    def put(self, rows: Array, other: Log) -> None:
        self.forget((rows[:, None] * self.arms + np.arange(self.arms)).reshape(-1))

    def forget(self, rows: Array) -> None:
        super().forget(rows)
        if self._trees:
            for number in rows.tolist():
                self._trees.pop(number, None)

    def points(self, numbers: Array, count: int) -> Array:
        """The first `count` plays of these lists, (lists, count, d); if a list has fewer, the rest is arbitrary.

        It copies page by page, which is faster than calling `column` for every play.
        """
        x, one = self._columns["x"], len(numbers) == 1
        play, found = np.arange(count), np.empty((len(numbers), count), dtype=np.int64)
        pages: list[Array] = []
        begin, size = 0, self.FIRST
        for base in self._base.take(numbers, axis=1):
            part = slice(begin, min(begin + size, count))
            if one:
                pages.append(x[base[0] + begin : base[0] + part.stop])
            else:
                np.add(base[:, None], play[part], out=found[:, part])
            begin, size = begin + size, 2 * size
            if begin >= count:
                break
        return np.concatenate(pages)[None] if one else x.take(found, axis=0, mode="clip")

    def tree(self, number: int, first: int, size: int) -> Any:
        """The search structure of these plays of a list, all of which must exist; see `block_of`."""
        trees = self._trees.setdefault(number, {})
        if (first, size) not in trees:
            trees[first, size] = block_of(self.points(np.array([number]), first + size)[0, first:])
        return trees[first, size]
