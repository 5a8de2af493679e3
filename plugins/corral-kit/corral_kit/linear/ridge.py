"""Ridge regression in lockstep: the estimate of every linear base.

V = lambda I + sum x x^T, theta = V^-1 sum x y. A play costs one rank-one update (Sherman-Morrison),

    u = V^-1 x,  g = 1 + x^T u,  V^-1 <- V^-1 - u u^T/g,  theta <- theta + u (y - x^T theta)/g,  det V <- g det V.

To stop rounding errors from accumulating, recent plays are kept, and everything is recomputed from V itself when their
buffer is full, or at once if x is so long (||x||^2 above `LONG` lambda) that the update loses digits. An eigenvalue of
V that is lost in rounding is set to lambda, its minimum.

>>> ridge = Ridge.fresh(1, 2, 1.0)
>>> _ = learn(ridge, np.array([0]), np.array([[1.0, 0.0]]), np.array([2.0]))
>>> ridge.theta[0], ridge.inverse[0, 0]
(array([1., 0.]), array([0.5, 0. ]))
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from corral_core import Array, Rows
from corral_kit.linear.rank_one import MOST, noted, updated

CACHED = 2**15  # number of values that fit into the cache
LONG = 1e8
SINGULAR = 1e12  # if V is larger than this times lambda, its smallest eigenvalues may be rounding errors
ROUNDING = 1e-14  # eigenvalues below this part of the largest are rounding errors


class Ridge(Rows):
    """One regression per row; or several, with (rows, regressions) as the first axes of every array."""

    inverse: Array  # (rows, d, d), V^-1
    theta: Array  # (rows, d)
    log_determinant: Array  # (rows,), ln det V - d ln lambda
    plays: Array  # (rows,)
    response: Array  # (rows, d), sum x y without the plays in `recent`
    gram: Array  # (rows, d, d), V without the plays in `recent`
    recent: Array  # (rows, size, d), the features of the plays since V was last updated, and zeros
    answers: Array  # (rows, size), the rewards of these plays, and zeros
    filled: Array  # (rows,), number of recent plays
    penalty: Array  # (rows,), lambda
    longest: Array  # (rows,), ||x||^2 above which everything is recomputed at once

    @classmethod
    def fresh(cls, rows: int | tuple[int, ...], dimension: int, penalty: ArrayLike, recent: int | None = None) -> Ridge:
        """Regressions without any plays; the penalty is a number, or one for each of them.

        `recent` is the number of plays after which everything is recomputed.
        """
        front = (rows,) if isinstance(rows, int) else rows
        each = np.full(front, penalty, dtype=np.float64)
        unit, size = np.eye(dimension), recent or recent_plays(dimension, math.prod(front[1:]))
        return cls(
            inverse=unit / each[..., None, None],
            theta=np.zeros((*front, dimension)),
            log_determinant=np.zeros(front),
            plays=np.zeros(front, dtype=np.int64),
            response=np.zeros((*front, dimension)),
            gram=unit * each[..., None, None],
            recent=np.zeros((*front, size, dimension)),
            answers=np.zeros((*front, size)),
            filled=np.zeros(front, dtype=np.int64),
            penalty=each,
            longest=LONG * each,
        )

    def flat(self) -> Ridge:
        """Several regressions per row as one per row, j of row i at i * regressions + j, sharing memory."""
        front = self.plays.ndim
        return self.replace(**{name: value.reshape(-1, *value.shape[front:]) for name, value in self._values()})


def recent_plays(dimension: int, regressions: int) -> int:
    """Number of plays that are kept until everything is recomputed: fewer if there are many regressions per row.

    Recomputing calls numpy as often for one row as for many, so it should be rare; the plays of all regressions of a
    row together should fit into a few thousand bytes.
    """
    return max(2 * dimension, min(512, max(128, 1024 // dimension)) // regressions, 32)


class Step(NamedTuple):
    """What a play changed: V^-1 by -direction direction^T, theta by direction * move."""

    direction: Array  # u/sqrt(g)
    move: Array  # (y - x^T theta)/sqrt(g)
    rebuilt: Array | None  # which rows were recomputed; None if none was


def learn(ridge: Ridge, rows: Array, x: Array, y: Array) -> Step:
    """Add one play to each of these (distinct) rows, in place."""
    x = np.asarray(x, dtype=np.float64)
    update = updated if x.shape[1] <= MOST else _updated_by_products
    direction, growth, move, length = update(ridge.inverse, ridge.theta, rows, x, y)
    ridge.log_determinant[rows] += np.log(growth)
    rebuilt = noted(ridge.recent, ridge.answers, ridge.filled, ridge.plays, ridge.longest, rows, x, y, length)
    if rebuilt is not None:
        _rebuild(ridge, rows[rebuilt])
    return Step(direction, move, rebuilt)


def _updated_by_products(
    inverse: Array, theta: Array, rows: Array, x: Array, y: Array
) -> tuple[Array, Array, Array, Array]:
    """`updated` if there are many features."""
    direction, growth = _shrink(inverse, rows, x)
    estimate = theta.take(rows, axis=0)
    move = (y - np.einsum("ni,ni->n", x, estimate)) / np.sqrt(growth)
    estimate += direction * move[:, None]
    theta[rows] = estimate
    return direction, growth, move, np.einsum("ni,ni->n", x, x)


def _shrink(inverse: Array, rows: Array, x: Array) -> tuple[Array, Array]:
    """The rank-one update of V^-1, in place, for as many rows at a time as fit into the cache."""
    direction, growth = np.empty_like(x), np.empty(len(x))
    some = max(1, CACHED // x.shape[1] ** 2)
    for first in range(0, len(rows), some):
        part = slice(first, first + some)
        here = inverse.take(rows[part], axis=0)
        u = np.einsum("nij,nj->ni", here, x[part])
        growth[part] = 1 + np.maximum(np.einsum("ni,ni->n", x[part], u), 0.0)
        w = direction[part] = u / np.sqrt(growth[part])[:, None]
        here -= w[:, :, None] * w[:, None, :]
        inverse[rows[part]] = here
    return direction, growth


def _rebuild(ridge: Ridge, rows: Array) -> None:
    """Add the recent plays to V and recompute everything from it."""
    recent = ridge.recent.take(rows, axis=0).transpose(0, 2, 1)
    gram = ridge.gram.take(rows, axis=0) + recent @ recent.transpose(0, 2, 1)
    response = ridge.response.take(rows, axis=0) + (recent @ ridge.answers.take(rows, axis=0)[..., None])[..., 0]
    inverse, log_determinant = _inverted(gram, ridge.penalty.take(rows))
    inverse = (inverse + inverse.transpose(0, 2, 1)) / 2
    ridge.gram[rows], ridge.inverse[rows] = gram, inverse
    ridge.recent[rows], ridge.answers[rows], ridge.filled[rows] = 0.0, 0.0, 0
    ridge.response[rows] = response
    ridge.theta[rows] = np.einsum("nij,nj->ni", inverse, response)
    ridge.log_determinant[rows] = log_determinant


def _inverted(gram: Array, penalty: Array) -> tuple[Array, Array]:
    """V^-1 and ln det V - d ln lambda."""
    singular = np.einsum("nii->n", gram) > SINGULAR * penalty
    if singular.any():
        inverse, grown = np.empty_like(gram), np.empty(len(gram))
        inverse[~singular], grown[~singular] = _inverted(gram[~singular], penalty[~singular])
        inverse[singular], grown[singular] = _inverted_by_axes(gram[singular], penalty[singular])
        return inverse, grown
    return np.linalg.inv(gram), np.linalg.slogdet(gram / penalty[:, None, None])[1]


def _inverted_by_axes(gram: Array, penalty: Array) -> tuple[Array, Array]:
    """The same if eigenvalues may be lost in rounding."""
    eigenvalues, basis = np.linalg.eigh(gram)
    least = np.maximum(ROUNDING * eigenvalues[:, -1:], penalty[:, None])
    eigenvalues = np.where(eigenvalues > least, eigenvalues, penalty[:, None])
    inverse = (basis / eigenvalues[:, None, :]) @ basis.transpose(0, 2, 1)
    return inverse, np.log(eigenvalues / penalty[:, None]).sum(axis=1)


def radius(log_determinant: Array, delta: Array, noise: float, penalty: float | Array, norm: float | Array) -> Array:
    """beta = sigma sqrt(ln(det V/lambda^d) + 2 ln(1/delta)) + sqrt(lambda) S: ||theta - theta*||_V <= beta, always.

    Source: Abbasi-Yadkori, Pal, Szepesvari, "Improved algorithms for linear stochastic bandits", 2011, Theorem 2.
    """
    found: Array = noise * np.sqrt(log_determinant - 2 * np.log(delta)) + np.sqrt(penalty) * norm
    return found
