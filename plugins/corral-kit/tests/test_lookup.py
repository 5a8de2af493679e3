"""Reading tables by loops and by arrays: the same actions, and those of plain indexing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corral_kit.tabular.lookup import drawn, looked_up

ROWS = [1, 2, 3, 512]
STAGES, STATES = 4, 5


def place(rng: Any, rows: int) -> tuple[Any, Any]:
    return rng.integers(STAGES, size=rows), rng.integers(STATES, size=rows)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int64])
def test_a_table_is_read_both_ways(rows: int, kind: Any) -> None:
    rng = np.random.default_rng(rows)
    table = rng.integers(100, size=(rows, STAGES, STATES)).astype(kind)
    stage, state = place(rng, rows)
    found = looked_up.arrays(table, stage, state)
    assert found.dtype == np.intp
    np.testing.assert_array_equal(found, table[np.arange(rows), stage, state])
    pytest.importorskip("numba")
    np.testing.assert_array_equal(found, looked_up.compiled(table, stage, state))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("actions", [1, 2, 3, 7, 8, 9, 16, 20])
def test_a_draw_is_the_same_both_ways(rows: int, actions: int) -> None:
    """Uniform numbers at both ends; rows that never explore, always, or sometimes."""
    rng = np.random.default_rng(actions)
    best = rng.random((rows, STAGES, STATES, actions)) < 0.4
    best[..., -1] |= ~best.any(axis=-1)
    bits, epsilon, (stage, state) = np.packbits(best, axis=-1), rng.choice([0.0, 0.3, 1.0], size=rows), place(rng, rows)
    uniform = rng.random((rows, 2))
    uniform[::3, 1], uniform[1::3, 1] = 0.0, np.nextafter(1.0, 0.0)
    found = drawn.arrays(bits, epsilon, stage, state, uniform, actions)
    for row in range(rows):
        there = np.flatnonzero(best[row, stage[row], state[row]])
        allowed = np.arange(actions) if uniform[row, 0] < epsilon[row] else there
        assert found[row] == allowed[int(uniform[row, 1] * len(allowed))]
    pytest.importorskip("numba")
    np.testing.assert_array_equal(found, drawn.compiled(bits, epsilon, stage, state, uniform, actions))


@pytest.mark.parametrize(("stage", "state"), [(STAGES, 0), (-1, 0), (0, STATES), (0, -1)])
def test_no_table_is_read_where_it_has_nothing(stage: int, state: int) -> None:
    at, bits = (np.array([stage]), np.array([state])), np.ones((1, STAGES, STATES, 1), np.uint8)
    for read in (looked_up.arrays, looked_up.loops):
        with pytest.raises(ValueError):
            read(bits[..., 0], *at)
    for read in (drawn.arrays, drawn.loops):
        with pytest.raises(ValueError):
            read(bits, np.zeros(1), *at, np.zeros((1, 2)), 8)


@pytest.mark.parametrize("actions", [3, 12])
def test_a_table_without_any_best_action(actions: int) -> None:
    """So it is where a value is not a number: the first action, and nothing beyond the table is read."""
    bits, one = np.zeros((2, 1, 1, (actions + 7) // 8), np.uint8), np.zeros(2, np.intp)
    for draw in (drawn.arrays, drawn.loops):
        assert draw(bits, np.zeros(2), one, one, np.full((2, 2), 0.9), actions).tolist() == [0, 0]
