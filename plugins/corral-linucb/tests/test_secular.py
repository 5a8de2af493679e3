"""The maximiser of optimism over a ball against random actions, its dual, and a fine grid."""

from __future__ import annotations

import numpy as np
import pytest
from corral_linucb.secular import maximise, maximise_ellipsoid
from numpy.random import Generator

from corral_core import Array

DIMENSIONS = (1, 2, 3, 4, 5, 8, 16, 32)
ROWS = 56  # of each dimension


def value(a: Array, theta: Array, inverse: Array, radius: Array) -> Array:
    """<a, theta> + radius sqrt(a^T inverse a), of (rows, d) actions or (rows, actions, d)."""
    if a.ndim == 2:
        return value(a[:, None, :], theta, inverse, radius)[:, 0]
    width = np.sqrt(np.maximum(((a @ inverse) * a).sum(axis=2), 0.0))
    return (a @ theta[:, :, None])[:, :, 0] + radius[:, None] * width


def rotation(rng: Generator, rows: int, d: int) -> Array:
    return np.linalg.qr(rng.standard_normal((rows, d, d)))[0]


def assemble(q: Array, e: Array) -> Array:
    inverse = (q * e[:, None, :]) @ q.transpose(0, 2, 1)
    return (inverse + inverse.transpose(0, 2, 1)) / 2


