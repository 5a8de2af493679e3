"""The hot loops of ridge regression, as kernels: a play's rank-one update, and what it changes for fixed arms.

u = V^-1 x,   shrink = 1/(1 + x^T u),   move = (y - x^T theta) shrink,
V^-1 <- V^-1 - shrink u u^T,   theta <- theta + move u,
and with root = sqrt(shrink) and z = a^T (root u), for fixed arms a,
<a, theta> <- <a, theta> + (move/root) z,   a^T V^-1 a <- a^T V^-1 a - z^2
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corral_core.kernels.sums import products, summed
from corral_core.kernels.twins import kernel

MOST = 32  # features; with more, loops are slower than matrix products
FEW = 4  # features; with so few, numpy adds up one after the other


def _updated_arrays(inverse: Any, theta: Any, rows: Any, x: Any, y: Any) -> Any:
    columns, alone = x.T, len(inverse) == 1
    here, estimate = (inverse, theta) if alone else (inverse.take(rows, axis=0), theta.take(rows, axis=0))
    u = summed(products(here.transpose(2, 0, 1), columns[:, :, None]))
    terms = np.empty((len(columns), 3, len(rows)))
    for number, other in enumerate((u, estimate, x)):
        np.multiply(columns, other.T, out=terms[:, number])
    grown, predicted, length = np.add.reduce(terms, axis=0)
    shrink = 1 / (1 + np.maximum(grown, 0.0))
    move = (y - predicted) * shrink
    here -= u[:, :, None] * (u * shrink[:, None])[:, None, :]
    estimate += u * move[:, None]
    if not alone:
        inverse[rows], theta[rows] = here, estimate
    return u, shrink, move, length


@kernel(_updated_arrays)
def updated(inverse: Any, theta: Any, rows: Any, x: Any, y: Any) -> Any:
    """Add a play to V^-1 and theta of each of these (distinct) rows; returns u, shrink, move and |x|^2."""
    d = x.shape[1]
    direction, (shrink, move, length) = np.empty(x.shape), np.empty((3, len(rows)))
    for at in range(len(rows)):
        row, grown, predicted, squared = rows[at], 0.0, 0.0, 0.0
        here, estimate, own, u = inverse[row], theta[row], x[at], direction[at]
        for i in range(d):
            value = here[i, 0] * own[0]
            for j in range(1, d):
                value += here[i, j] * own[j]
            u[i] = value
        for i in range(d):
            grown += own[i] * u[i]
            predicted += own[i] * estimate[i]
            squared += own[i] * own[i]
        by = 1 / (1 + max(grown, 0.0))
        step = (y[at] - predicted) * by
        for i in range(d):
            estimate[i] += u[i] * step
            for j in range(d):
                here[i, j] -= u[i] * (u[j] * by)
        shrink[at], move[at], length[at] = by, step, squared
    return direction, shrink, move, length


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
    due, some = np.empty(len(rows), np.bool_), False
    for at in range(len(rows)):
        row = rows[at]
        place = filled[row]
        for i in range(x.shape[1]):
            recent[row, place, i] = x[at, i]
        answers[row, place] = y[at]
        plays[row] += 1
        filled[row] = place + 1
        due[at] = place + 1 == answers.shape[1] or length[at] > longest[row]
        some |= due[at]
    return due if some else None


def _followed_arrays(features: Any, mean: Any, width: Any, rows: Any, u: Any, shrink: Any, move: Any) -> None:
    root = np.sqrt(shrink)
    here, u, move = features.take(rows, axis=0).transpose(1, 0, 2), u * root[:, None], move / root
    if len(here) <= FEW:
        along = here[0] * u[:, :1]
        for i in range(1, len(here)):
            along += here[i] * u[:, i : i + 1]
    else:
        along = summed(products(here, u.T[:, :, None]))
    means = mean.take(rows, axis=0)
    means += along * move[:, None]
    mean[rows] = means
    along *= along
    widths = width.take(rows, axis=0)
    widths -= along
    width[rows] = widths


@kernel(_followed_arrays)
def followed(features: Any, mean: Any, width: Any, rows: Any, u: Any, shrink: Any, move: Any) -> None:
    """Update means and squared widths (learners, arms) of fixed arms with features (learners, d, arms) after a play."""
    arms = mean.shape[1]
    along = np.empty(arms)
    for at in range(len(rows)):
        row, root = rows[at], math.sqrt(shrink[at])
        own, means, widths, step = features[row], mean[row], width[row], move[at] / root
        for i in range(own.shape[0]):
            by = u[at, i] * root
            for arm in range(arms):
                along[arm] = own[i, arm] * by if i == 0 else along[arm] + own[i, arm] * by
        for arm in range(arms):
            means[arm] += along[arm] * step
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
