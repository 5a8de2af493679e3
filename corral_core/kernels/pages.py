"""Where the entries of a log are, in an arena that all its rows share.

The entries of a row are in pages of doubling size. Page k begins at `base[k, row]` plus the number of its first entry;
`page_of` is the page of an entry, by its number. Compiled loops raise an IndexError rather than read other memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.twins import kernel

NO_ENTRY = "a log has no such row or entry"


def _addresses_arrays(base: Any, page_of: Any, rows: Any, entries: Any) -> Any:
    at = page_of.take(entries).astype(np.intp)
    at *= base.shape[1]
    at += rows
    found = base.take(at)
    found += entries
    return found


@kernel(_addresses_arrays)
def addresses(base: Any, page_of: Any, rows: Any, entries: Any) -> Any:
    """The address of an entry of each of these rows, by its number."""
    found = np.empty(len(rows), np.int64)
    for at in range(len(rows)):
        row, entry = rows[at], entries[at]
        if not (0 <= row < base.shape[1] and 0 <= entry < len(page_of)):
            raise IndexError(NO_ENTRY)
        found[at] = base[page_of[entry], row] + entry
    return found


def _drawn_arrays(base: Any, page_of: Any, rows: Any, length: Any, uniform: Any) -> Any:
    return _addresses_arrays(base, page_of, rows, (uniform * length.take(rows)).astype(np.int64))


@kernel(_drawn_arrays)
def drawn(base: Any, page_of: Any, rows: Any, length: Any, uniform: Any) -> Any:
    """The address of entry floor(u s) of each of these rows: one of its s entries, drawn uniformly."""
    found = np.empty(len(rows), np.int64)
    for at in range(len(rows)):
        row = rows[at]
        if not 0 <= row < base.shape[1]:
            raise IndexError(NO_ENTRY)
        entry = int(uniform[at] * length[row])
        if not 0 <= entry < len(page_of):
            raise IndexError(NO_ENTRY)
        found[at] = base[page_of[entry], row] + entry
    return found


def _appended_arrays(base: Any, page_of: Any, room: Any, length: Any, rows: Any) -> Any:
    entries = length.take(rows)
    if np.logical_or.reduce(entries >= room.take(rows)):
        return None
    length[rows] = entries + 1
    return _addresses_arrays(base, page_of, rows, entries)


@kernel(_appended_arrays)
def appended(base: Any, page_of: Any, room: Any, length: Any, rows: Any) -> Any:
    """The address of one more entry of each of these (distinct) rows, and counts it; None if a row has no room."""
    for row in rows:
        if not 0 <= row < base.shape[1]:
            raise IndexError(NO_ENTRY)
        if length[row] >= room[row]:
            return None
    found = np.empty(len(rows), np.int64)
    for at in range(len(rows)):
        entry = length[rows[at]]
        length[rows[at]] = entry + 1
        found[at] = base[page_of[entry], rows[at]] + entry
    return found
