"""Rank-one updates of ridge regressions: both twins, against the formulas; rows do not depend on each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corral_kit.linear.rank_one import followed, noted, radii, updated

from corral_core.kernels.twins import is_installed
from corral_core.testing import bits, same_bits

ROWS = [1, 2, 48, 512]
FEATURES = [1, 2, 3, 5, 9, 18, 32]
SIZES = {"usual": (0, 1), "huge": (150, 155), "tiny": (-160, -150), "of all sizes": (-8, 8)}


def regressions(rng: Any, rows: int, d: int) -> tuple[Any, Any]:
    """V^-1 and theta of every row."""
    x = rng.standard_normal((rows, d, d))
    return np.linalg.inv(np.eye(d) + x @ x.transpose(0, 2, 1)), rng.standard_normal((rows, d))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("d", FEATURES)
@pytest.mark.parametrize("rows", ROWS)
def test_updated(rows: int, d: int, size: str) -> None:
    rng = np.random.default_rng([rows, d])
    inverse, theta = regressions(rng, rows, d)
    some = np.sort(rng.permutation(rows)[: rows // 2 + 1])
    x = rng.standard_normal((len(some), d)) * 10.0 ** rng.uniform(*SIZES[size], (len(some), 1))
    y = rng.standard_normal(len(some))
    (w, growth, move, length), (now, estimate, *_) = same_bits(updated, inverse, theta, some, x, y)
    for row in {0, len(some) - 1}:
        at = slice(row, row + 1)
        alone, left = same_bits(updated, inverse[some[at]], theta[some[at]], np.zeros(1, np.intp), x[at], y[at])
        assert bits(list(alone)) == bits([w[at], growth[at], move[at], length[at]])
        assert bits(list(left[:2])) == bits([now[some[at]], estimate[some[at]]])
    rest = np.setdiff1d(np.arange(rows), some)
    assert bits([now[rest], estimate[rest]]) == bits([inverse[rest], theta[rest]])
    if size == "usual":
        v = np.linalg.inv(inverse[some])
        exact = np.linalg.inv(v + x[:, :, None] * x[:, None, :])
        np.testing.assert_allclose(now[some], exact, rtol=1e-7, atol=1e-9)
        answer = np.einsum("nij,nj->ni", v, theta[some]) + x * y[:, None]
        np.testing.assert_allclose(estimate[some], np.einsum("nij,nj->ni", exact, answer), rtol=1e-7, atol=1e-9)
        determinants = np.linalg.slogdet(v + x[:, :, None] * x[:, None, :])[1] - np.linalg.slogdet(v)[1]
        np.testing.assert_allclose(np.log(growth), determinants, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(length, (x * x).sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize("d", FEATURES)
@pytest.mark.parametrize("rows", ROWS)
def test_noted(rows: int, d: int) -> None:
    """Plays are kept in order; a row is due when its buffer is full or a play is too long."""
    rng = np.random.default_rng([rows, d, 1])
    recent, answers = np.zeros((rows, 4, d)), np.zeros((rows, 4))
    filled, plays, longest = np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.full(rows, 9.0)
    for turn in range(4):
        x, y = rng.standard_normal((rows, d)), rng.standard_normal(rows)
        length = np.full(rows, 9.0)
        if turn == 1:
            length[-1] = 9.1
        due, left = same_bits(noted, recent, answers, filled, plays, longest, np.arange(rows), x, y, length)
        recent, answers, filled, plays, *_ = left
        assert bits([recent[:, turn], answers[:, turn]]) == bits([x, y])
        assert (filled == turn + 1).all() and (plays == turn + 1).all()
        if turn == 1:
            assert due.tolist() == [False] * (rows - 1) + [True]
        else:
            assert (due is None) if turn < 3 else due.all()


@pytest.mark.parametrize("d", FEATURES)
@pytest.mark.parametrize("arms", [1, 2, 50])
@pytest.mark.parametrize("rows", ROWS)
def test_followed(rows: int, arms: int, d: int) -> None:
    """Means and squared widths of fixed arms are those of the updated regression."""
    rng = np.random.default_rng([rows, arms, d])
    inverse, theta = regressions(rng, rows, d)
    features = rng.standard_normal((rows, d, arms))
    mean = np.einsum("ndk,nd->nk", features, theta)
    width = np.einsum("ndk,nde,nek->nk", features, inverse, features)
    some = np.sort(rng.permutation(rows)[: rows // 2 + 1])
    x, y = rng.standard_normal((len(some), d)), rng.standard_normal(len(some))
    (w, _, move, _), (now, estimate, *_) = same_bits(updated, inverse, theta, some, x, y)
    _, (_, mean, width, *_) = same_bits(followed, features, mean, width, some, w, move)
    np.testing.assert_allclose(mean, np.einsum("ndk,nd->nk", features, estimate), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(width, np.einsum("ndk,nde,nek->nk", features, now, features), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows", ROWS)
def test_radii(rows: int) -> None:
    rng = np.random.default_rng(rows)
    grown, confidence, offset, scale = rng.random((4, rows)) * 10.0 ** rng.integers(-9, 9, (4, rows))
    for some in (np.arange(rows), rng.permutation(rows)[: rows // 2]):
        found, _ = same_bits(radii, grown, confidence, 0.3, offset, scale, some)
        expected = scale[some] * (0.3 * np.sqrt(grown[some] + confidence[some]) + offset[some])
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("place", [4, -1, 10**9])
def test_a_play_is_not_kept_where_there_is_no_room(place: int) -> None:
    """A changed file may say so; compiled loops would write to any memory."""
    recent, answers, filled, rows = np.zeros((2, 4, 3)), np.zeros((2, 4)), np.array([0, place]), np.arange(2)
    arguments = (recent, answers, filled, np.zeros(2, np.int64), np.full(2, 1e8), rows, np.ones((2, 3)), np.ones(2))
    for twin in (noted.loops, *([noted.compiled] if is_installed() else [])):
        with pytest.raises(IndexError):
            twin(*arguments, np.ones(2))


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    """A changed file may hold them; compiled loops would read and write beyond them."""
    rows, x, y, one = np.arange(2), np.ones((2, 3)), np.ones(2), np.ones
    wrong = {
        updated: [
            (one((2, 1, 1)), one((2, 3)), rows, x, y),
            (one((2, 3, 3)), one((2, 1)), rows, x, y),
        ],
        noted: [(one((2, 1, 1)), one((2, 4)), rows * 0, rows * 0, one(2), rows, x, y, one(2))],
        followed: [
            (one((2, 3, 5)), one((2, 5)), one((2, 1)), rows, x, y),
            (one((2, 3, 5)), one((2, 1)), one((2, 5)), rows, x, y),
            (one((2, 1, 5)), one((2, 5)), one((2, 5)), rows, x, y),
        ],
    }
    for kernel, cases in wrong.items():
        for case in cases:
            for twin in (kernel.loops, *([kernel.compiled] if is_installed() else [])):
                with pytest.raises(IndexError, match="do not fit together"):
                    twin(*case)
