"""The hot loops of ridge regression, as kernels: a play's rank-one update, and what it changes for fixed arms.

    u = V^-1 x,   shrink = 1/(1 + x^T u),   move = (y - x^T theta) shrink,
    V^-1 <- V^-1 - shrink u u^T,   theta <- theta + move u,
    <a, theta> <- <a, theta> + move a^T u,   a^T V^-1 a <- a^T V^-1 a - shrink (a^T u)^2
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.sums import products, summed
from corral_core.kernels.twins import kernel

MOST = 32  # features; with more, loops are slower than matrix products


def _updated_arrays(inverse: Any, theta: Any, rows: Any, x: Any, y: Any) -> Any:
    columns = x.T
    here = inverse.take(rows, axis=0)
    u = summed(products(here.transpose(2, 0, 1), columns[:, :, None]))
    shrink = summed(products(columns, u.T))
    np.maximum(shrink, 0.0, out=shrink)
    shrink += 1
    np.divide(1, shrink, out=shrink)
    here -= u[:, :, None] * (u * shrink[:, None])[:, None, :]
    inverse[rows] = here
    estimate = theta.take(rows, axis=0)
    move = (y - summed(products(columns, estimate.T))) * shrink
    estimate += u * move[:, None]
    theta[rows] = estimate
    return u, shrink, move, summed(products(columns, columns))


@kernel(_updated_arrays)
def updated(inverse: Any, theta: Any, rows: Any, x: Any, y: Any) -> Any:
    """Add a play to V^-1 and theta of each of these (distinct) rows; returns u, shrink, move and |x|^2."""
    d = x.shape[1]
    direction, shrink, move, length = np.empty(x.shape), np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows))
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


def _noted_arrays(response: Any, recent: Any, filled: Any, plays: Any, rows: Any, x: Any, y: Any) -> Any:
    response[rows] += x * y[:, None]
    plays[rows] += 1
    place = filled.take(rows)
    recent[rows, place] = x
    place += 1
    filled[rows] = place
    return place == recent.shape[1]


@kernel(_noted_arrays)
def noted(response: Any, recent: Any, filled: Any, plays: Any, rows: Any, x: Any, y: Any) -> Any:
    """Keep a play of each of these (distinct) rows, and add it to sum x y; returns which buffers are full now."""
    full = np.empty(len(rows), np.bool_)
    for at in range(len(rows)):
        row = rows[at]
        place = filled[row]
        for i in range(x.shape[1]):
            response[row, i] += x[at, i] * y[at]
            recent[row, place, i] = x[at, i]
        plays[row] += 1
        filled[row] = place + 1
        full[at] = place + 1 == recent.shape[1]
    return full


def _followed_arrays(features: Any, mean: Any, width: Any, rows: Any, u: Any, shrink: Any, move: Any) -> None:
    along = summed(products(features.take(rows, axis=0).transpose(1, 0, 2), u.T[:, :, None]))
    means = mean.take(rows, axis=0)
    means += along * move[:, None]
    mean[rows] = means
    along *= along
    along *= shrink[:, None]
    widths = width.take(rows, axis=0)
    widths -= along
    width[rows] = widths


@kernel(_followed_arrays)
def followed(features: Any, mean: Any, width: Any, rows: Any, u: Any, shrink: Any, move: Any) -> None:
    """Update means and squared widths (learners, arms) of fixed arms with features (learners, d, arms) after a play."""
    arms = mean.shape[1]
    along = np.empty(arms)
    for at in range(len(rows)):
        row = rows[at]
        own, means, widths = features[row], mean[row], width[row]
        for arm in range(arms):
            along[arm] = own[0, arm] * u[at, 0]
        for i in range(1, own.shape[0]):
            for arm in range(arms):
                along[arm] += own[i, arm] * u[at, i]
        for arm in range(arms):
            means[arm] += along[arm] * move[at]
            widths[arm] -= along[arm] * along[arm] * shrink[at]


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
