"""Where the entries of logs are: both twins, against an arena that is filled entry by entry."""

from typing import Any

import numpy as np
import pytest

from corral_core.kernels.pages import addresses, appended, drawn
from corral_core.kernels.twins import is_installed
from corral_core.testing import same_bits

ROWS = (1, 2, 3, 17, 48, 512)

PAGES = 8  # of 4, 4, 8, 16, ... entries
PAGE_OF = np.repeat(np.arange(PAGES), [4, *(4 * 2**page for page in range(PAGES - 1))])


def arena(rows: int) -> tuple[Any, dict[tuple[int, int], int]]:
    """Pages of all rows in random order, and the address of every entry of every row."""
    rng = np.random.default_rng(rows)
    size = np.bincount(PAGE_OF)
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    base = np.zeros((PAGES, rows), np.int64)
    expected, begin = {}, 0
    for place in rng.permutation(PAGES * rows):
        page, row = divmod(int(place), rows)
        base[page, row] = begin - first[page]
        for entry in range(size[page]):
            expected[row, int(first[page]) + entry] = begin + entry
        begin += int(size[page])
    return base, expected


@pytest.mark.parametrize("rows", ROWS)
def test_addresses(rows: int) -> None:
    base, expected = arena(rows)
    rng = np.random.default_rng(1)
    for some in (np.arange(rows), rng.permutation(rows)[: rows // 2], rng.integers(0, rows, 2 * rows)):
        for entries in (rng.integers(0, len(PAGE_OF), len(some)), np.full(len(some), len(PAGE_OF) - 1)):
            found, _ = same_bits(addresses, base, PAGE_OF, some, entries)
            assert found.tolist() == [expected[row, entry] for row, entry in zip(some, entries, strict=True)]


@pytest.mark.parametrize("rows", ROWS)
def test_drawn(rows: int) -> None:
    base, expected = arena(rows)
    rng = np.random.default_rng(2)
    length = rng.integers(1, len(PAGE_OF) + 1, rows)
    length[0] = 1
    some = rng.permutation(rows)[: max(1, rows // 2)]
    for uniform in (rng.random(len(some)), np.zeros(len(some)), np.full(len(some), np.nextafter(1.0, 0.0))):
        found, _ = same_bits(drawn, base, PAGE_OF, some, length, uniform)
        entries = np.floor(uniform * length[some]).astype(int)
        assert (entries < length[some]).all()
        assert found.tolist() == [expected[row, entry] for row, entry in zip(some, entries, strict=True)]


@pytest.mark.parametrize("rows", ROWS)
def test_appended(rows: int) -> None:
    """One entry more in some rows, again and again: addresses are those of consecutive entries."""
    base, expected = arena(rows)
    rng = np.random.default_rng(3)
    room, length = np.full(rows, len(PAGE_OF)), np.zeros(rows, np.int64)
    for _ in range(12):
        some = rng.permutation(rows)[: rng.integers(0, rows + 1)]
        found, (_, _, _, after, _) = same_bits(appended, base, PAGE_OF, room, length, some)
        assert found.tolist() == [expected[row, int(length[row])] for row in some]
        length[some] += 1
        assert (after == length).all()


@pytest.mark.parametrize("rows", ROWS)
def test_a_row_without_room(rows: int) -> None:
    """Then nothing is appended to any row."""
    base, _ = arena(rows)
    rng = np.random.default_rng(4)
    room = rng.choice([4, 8, 16], rows)
    length = room - rng.integers(1, 3, rows)
    everyone = np.arange(rows)
    for row in {0, rows // 2, rows - 1}:
        there = length.copy()
        there[row] = room[row]
        nowhere, given = same_bits(appended, base, PAGE_OF, room, there, everyone)
        assert nowhere is None and (given[3] == there).all()
        found, given = same_bits(appended, base, PAGE_OF, room, there, everyone[everyone != row])
        assert len(found) == rows - 1 and given[3].sum() == there.sum() + rows - 1


@pytest.mark.parametrize(("row", "entry"), [(3, 0), (-1, 0), (0, len(PAGE_OF)), (0, 10**9), (10**9, 0)])
def test_no_entry_is_read_where_there_is_none(row: int, entry: int) -> None:
    """Compiled loops would read any memory."""
    base, _ = arena(3)
    rows = np.array([0, row])
    for twin in (addresses.loops, *([addresses.compiled] if is_installed() else [])):
        with pytest.raises(IndexError):
            twin(base, PAGE_OF, rows, np.array([0, entry]))
    length = np.full(3, entry + 1)
    for twin in (drawn.loops, *([drawn.compiled] if is_installed() else [])):
        with pytest.raises(IndexError):
            twin(base, PAGE_OF, rows, length, np.full(2, np.nextafter(1.0, 0.0)))
    if not 0 <= row < 3:
        for twin in (appended.loops, *([appended.compiled] if is_installed() else [])):
            with pytest.raises(IndexError):
                twin(base, PAGE_OF, np.full(3, 9), np.zeros(3, np.int64), rows)
