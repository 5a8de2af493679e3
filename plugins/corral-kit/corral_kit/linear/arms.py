"""Finitely many arms in linear bases: their features, their upper confidence bounds, the best arm.

>>> features = np.array([[[1.0, 0.0], [0.0, 2.0]]])
>>> index = upper_bounds(features, np.zeros((1, 2)), np.eye(2)[None], np.ones(1))
>>> index
array([[1., 2.]])
>>> arm = best_arm(index, None)
>>> arm, played(features, arm)
(array([1]), array([[0., 2.]]))
"""

from __future__ import annotations

import numpy as np

from corral_core import Array, CorralError
from corral_core.bases import policies

quietly = np.errstate(invalid="ignore", over="ignore")  # `best_arm` reports what is not finite


def played(features: Array, action: Array) -> Array:
    """The features of the arm that each row played, from (rows, arms, d) features."""
    found: Array = features[np.arange(len(action)), action]
    return found


def best_arm(index: Array, mask: Array | None) -> Array:
    """The available arm with the largest index; ties go to the lowest number. An index that is not finite is an error.

    The index of an arm that is not available may be anything, because its features may be.
    """
    finite = np.isfinite(index)
    if mask is not None:
        finite |= ~mask
    if not finite.all():
        row, arm = np.argwhere(~finite)[0]
        raise CorralError(
            f"arm {arm} of row {row} cannot be valued: its features or rewards are not finite numbers, or far too large"
        )
    return policies.best_arm(index, mask)


def certain(action: Array, arms: int) -> Array:
    """Probabilities (rows, arms) of actions that are not drawn: 1 for the action, 0 for the other arms."""
    return np.asarray(np.arange(arms) == action[:, None], dtype=np.float64)


@quietly
def widths(features: Array, inverse: Array) -> Array:
    """||x||_{V^-1} of every arm, (rows, arms), in the type of the inverse."""
    x = features.astype(inverse.dtype, copy=False)
    squared = np.einsum("nki,nki->nk", np.matmul(x, inverse), x)
    found: Array = np.sqrt(np.maximum(squared, 0, out=squared), out=squared)
    return found


@quietly
def upper_bounds(features: Array, theta: Array, inverse: Array, radius: Array) -> Array:
    """<x, theta> + radius ||x||_{V^-1} of every arm, (rows, arms), in the type of theta."""
    x = features.astype(theta.dtype, copy=False)
    bonus = radius.astype(theta.dtype, copy=False)[:, None] * widths(x, inverse)
    found: Array = np.einsum("nki,ni->nk", x, theta) + bonus
    return found
