"""Log: append-only entries, one list per row, in one shared arena."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from corral_core.errors import CorralError
from corral_core.kernels.pages import NO_ENTRY, addresses, appended, drawn
from corral_core.kernels.ranges import in_range
from corral_core.rows import Array, Rows


class Log:
    """Append-only entries, one list per row; all rows share one arena.

    The entries of a row are stored in pages of doubling size, so appending takes amortised constant time and memory
    follows what was appended. Page k holds entries F (2^k - 1) to F (2^(k+1) - 1) - 1, with F the size of the first
    page; entry q is in page floor(log2(q + F)) - log2(F). When a row needs a page, rows that soon will get theirs too.
    """

    FIRST = 16
    SOON = 8  # a row whose last page is full but for the part 1/SOON gets the next one ahead of time

    def __init__(self, rows: int, entry: type[Rows] | None = None) -> None:
        """`entry` is the class of the entries; it is needed only if the log is loaded before anything is appended."""
        self.rows = rows
        self._entry = entry
        self.length = np.zeros(rows, dtype=np.int64)
        self._room = np.zeros(rows, dtype=np.int64)  # how many entries fit in the pages of a row
        self._base = np.zeros((0, rows), dtype=np.int64)  # address of page k minus its first entry's number; -1: none
        self._page_of = np.zeros(0, dtype=np.int8)  # the page of an entry
        self._used = 0
        self._columns: dict[str, Array] = {}
        self._like = Rows()
        self.is_plain = False  # whether it is known that entries hold no Python objects

    def __len__(self) -> int:
        return self.rows

    @property
    def nbytes(self) -> int:
        held: list[Array] = [self.length, self._room, self._base, self._page_of, *self._columns.values()]
        return sum(array.nbytes for array in held)

    def empty(self, rows: int) -> Self:
        """An empty log of the same kind; override this if the constructor takes other arguments."""
        return type(self)(rows, self._entry)

    def append(self, rows: Array, entries: Rows) -> None:
        """Add one entry to each of these (distinct) rows."""
        if not self._columns:
            self._prepare(entries)
        address = appended(self._base, self._page_of, self._room, self.length, rows)
        if address is None:
            self._make_room(rows)
            address = appended(self._base, self._page_of, self._room, self.length, rows)
        for name, column in self._columns.items():
            value = getattr(entries, name)
            if value.dtype is not column.dtype and value.dtype != column.dtype:
                what = f"{type(entries).__name__}.{name}"
                raise TypeError(f"{what} was {column.dtype} and is {value.dtype} now; it must keep its type")
            column[address] = value

    def get(self, rows: Array, index: Array) -> Any:
        """Entry number `index` (from 0) of each row, as the `Rows` that were appended; an IndexError if it has none."""
        if not (in_range(rows, 0, self.rows - 1) and in_range(index, 0, math.inf)):
            raise IndexError(NO_ENTRY)
        if (index >= self.length.take(rows)).any():
            raise IndexError(NO_ENTRY)
        return self._at(addresses(self._base, self._page_of, rows, index))

    def draw(self, rows: Array, uniform: Array) -> Any:
        """Entry floor(u s) of each row, with s the number of its entries and u its uniform number."""
        return self._at(drawn(self._base, self._page_of, rows, self.length, uniform))

    def column(self, name: str, rows: Array, index: Array) -> Array:
        """One field of `get`."""
        found: Array = self._columns[name].take(addresses(self._base, self._page_of, rows, index), axis=0)
        return found

    def forget(self, rows: Array) -> None:
        """Empty the lists of these rows; they reuse their pages."""
        self.length[rows] = 0

    def take(self, rows: Array, axis: int = 0) -> Log:
        """The log itself: it is shared, not copied, and rows keep their numbers in it."""
        return self

    def put(self, rows: Array, other: Log) -> None:
        """Empty the lists of these rows: rows are put only to restart them, and fresh rows have no entries."""
        self.forget(rows)

    def entries(self) -> dict[str, Array]:
        """All entries by field: those of row 0, then of row 1, and so on."""
        total = int(self.length.sum())
        rows = np.repeat(np.arange(self.rows), self.length)
        index = np.arange(total) - np.repeat(np.cumsum(self.length) - self.length, self.length)
        return {name: self.column(name, rows, index) for name in self._columns}

    def to_arrays(self) -> dict[str, Array]:
        return {"length": self.length, **self.entries()}

    def from_arrays(self, arrays: Mapping[str, Array]) -> Log:
        length = np.asarray(arrays["length"])
        columns = {name: np.asarray(array) for name, array in arrays.items() if name != "length"}
        if self._entry is None and length.any():
            raise CorralError("an empty log must know the class of its entries to be loaded: write Log(rows, Entry)")
        if self._columns:
            return self.filled(length, columns, self._like)
        return self.filled(length, columns, self._entry(**columns) if columns and self._entry else Rows())

    def filled(self, length: Array, columns: Mapping[str, Array], like: Rows) -> Log:
        """A log of the same kind with these entries: the columns hold those of row 0, then of row 1, and so on.

        `like` is a record of the entries' class, with what all entries share, such as a log.
        """
        log = self.empty(len(length))
        total = int(length.sum())
        if not total:
            return log
        pages = int(length.max() - 1 + self.FIRST).bit_length() - self.FIRST.bit_length() + 1
        number = np.arange(pages)
        size = self.FIRST << number
        first = size - self.FIRST  # number of the first entry of each page
        sizes = np.where(length > first[:, None], size[:, None], 0)
        begin = (np.cumsum(sizes) - sizes.reshape(-1)).reshape(sizes.shape)
        log._base = np.where(sizes > 0, begin - first[:, None], -1)
        log._page_of = np.repeat(number.astype(np.int8), size)
        log._used = int(sizes.sum())
        log.length = length.astype(np.int64)
        log._entry, log._like = type(like), like.replace()
        rows = np.repeat(np.arange(len(length)), length)
        index = np.arange(total) - np.repeat(np.cumsum(length) - length, length)
        address = addresses(log._base, log._page_of, rows, index)
        for name, values in columns.items():
            log._columns[name] = np.zeros((log._used, *values.shape[1:]), dtype=values.dtype)
            log._columns[name][address] = values
        log._room = sizes.sum(axis=0)
        log._note_kinds()
        return log

    @classmethod
    def concatenate(cls, parts: Sequence[Log]) -> Log:
        """One log with the rows of all parts, in order."""
        told = next((part for part in parts if part._columns), parts[0])
        arrays = [part.to_arrays() for part in parts]
        joined = {name: np.concatenate([each[name] for each in arrays if name in each]) for name in told.to_arrays()}
        return told.from_arrays(joined)

    def _prepare(self, entries: Rows) -> None:
        """Create columns like those of the first entries."""
        self._entry, self._like = type(entries), entries.replace()
        for name, value in entries._values():
            if isinstance(value, np.ndarray):
                self._columns[name] = np.empty((0, *value.shape[1:]), dtype=value.dtype)
            elif not isinstance(value, Log):
                raise TypeError(f"an entry may hold only arrays and logs; {type(entries).__name__}.{name} is neither")
        self._note_kinds()

    def _note_kinds(self) -> None:
        self.is_plain = all(column.dtype != object for column in self._columns.values())

    def _at(self, address: Array) -> Any:
        """The entries at these addresses."""
        found = {name: column.take(address, axis=0) for name, column in self._columns.items()}
        return self._like.replace(**found)

    def _make_room(self, rows: Array) -> None:
        """Give a page to each of these rows that is full, and to all rows that soon will be."""
        short = (self._room > 0) & (self.length >= self._room - (self._room + self.FIRST) // (2 * self.SOON))
        short[rows] |= self.length.take(rows) == self._room.take(rows)
        those = np.flatnonzero(short)
        room = self._room.take(those)  # so many entries are in the pages so far: the number of the next page's first
        page = np.frexp((room + self.FIRST).astype(np.float64))[1] - self.FIRST.bit_length()
        pages = int(page.max()) + 1
        if pages > len(self._base):
            missing = np.full((pages - len(self._base), self.rows), -1)
            self._base = np.concatenate([self._base, missing])
            self._page_of = np.repeat(np.arange(pages, dtype=np.int8), self.FIRST << np.arange(pages))
        size = np.left_shift(np.int64(self.FIRST), page.astype(np.int64))
        end = self._used + np.cumsum(size)
        self._base[page, those] = end - size - room
        self._room[those] = room + size
        self._used = int(end[-1])
        for column in self._columns.values():
            if len(column) < self._used:
                # realloc moves pages instead of copying them, so the peak stays near what is used
                column.resize((max(self._used, len(column) * 5 // 4), *column.shape[1:]), refcheck=False)
