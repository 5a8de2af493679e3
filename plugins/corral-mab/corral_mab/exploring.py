"""The hot loops of epsilon-greedy, as kernels: its policy, its action, and what it learns from a play."""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.twins import kernel

LEAST = 1e-30  # keeps a rate from rounding to zero in single precision


def _rates_arrays(c: Any, played: Any, rows: Any) -> Any:
    return np.maximum(c.take(rows) / (played.take(rows) + 1), LEAST).astype(np.float32)


@kernel(_rates_arrays)
def rates(c: Any, played: Any, rows: Any) -> Any:
    """c/s of these rows, in single precision; more than 1 stands for 1."""
    found = np.empty(len(rows), np.float32)
    for at in range(len(rows)):
        found[at] = max(c[rows[at]] / (played[rows[at]] + 1), LEAST)
    return found


def _explored_arrays(uniform: Any, rate: Any, greedy: Any, arms: Any) -> Any:
    share = uniform / np.minimum(rate, 1.0)
    found = share * arms
    np.copyto(found, greedy, where=share >= 1.0)
    return found.astype(np.intp)


@kernel(_explored_arrays)
def explored(uniform: Any, rate: Any, greedy: Any, arms: Any) -> Any:
    """The greedy arm, or a uniform one with probability `rate`.

    One uniform number decides both: below the rate the base explores, and its position there picks the arm.
    """
    found = np.empty(len(uniform), np.intp)
    if not len(rate) == len(greedy) == len(uniform):
        raise IndexError("a policy has as many rates as arms")
    for at in range(len(uniform)):
        share = uniform[at] / min(np.float64(rate[at]), 1.0)
        found[at] = np.intp(share * arms) if share < 1.0 else greedy[at]
    return found


def _best_arrays(mean: Any, greedy: Any, played: Any, rows: Any) -> None:
    greedy[rows] = mean.take(rows, axis=0).argmax(axis=1)
    played[rows] += 1


@kernel(_best_arrays)
def learned(mean: Any, greedy: Any, played: Any, rows: Any) -> None:
    """Count a play of these rows, and note the arm with the largest mean of each; ties go to the lowest."""
    for row in rows:
        best, top = 0, mean[row, 0]
        for arm in range(1, mean.shape[1]):
            if not mean[row, arm] <= top and top == top:
                best, top = arm, mean[row, arm]
        greedy[row] = best
        played[row] += 1
