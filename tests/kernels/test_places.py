"""Counting and taking at places: both twins, against plain indexing."""

import numpy as np
import pytest

from corral_core.environments.bandit import chosen
from corral_core.kernels.places import count, picked
from corral_core.kernels.twins import is_installed
from corral_core.testing import same_bits


@pytest.mark.parametrize("rows", [1, 2, 48, 512])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_count(rows: int, kind: type) -> None:
    rng = np.random.default_rng(rows)
    counts = rng.integers(0, 9, 3 * rows).astype(kind)
    for at in (rng.permutation(3 * rows)[:rows], np.zeros(0, np.intp), np.array([3 * rows - 1])):
        nothing, (after, _) = same_bits(count, counts, at)
        assert nothing is None
        assert (after - counts).tolist() == np.bincount(at, minlength=3 * rows).tolist()


@pytest.mark.parametrize("rows", [1, 2, 48, 512])
@pytest.mark.parametrize("columns", [1, 2, 50])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16, np.bool_])
def test_picked(rows: int, columns: int, kind: type) -> None:
    rng = np.random.default_rng(columns)
    values = rng.integers(0, 2, (rows, columns)).astype(kind)
    for column in (rng.integers(0, columns, rows), np.full(rows, columns - 1, np.int16)):
        found, _ = same_bits(picked, values, column)
        assert found.dtype == kind
        assert found.tolist() == [values[row, column[row]] for row in range(rows)]


@pytest.mark.parametrize("values", [np.zeros((3, 2)), np.zeros((1, 2))], ids=["no such column", "too few rows"])
def test_nothing_is_picked_where_there_is_nothing(values: np.ndarray) -> None:
    column = np.array([0, 1, 2 if len(values) == 3 else 1])
    for twin in (picked.arrays, picked.loops, *([picked.compiled] if is_installed() else [])):
        with pytest.raises(IndexError):
            twin(values, column)


def test_all_rows_may_share_their_values() -> None:
    shared, action = np.array([[0.5, 0.4]]), np.array([0, 1, 1, 0])
    assert chosen(shared, action).tolist() == [0.5, 0.4, 0.4, 0.5]
    assert chosen(np.tile(shared, (4, 1)), action).tolist() == [0.5, 0.4, 0.4, 0.5]
