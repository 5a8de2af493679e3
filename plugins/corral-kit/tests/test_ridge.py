"""Ridge regression by rank-one updates, against linear algebra from nothing."""

from __future__ import annotations

import numpy as np
import pytest
from corral_kit.linear.ridge import Ridge, learn, radius, recent_plays


@pytest.mark.parametrize("d", [2, 6])
def test_sherman_morrison_against_solve(d: int) -> None:
    """Features of length up to 30, most of them along one direction, so that V has a condition number above 1e4.

    After 100,000 plays, and shortly before that, when the next play would recompute everything.
    """
    rng = np.random.default_rng(1)
    rows = np.arange(2)
    ridge = Ridge.fresh(2, d, 0.5)
    size = ridge.answers.shape[1]
    gram, response = np.tile(0.5 * np.eye(d), (2, 1, 1)), np.zeros((2, d))
    lean = np.array([30.0, 1, 1, 0.1, 0.1, 0.01])[-d:]
    lean[0] = 30
    for play in range(1, 100_001):
        x = rng.standard_normal((2, d)) * lean
        y = x @ np.arange(d) + rng.standard_normal(2)
        learn(ridge, rows, x, y)
        gram += x[:, :, None] * x[:, None, :]
        response += x * y[:, None]
        if play in (100_000 // size * size - 1, 100_000):
            assert np.linalg.cond(gram).min() > 1e4
            inverse = np.linalg.inv(gram)
            assert np.abs(ridge.inverse - inverse).max() < 1e-12 * np.abs(inverse).max()
            assert ridge.theta == pytest.approx(np.linalg.solve(gram, response[..., None])[..., 0], rel=1e-9)
            assert ridge.log_determinant == pytest.approx(np.linalg.slogdet(gram)[1] - d * np.log(0.5), rel=1e-12)
            assert (ridge.plays == play).all()


def test_only_the_rows_named_learn() -> None:
    rng = np.random.default_rng(2)
    ridge, untouched = Ridge.fresh(4, 3, 1.0), Ridge.fresh(4, 3, 1.0)
    alone = Ridge.fresh(1, 3, 1.0)
    for _ in range(2 * ridge.answers.shape[1] + 5):
        x, y = rng.standard_normal((2, 3)), rng.standard_normal(2)
        learn(ridge, np.array([3, 1]), x, y)
        learn(alone, np.array([0]), x[1:], y[1:])
    for name in ridge.names:
        assert np.array_equal(getattr(ridge, name)[[0, 2]], getattr(untouched, name)[[0, 2]])
        assert np.array_equal(getattr(ridge, name)[1], getattr(alone, name)[0])


def test_many_rows_are_learned_in_parts_that_fit_the_cache() -> None:
    """Forty rows of 64 features take several parts; each row is as if alone."""
    rng = np.random.default_rng(3)
    together = Ridge.fresh(40, 64, 1.0)
    apart = [Ridge.fresh(1, 64, 1.0) for _ in range(40)]
    for _ in range(3):
        x, y = rng.standard_normal((40, 64)), rng.standard_normal(40)
        learn(together, np.arange(40), x, y)
        for row, ridge in enumerate(apart):
            learn(ridge, np.array([0]), x[row : row + 1], y[row : row + 1])
    joined = Ridge.concatenate(apart)
    assert np.array_equal(together.inverse, joined.inverse)
    assert np.array_equal(together.theta, joined.theta)


@pytest.mark.parametrize("penalty", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("length", [1e-3, 1e3, 1e6, 1e9, 1e15])
def test_long_features_are_survived(penalty: float, length: float) -> None:
    """Twelve plays in a plane: nothing is NaN, V^-1 stays positive, and ln det V is that of the singular values.

    Lengths are in units of sqrt(lambda). Beyond 1e6 of them the eigenvalues of V across the plane are lost in rounding
    and count as lambda, rightly here; beyond 1e9 all that is asked is that numbers stay finite.
    """
    rng, row = np.random.default_rng(5), np.array([0])
    ridge, played = Ridge.fresh(1, 4, penalty), []
    for _ in range(12):
        x = length * np.sqrt(penalty) * (np.array([1.0, 2.0, 3.0, 4.0]) + rng.standard_normal() * np.eye(4)[0])
        played.append(x)
        learn(ridge, row, x[None], np.array([1.0]))
        assert np.isfinite(ridge.theta).all()
        assert np.isfinite(ridge.log_determinant).all()
        if length <= 1e9:
            assert (np.linalg.eigvalsh(ridge.inverse[0]) > -1e-6 / penalty).all()
    if length <= 1e9:
        lengths = np.linalg.svd(np.array(played), compute_uv=False)[:2]
        assert ridge.log_determinant[0] == pytest.approx(np.log1p(lengths**2 / penalty).sum(), rel=1e-3)


def test_a_penalty_at_the_ends_of_its_range() -> None:
    for penalty in (1e-9, 1e9):
        ridge = Ridge.fresh(1, 2, penalty)
        assert ridge.inverse[0] @ ridge.gram[0] == pytest.approx(np.eye(2))


def test_several_regressions_a_row_share_memory_with_their_flat_view() -> None:
    rng = np.random.default_rng(4)
    ridge, alone = Ridge.fresh((2, 3), 2, 1.0), Ridge.fresh(1, 2, 1.0)
    x = rng.standard_normal((1, 2))
    learn(ridge.flat(), np.array([1 * 3 + 2]), x, np.ones(1))
    learn(alone, np.array([0]), x, np.ones(1))
    assert np.array_equal(ridge.inverse[1, 2], alone.inverse[0])
    assert ridge.plays.tolist() == [[0, 0, 0], [0, 0, 1]]


def test_the_radius_is_the_sources() -> None:
    found = radius(np.array([0.0, 3.0]), np.array([0.01, 0.1]), 0.5, 4.0, 1.5)
    expected = [0.5 * np.sqrt(2 * np.log(100)) + 3, 0.5 * np.sqrt(3 + 2 * np.log(10)) + 3]
    assert found == pytest.approx(expected, rel=1e-14)


def test_recent_plays_take_little_memory() -> None:
    """About a page of memory for all the regressions of a row, and at least twice the features of each."""
    assert [recent_plays(d, 1) for d in (1, 2, 4, 8, 32, 200)] == [512, 512, 256, 128, 128, 400]
    assert [recent_plays(2, regressions) for regressions in (2, 8, 50, 1000)] == [256, 64, 32, 32]
    assert recent_plays(40, 50) == 80
    several, one = Ridge.fresh((3, 50), 2, 1.0), Ridge.fresh(3, 2, 1.0)
    assert several.nbytes < 10 * one.nbytes


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.float32])
@pytest.mark.parametrize("d", [3, 40])
def test_features_of_any_type_are_learned_alike(kind: type, d: int) -> None:
    rng = np.random.default_rng(7)
    ridges = [Ridge.fresh(2, d, 1.0) for _ in range(2)]
    for _ in range(5):
        x, y = rng.integers(-3, 4, (2, d)), rng.standard_normal(2)
        for ridge, features in zip(ridges, (x.astype(np.float64), x.astype(kind)), strict=True):
            learn(ridge, np.arange(2), features, y)
    assert np.abs(ridges[0].theta).max() > 0
    assert np.array_equal(ridges[0].theta, ridges[1].theta) and np.array_equal(ridges[0].inverse, ridges[1].inverse)
