"""Ridge regression in lockstep: the estimate under every linear base.

V = lambda I + sum x x^T, theta = V^-1 sum x y. A play costs one rank-one update (Sherman-Morrison),

    u = V^-1 x,  V^-1 <- V^-1 - u u^T/(1 + x^T u),  theta <- theta + u (y - x^T theta)/(1 + x^T u),

and ln det V grows by ln(1 + x^T u). Rounding errors would pile up, so that the last plays are kept and every `RECENT`
of them everything is computed anew from V itself.

>>> ridge = Ridge.fresh(1, 2, 1.0)
>>> _ = learn(ridge, np.array([0]), np.array([[1.0, 0.0]]), np.array([2.0]))
>>> ridge.theta[0], ridge.inverse[0, 0, 0]
(array([1., 0.]), np.float64(0.5))
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corral_core.rows import Array, Rows

RECENT = 128
CACHED = 2**15  # numbers


class Ridge(Rows):
    """One regression a row, or several: then every array has (rows, regressions) in front."""

    inverse: Array  # (rows, d, d), V^-1
    theta: Array  # (rows, d)
    log_determinant: Array  # (rows,), ln det V - d ln lambda
    plays: Array  # (rows,)
    response: Array  # (rows, d), sum x y
    gram: Array  # (rows, d, d), V without the plays in `recent`
    recent: Array  # (rows, RECENT, d), the plays since V was last brought up to date
    penalty: Array  # (rows,), lambda

    @classmethod
    def fresh(cls, rows: int | tuple[int, ...], dimension: int, penalty: float) -> Ridge:
        """Regressions that have seen nothing."""
        front = (rows,) if isinstance(rows, int) else rows
        gram = np.zeros((*front, dimension, dimension))
        gram[..., range(dimension), range(dimension)] = penalty
        return cls(
            inverse=gram / penalty**2,
            theta=np.zeros((*front, dimension)),
            log_determinant=np.zeros(front),
            plays=np.zeros(front, dtype=np.int64),
            response=np.zeros((*front, dimension)),
            gram=gram,
            recent=np.zeros((*front, RECENT, dimension)),
            penalty=np.full(front, penalty),
        )

    def flat(self) -> Ridge:
        """Several regressions a row as one a row, regression j of row i at i * regressions + j, sharing memory."""
        front = self.plays.ndim
        return self.replace(**{name: value.reshape(-1, *value.shape[front:]) for name, value in self._values()})


class Step(NamedTuple):
    """What a play changed: V^-1 by -direction direction^T shrink, theta by direction * move."""

    direction: Array  # u = V^-1 x, before the play
    shrink: Array  # 1/(1 + x^T u)
    move: Array  # (y - x^T theta)/(1 + x^T u)
    rebuilt: Array  # which of the rows were computed anew


def learn(ridge: Ridge, rows: Array, x: Array, y: Array) -> Step:
    """One more play in each of these (distinct) rows, in place."""
    direction, shrink = _shrink(ridge.inverse, rows, x)
    theta = ridge.theta.take(rows, axis=0)
    move = (y - np.einsum("ni,ni->n", x, theta)) * shrink
    theta += direction * move[:, None]
    ridge.theta[rows] = theta
    ridge.log_determinant[rows] -= np.log(shrink)
    ridge.response[rows] += x * y[:, None]
    plays = ridge.plays.take(rows)
    ridge.recent[rows, plays % RECENT] = x
    plays += 1
    ridge.plays[rows] = plays
    rebuilt = plays % RECENT == 0
    if rebuilt.any():
        _rebuild(ridge, rows[rebuilt])
    return Step(direction, shrink, move, rebuilt)


def _shrink(inverse: Array, rows: Array, x: Array) -> tuple[Array, Array]:
    """The rank-one update of V^-1, in place, for as many rows at a time as stay in the cache."""
    direction, shrink = np.empty_like(x), np.empty(len(x))
    some = max(1, CACHED // x.shape[1] ** 2)
    for first in range(0, len(rows), some):
        part = slice(first, first + some)
        here = inverse.take(rows[part], axis=0)
        u = np.einsum("nij,nj->ni", here, x[part])
        by = 1 / (1 + np.einsum("ni,ni->n", x[part], u))
        here -= u[:, :, None] * (u * by[:, None])[:, None, :]
        inverse[rows[part]] = here
        direction[part], shrink[part] = u, by
    return direction, shrink


def _rebuild(ridge: Ridge, rows: Array) -> None:
    """Everything from V, which takes in the recent plays."""
    recent = ridge.recent.take(rows, axis=0)
    gram = ridge.gram.take(rows, axis=0) + recent.transpose(0, 2, 1) @ recent
    inverse = np.linalg.inv(gram)
    inverse = (inverse + inverse.transpose(0, 2, 1)) / 2
    ridge.gram[rows] = gram
    ridge.inverse[rows] = inverse
    ridge.theta[rows] = np.einsum("nij,nj->ni", inverse, ridge.response.take(rows, axis=0))
    scaled = gram / ridge.penalty.take(rows)[:, None, None]
    ridge.log_determinant[rows] = np.linalg.slogdet(scaled)[1]


def radius(log_determinant: Array, delta: Array, noise: float, penalty: float, norm: float) -> Array:
    """beta = sigma sqrt(ln(det V/lambda^d) + 2 ln(1/delta)) + sqrt(lambda) S: ||theta - theta*||_V <= beta, always.

    Source: Abbasi-Yadkori, Pal, Szepesvari, "Improved algorithms for linear stochastic bandits", 2011, Theorem 2.
    """
    found: Array = noise * np.sqrt(log_determinant - 2 * np.log(delta)) + math.sqrt(penalty) * norm
    return found
