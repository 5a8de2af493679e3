"""G-optimal designs in lockstep: weights pi over arms that minimise max_a ||a||^2_{V(pi)^-1}, V(pi) = sum pi_a a a^T.

The minimum is the rank r of the arms (Kiefer and Wolfowitz, 1960). It is attained at the weights that maximise
ln det V(pi). Frank-Wolfe climbs ln det V(pi): with g the largest ||a||^2_{V^-1} and a the arm that attains it,

    pi <- (1 - step) pi + step e_a,  step = (g/r - 1)/(g - 1),  until g <= (1 + tolerance) r.

It starts from equal weights on r arms that span the others. Each of them is the farthest from the span of those before
it, so few arms ever get weight. In coordinates in which those arms are the unit vectors, V starts at I/r for any scale
of the features and any dimension of their span.

Sources: Fedorov, "Theory of optimal experiments", 1972; Todd, "Minimum-volume ellipsoids", 2016, for the start;
Lattimore, Szepesvari, "Bandit algorithms", 2020, Chapter 21.

>>> design(np.array([[[2.0, 0.0], [0.0, 1.0], [0.1, 0.1]]]), np.ones((1, 3), dtype=bool), 0.01)
array([[0.5, 0.5, 0. ]])
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from corral_core import Array

NEGLIGIBLE = 1e-9  # relative to the longest arm: an arm closer than this to the span of others lies in it
REFRESH = 64  # steps between recomputations of V^-1, so that rounding errors do not accumulate


class Coordinates(NamedTuple):
    """Arms as combinations of `rank` spanning arms, which are the first unit vectors; zeros beyond the rank."""

    arms: Array  # (rows, arms, d); zero if an arm is not active
    rank: Array  # (rows,)
    spanning: Array  # (rows, d), the spanning arms, then -1 beyond the rank


def coordinates(features: Array, active: Array) -> Coordinates:
    """Run Gram-Schmidt over the active arms, the largest residual first."""
    rows, _, dimension = features.shape
    every = np.arange(rows)
    arms = np.where(active[:, :, None], features, 0.0)
    residual = arms.copy()
    length = np.linalg.norm(residual, axis=2)
    least = NEGLIGIBLE * length.max(axis=1)
    basis = np.zeros((rows, dimension, dimension))
    spanning = np.full((rows, dimension), -1)
    rank = np.zeros(rows, dtype=np.int64)
    for step in range(dimension):
        longest = length.max(axis=1)[:, None]
        arm = (length >= (1 - NEGLIGIBLE) * longest).argmax(axis=1)  # the first of equally long arms
        found = length[every, arm] > least
        if not found.any():
            break
        direction = residual[every, arm]
        # A second pass: rounding errors along the earlier directions are large compared with a small residual.
        direction = direction - np.einsum("nij,nj->ni", basis, np.einsum("nij,ni->nj", basis, direction))
        size = np.linalg.norm(direction, axis=1)
        direction = np.where(found[:, None], direction / np.where(found, size, 1.0)[:, None], 0.0)
        basis[:, :, step] = direction
        spanning[found, step] = arm[found]
        rank += found
        residual -= (residual @ direction[:, :, None]) * direction[:, None, :]
        length = np.linalg.norm(residual, axis=2)
    within = arms @ basis
    triangle = np.where((spanning >= 0)[:, :, None], within[every[:, None], spanning], np.eye(dimension))
    found_arms = np.linalg.solve(triangle.transpose(0, 2, 1), within.transpose(0, 2, 1)).transpose(0, 2, 1)
    return Coordinates(found_arms, rank, spanning)


def design(features: Array, active: Array, tolerance: float) -> Array:
    """Weights (rows, arms) of the active arms, with max_a ||a||^2_{V^-1} <= (1 + tolerance) rank.

    Every row must have an active arm. If all active arms are zero, the first of them has weight 1.
    """
    rows, _, dimension = features.shape
    every = np.arange(rows)
    arms, whole_rank, spanning = coordinates(features, active)
    rank = np.maximum(whole_rank, 1).astype(np.float64)
    weights = np.zeros(active.shape)
    row, place = np.nonzero(spanning >= 0)
    weights[row, spanning[row, place]] = 1 / rank[row]
    inverse = rank[:, None, None] * np.eye(dimension)
    width = rank[:, None] * np.square(arms).sum(axis=2)
    for step in range(most_steps(dimension, tolerance)):
        if step % REFRESH == REFRESH - 1:
            inverse = np.linalg.inv(gram(arms, weights, whole_rank))
            width = ((arms @ inverse) * arms).sum(axis=2)
        arm = width.argmax(axis=1)
        g = width[every, arm]
        going = g > (1 + tolerance) * rank
        if not going.any():
            break
        move = np.where(going, (g / rank - 1) / np.where(going, g - 1, 1.0), 0.0)
        stay = 1 - move
        direction = np.einsum("nij,nj->ni", inverse, arms[every, arm])
        gain = move / (stay + move * g)  # ((1 - m) V + m a a^T)^-1 = (V^-1 - gain u u^T)/(1 - m), u = V^-1 a
        inverse -= gain[:, None, None] * direction[:, :, None] * direction[:, None, :]
        inverse /= stay[:, None, None]
        width -= gain[:, None] * np.square((arms @ direction[:, :, None])[:, :, 0])
        width /= stay[:, None]
        weights *= stay[:, None]
        weights[every, arm] += move
    nothing = whole_rank == 0
    weights[nothing, active[nothing].argmax(axis=1)] = 1.0
    found: Array = weights / weights.sum(axis=1)[:, None]
    return found


def gram(arms: Array, weights: Array, rank: Array) -> Array:
    """The matrix sum_a weights_a a a^T of arms in coordinates, with ones on the diagonal for unused coordinates."""
    found: Array = arms.transpose(0, 2, 1) @ (weights[:, :, None] * arms)
    beyond = np.arange(arms.shape[2]) >= rank[:, None]
    return found + np.eye(arms.shape[2]) * beyond[:, None, :]


def most_steps(dimension: int, tolerance: float) -> int:
    """Twice the number of steps that Frank-Wolfe can need: O(d ln d + d/tolerance) (Todd, 2016)."""
    return int(16 * dimension * (2 + math.log(dimension)) + 60 * dimension / tolerance)