def problems(d: int) -> tuple[Array, Array, Array]:
    """Condition numbers of 1 to 1e8 and radii of 1e-4 to 1e4; then hard, nearly hard and multiple longest axes.

    The last half has diagonal matrices, in which what theta has along the longest axes is exactly as constructed.
    """
    rng = np.random.default_rng(100 + d)
    e = 10 ** (rng.uniform(-8, 0, (ROWS, 1)) * rng.random((ROWS, d)))
    e[:, 0] = 1.0
    radius = 10 ** rng.uniform(-4, 4, ROWS)
    theta = rng.standard_normal((ROWS, d))
    special = np.arange(ROWS) % 8
    for kind, along in enumerate((0.0, 1e-300, 1e-12, -1e-12)):
        theta[special == kind, 0] = along
    multiple = special >= 6
    e[multiple, : (d + 1) // 2] = 1.0
    theta[special == 7, : (d + 1) // 2] = 0.0
    # A part of theta off the longest axis that leaves phi(0) on either side of 1.
    theta[ROWS // 4 :: 2, 1:] *= radius[ROWS // 4 :: 2, None] / np.sqrt(d)
    q = rotation(rng, ROWS, d)
    q[ROWS // 2 :] = np.eye(d)
    return np.einsum("nij,nj->ni", q, theta), assemble(q, e), radius


def sphere(rng: Generator, count: int, d: int) -> Array:
    a = rng.standard_normal((count, d))
    return a / np.linalg.norm(a, axis=1, keepdims=True)


def dual(theta: Array, inverse: Array, radius: Array) -> Array:
    """sqrt(min over mu >= max h^2 of mu + sum g_i^2 mu/(mu - h_i^2)): no action is worth more, for any mu.

    Bisection of ln tau, mu = max h^2 + tau, on the slope 1 - sum g_i^2 h_i^2/(mu - h_i^2)^2.
    """
    e, q = np.linalg.eigh(inverse)
    g = np.einsum("nij,ni->nj", q, theta)
    h2 = radius[:, None] ** 2 * np.maximum(e, 0)
    top = h2[:, -1:]
    size = np.log(top + (g**2).sum(axis=1, keepdims=True))
    left, right = size - 100, size + 5
    for _ in range(100):
        middle = (left + right) / 2
        falling = (g**2 * h2 / (np.exp(middle) + (top - h2)) ** 2).sum(axis=1, keepdims=True) > 1
        left, right = np.where(falling, middle, left), np.where(falling, right, middle)
    tau = np.exp(right)
    return np.sqrt((top + tau + (g**2 * (top + tau) / (tau + (top - h2))).sum(axis=1, keepdims=True))[:, 0])


@pytest.mark.parametrize("d", DIMENSIONS)
def test_beats_ten_thousand_actions(d: int) -> None:
    """And a hundred of them after fifty steps of the fixed-point ascent."""
    theta, inverse, radius = problems(d)
    found = value(maximise(theta, inverse, radius), theta, inverse, radius)
    random = sphere(np.random.default_rng(d), 10_000, d)
    for row in range(ROWS):
        others = value(random[None], theta[row : row + 1], inverse[row : row + 1], radius[row : row + 1])
        assert others.max() <= found[row] * (1 + 1e-12)
    a = np.repeat(random[None, :100], ROWS, axis=0)
    for _ in range(50):
        image = a @ inverse
        a = theta[:, None] + radius[:, None, None] * image / np.sqrt((image * a).sum(axis=2, keepdims=True))
        a /= np.linalg.norm(a, axis=2, keepdims=True)
    assert (value(a, theta, inverse, radius).max(axis=1) <= found * (1 + 1e-12)).all()


@pytest.mark.parametrize("d", DIMENSIONS)
def test_no_action_is_worth_more(d: int) -> None:
    """The value equals that of the dual problem, from above; the gradient points along the action."""
    theta, inverse, radius = problems(d)
    a = maximise(theta, inverse, radius)
    found = value(a, theta, inverse, radius)
    assert np.linalg.norm(a, axis=1) == pytest.approx(1, abs=1e-14)
    assert found == pytest.approx(dual(theta, inverse, radius), rel=1e-12)
    image = np.einsum("nij,nj->ni", inverse, a)
    gradient = theta + (radius / np.sqrt((image * a).sum(axis=1)))[:, None] * image
    size = np.linalg.norm(gradient, axis=1)
    assert size == pytest.approx(found, rel=1e-12)
    assert np.abs(gradient / size[:, None] - a).max() < 1e-7


def test_plane_against_a_grid() -> None:
    """Within 1e-7 of the best of a grid of 20,000 angles, and never below it."""
    theta, inverse, radius = problems(2)
    angle = np.linspace(0, 2 * np.pi, 20_001)
    grid = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    best = value(grid[None], theta, inverse, radius).max(axis=1)
    found = value(maximise(theta, inverse, radius), theta, inverse, radius)
    assert (found >= best * (1 - 1e-13)).all()
    assert found == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("factor", [1e-150, 1e-7, 1e9, 1e150])
def test_scaling_changes_nothing(factor: float) -> None:
    theta, inverse, radius = (array[:20] for array in problems(5))
    theta, radius = theta + 0.1, radius + 0.1  # away from the hard case, in which either sign is right
    once = maximise(theta, inverse, radius)
    assert maximise(theta * factor, inverse, radius * factor) == pytest.approx(once, abs=1e-7)
    assert maximise(theta, inverse * 4, radius / 2) == pytest.approx(once, abs=1e-7)


def test_rows_do_not_touch_each_other() -> None:
    theta, inverse, radius = problems(4)
    together = maximise(theta, inverse, radius)
    for row in range(ROWS):
        one = slice(row, row + 1)
        alone = maximise(theta[one], inverse[one], radius[one])
        assert value(alone, theta[one], inverse[one], radius[one]) == pytest.approx(
            value(together[one], theta[one], inverse[one], radius[one]), rel=1e-13
        )
        assert alone == pytest.approx(together[one], abs=1e-7)


def test_hard_case_by_hand() -> None:
    """theta = (t, 0), V^-1 = diag(0, 1), radius 1: v = (0, 1), so that a is (t, 1) or (t, -1) normalised."""
    t = np.array([0.0, 1e-300, 0.5, 30.0])
    theta = np.stack([t, np.zeros(4)], axis=1)
    inverse = np.tile(np.diag([0.0, 1.0]), (4, 1, 1))
    expected = np.stack([t, np.ones(4)], axis=1) / np.hypot(t, 1)[:, None]
    assert np.abs(maximise(theta, inverse, np.ones(4))) == pytest.approx(expected, abs=1e-15)
    nearly = maximise(theta - np.array([0.0, 1e-12]), inverse, np.ones(4))
    assert nearly == pytest.approx(expected * [1, -1], abs=1e-11)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_corners(d: int) -> None:
    rng = np.random.default_rng(7)
    theta = rng.standard_normal((4, d))
    identity = np.tile(np.eye(d), (4, 1, 1))
    direction = theta / np.linalg.norm(theta, axis=1, keepdims=True)
    assert maximise(theta, identity, np.ones(4)) == pytest.approx(direction, abs=1e-15)
    assert maximise(theta, identity, np.zeros(4)) == pytest.approx(direction, abs=1e-15)
    assert maximise(theta * 1e-320 / 1e-12, identity, np.ones(4) * 1e-310).shape == (4, d)
    longest = identity * (1 + np.arange(d))
    for radius in (0.0, 1e-300, 1e-9, 1.0, 1e9):
        a = maximise(theta * 0, longest, np.full(4, radius))
        assert np.linalg.norm(a, axis=1) == pytest.approx(1, abs=1e-15)
        if radius:
            assert np.abs(a[:, -1]) == pytest.approx(1, abs=1e-15)
    assert maximise(theta[:0], identity[:0], np.ones(0)).shape == (0, d)


@pytest.mark.parametrize("d", [1, 2, 5, 16])
def test_ellipsoid(d: int) -> None:
    """The point lies in the ellipsoid and beats ten thousand points of its surface; axes may be zero."""
    theta, inverse, radius = problems(d)
    rng = np.random.default_rng(8)
    axes = rng.uniform(0.1, 3, (ROWS, d)) * (rng.random((ROWS, d)) < 0.8)
    axes[0], axes[1] = 0.0, 1.0
    x = maximise_ellipsoid(theta, inverse, radius, axes)
    assert ((np.where(axes > 0, x / np.where(axes > 0, axes, 1), 0) ** 2).sum(axis=1) <= 1 + 1e-12).all()
    assert (x[axes == 0] == 0).all()
    found = value(x, theta, inverse, radius)
    assert value(maximise(theta, inverse, radius), theta, inverse, radius)[1] == pytest.approx(found[1], rel=1e-13)
    surface = sphere(rng, 10_000, d)
    for row in range(ROWS):
        points = (axes[row] * surface)[None]
        others = value(points, theta[row : row + 1], inverse[row : row + 1], radius[row : row + 1])
        assert others.max() <= found[row] * (1 + 1e-12) + 1e-300
