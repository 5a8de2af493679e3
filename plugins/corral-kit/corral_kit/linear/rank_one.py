"""The hot loops of ridge regression, as kernels: a play's rank-one update, and what it changes for fixed arms.

u = V^-1 x,   g = 1 + x^T u,   w = u/sqrt(g),   m = (y - x^T theta)/sqrt(g),
V^-1 <- V^-1 - w w^T,   theta <- theta + m w,   det V <- g det V,
<a, theta> <- <a, theta> + m a^T w,   a^T V^-1 a <- a^T V^-1 a - (a^T w)^2   for fixed arms a

V^-1 stays symmetric to the last bit, so u is also the sum of x_i times row i of V^-1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corral_core.kernels.twins import kernel

MOST = 32  # features; with more, loops are slower than matrix products
FEW = 4  # features; with so few, numpy adds up one after the other
UNLIKE = "the arrays of a regression do not fit together"
NO_ROOM = "a buffer of recent plays has no such place"


def _updated_arrays(inverse: Any, theta: Any, rows: Any, x: Any, y: Any) -> Any:
    n, d = x.shape
    many = n > d  # numpy is fastest if the longest axis comes last in memory
    here = inverse.take(rows, axis=0).transpose(1, 2, 0)
    here = np.ascontiguousarray(here) if many else here
    factors = np.empty((3, d, n)) if many else np.empty((3, n, d)).transpose(0, 2, 1)
    u, estimate, columns = factors
    columns[:] = x.T
    estimate[:] = theta.take(rows, axis=0).T
    np.add.reduce(here * columns[:, None], axis=0, out=u)
    terms = factors * columns
    grown, predicted, length = np.add.reduce(terms, axis=1) if many else np.add.accumulate(terms, axis=1)[:, -1]
    grown = np.maximum(grown, 0.0) + 1
    root = 1 / np.sqrt(grown)
    w = u * root
    move = (y - predicted) * root
    here -= w[:, None] * w
    estimate += w * move
    inverse[rows], theta[rows] = here.transpose(2, 0, 1), estimate.T
    return w.T, grown, move, length


@kernel(_updated_arrays)
def updated(inverse: Any, theta: Any, rows: Any, x: Any, y: Any) -> Any:
    """Add a play to V^-1 and theta of each of these (distinct) rows; returns w, g, m and |x|^2."""
    n, d = x.shape
    if inverse.shape[1:] != (d, d) or theta.shape[1] != d:
        raise IndexError(UNLIKE)
    direction, (growth, move, length) = np.empty((n, d)), np.empty((3, n))
    for at in range(n):
        here, estimate, own, w = inverse[rows[at]], theta[rows[at]], x[at], direction[at]
        grown = predicted = squared = 0.0
        for j in range(d):
            u = here[0, j] * own[0]
            for i in range(1, d):
                u += here[i, j] * own[i]
            w[j] = u
            grown += own[j] * u
            predicted += own[j] * estimate[j]
            squared += own[j] * own[j]
        growth[at], length[at] = max(grown, 0.0) + 1, squared
        root = 1 / math.sqrt(growth[at])
        move[at] = (y[at] - predicted) * root
        for i in range(d):
            w[i] *= root
            estimate[i] += w[i] * move[at]
        for i in range(d):
            for j in range(d):
                here[i, j] -= w[i] * w[j]
    return direction, growth, move, length


def _noted_arrays(
    recent: Any, answers: Any, filled: Any, plays: Any, longest: Any, rows: Any, x: Any, y: Any, length: Any
) -> Any:
    plays[rows] += 1
    place = filled.take(rows)
    recent[rows, place] = x
    answers[rows, place] = y
    place += 1
    filled[rows] = place
    due = length > longest.take(rows)
    due |= place == answers.shape[1]
    return due if np.logical_or.reduce(due) else None


@kernel(_noted_arrays)
def noted(
    recent: Any, answers: Any, filled: Any, plays: Any, longest: Any, rows: Any, x: Any, y: Any, length: Any
) -> Any:
    """Keep a play of each of these (distinct) rows. Returns which of them are due to be recomputed; None if none is.

    A row is due if its buffer is full now, or if the length |x|^2 is above `longest`.
    """
    if recent.shape[1:] != (answers.shape[1], x.shape[1]):
        raise IndexError(UNLIKE)
    due, some = np.empty(len(rows), np.bool_), False
    for at in range(len(rows)):
        row = rows[at]
        place = filled[row]
        if not 0 <= place < answers.shape[1]:
            raise IndexError(NO_ROOM)
        for i in range(x.shape[1]):
            recent[row, place, i] = x[at, i]
        answers[row, place] = y[at]
        plays[row] += 1
        filled[row] = place + 1
        due[at] = place + 1 == answers.shape[1] or length[at] > longest[row]
        some |= due[at]
    return due if some else None


def _followed_arrays(features: Any, mean: Any, width: Any, rows: Any, w: Any, move: Any) -> None:
    here = features.take(rows, axis=0)
    if w.shape[1] <= FEW or features.shape[2] == 1:  # numpy adds up the features of a single arm in pairs
        along = here[:, 0] * w[:, :1]
        for i in range(1, w.shape[1]):
            along += here[:, i] * w[:, i : i + 1]
    else:
        here *= w[:, :, None]
        along = np.add.reduce(here, axis=1)
    means = mean.take(rows, axis=0)
    means += along * move[:, None]
    mean[rows] = means
    along *= along
    widths = width.take(rows, axis=0)
    widths -= along
    width[rows] = widths


@kernel(_followed_arrays)
def followed(features: Any, mean: Any, width: Any, rows: Any, w: Any, move: Any) -> None:
    """Update means and squared widths (learners, arms) of fixed arms with features (learners, d, arms) after a play."""
    arms = mean.shape[1]
    if features.shape[1:] != (w.shape[1], arms) or width.shape[1] != arms:
        raise IndexError(UNLIKE)
    along = np.empty(arms)
    for at in range(len(rows)):
        row = rows[at]
        own, means, widths = features[row], mean[row], width[row]
        for arm in range(arms):
            along[arm] = own[0, arm] * w[at, 0]
        for i in range(1, own.shape[0]):
            for arm in range(arms):
                along[arm] += own[i, arm] * w[at, i]
        for arm in range(arms):
            means[arm] += along[arm] * move[at]
            widths[arm] -= along[arm] * along[arm]


def _radii_arrays(grown: Any, confidence: Any, noise: Any, offset: Any, scale: Any, rows: Any) -> Any:
    found = np.sqrt(grown.take(rows) + confidence.take(rows))
    found *= noise
    found += offset.take(rows)
    found *= scale.take(rows)
    return found


@kernel(_radii_arrays)
def radii(grown: Any, confidence: Any, noise: Any, offset: Any, scale: Any, rows: Any) -> Any:
    """scale (sigma sqrt(grown + confidence) + offset) of these rows."""
    found = np.empty(len(rows))
    for at in range(len(rows)):
        row = rows[at]
        found[at] = (np.sqrt(grown[row] + confidence[row]) * noise + offset[row]) * scale[row]
    return found
