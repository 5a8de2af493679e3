"""Index policies: play the arm with the largest index, or with the largest mean plus width; update the pulled arm.

All but `largest` are kernels: twins in numpy and for numba give the same bits. Ties go to the lowest arm.
Arrays of arms are (learners, arms); `rows` says which learners play.

>>> mean, squared = np.array([[0.5, 0.4]]), np.array([[0.01, 0.09]])
>>> one = np.array([0])
>>> largest(mean, one), largest_bound(mean, squared, np.ones(1), one)
(array([0]), array([1]))
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corral_core.kernels.ranges import in_range
from corral_core.kernels.twins import kernel

UNLIKE = "the arrays of an index policy do not fit together"
STRANGE = "a base can learn only from its own arms"


def largest(index: Any, rows: Any) -> Any:
    """The arm with the largest index."""
    return index.take(rows, axis=0).argmax(axis=1)  # faster than compiled loops, which must not reorder comparisons


def _largest_bound_arrays(mean: Any, squared: Any, radius: Any, rows: Any) -> Any:
    index = squared.take(rows, axis=0)
    np.maximum(index, 0.0, out=index)
    np.sqrt(index, out=index)
    index *= radius[:, None]
    index += mean.take(rows, axis=0)
    return index.argmax(axis=1)


@kernel(_largest_bound_arrays)
def largest_bound(mean: Any, squared: Any, radius: Any, rows: Any) -> Any:
    """The arm with the largest mean + radius sqrt(squared), with one radius for each of these rows."""
    found = np.empty(len(rows), np.intp)
    arms = mean.shape[1]
    if squared.shape[1] != arms:
        raise IndexError(UNLIKE)
    index = np.empty(arms)
    for at in range(len(rows)):
        row = rows[at]
        for arm in range(arms):
            index[arm] = math.sqrt(max(squared[row, arm], 0.0)) * radius[at] + mean[row, arm]
        best, top, unknown = 0, index[0], False
        for arm in range(1, arms):
            value = index[arm]
            unknown |= value != value
            if value > top:
                best, top = arm, value
        if unknown and top == top:  # like numpy, the first index that is not a number
            best = 0
            while index[best] == index[best]:
                best += 1
        found[at] = best
    return found


def _pulled_arrays(pulls: Any, total: Any, mean: Any, rows: Any, arm: Any, reward: Any) -> Any:
    if not in_range(arm, 0, pulls.shape[1] - 1):
        raise ValueError(STRANGE)
    at = rows * pulls.shape[1] + arm
    n = pulls.take(at) + 1.0
    sums = total.take(at) + reward
    now = sums / n
    pulls.reshape(-1)[at] = n
    total.reshape(-1)[at] = sums
    mean.reshape(-1)[at] = now
    return n, now


@kernel(_pulled_arrays)
def pulled(pulls: Any, total: Any, mean: Any, rows: Any, arm: Any, reward: Any) -> Any:
    """Add the reward of the arm that each of these (distinct) rows pulled; returns its pulls and its mean.

    Raises a ValueError, and changes nothing, if there is no such arm.
    """
    arms = pulls.shape[1]
    if total.shape[1] != arms or mean.shape[1] != arms or not len(rows) == len(arm) == len(reward):
        raise IndexError(UNLIKE)
    for at in range(len(arm)):
        if not 0 <= arm[at] < arms:
            raise ValueError(STRANGE)
    n, now = np.empty(len(rows)), np.empty(len(rows))
    for at in range(len(rows)):
        row, own = rows[at], arm[at]
        pulls[row, own] += 1
        total[row, own] += reward[at]
        n[at] = pulls[row, own]
        now[at] = total[row, own] / n[at]
        mean[row, own] = now[at]
    return n, now


def _replaced_arrays(index: Any, rows: Any, arm: Any, mean: Any, factor: Any, log: Any, n: Any) -> None:
    index.reshape(-1)[rows * index.shape[1] + arm] = mean + factor.take(rows) * (np.sqrt((1 + n) * log) / n)


@kernel(_replaced_arrays)
def replaced(index: Any, rows: Any, arm: Any, mean: Any, factor: Any, log: Any, n: Any) -> None:
    """The pulled arm's new index, mean + factor sqrt((1 + n) log)/n, with a factor per learner."""
    for at in range(len(rows)):
        row = rows[at]
        if not 0 <= arm[at] < index.shape[1]:
            raise IndexError(UNLIKE)
        index[row, arm[at]] = mean[at] + factor[row] * (math.sqrt((1 + n[at]) * log[at]) / n[at])
