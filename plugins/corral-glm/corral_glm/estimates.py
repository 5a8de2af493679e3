"""Estimates of generalised linear models: past plays, and theta, which is refitted on request.

A row has one estimate or several (SupCB-GLM has one per level). For fixed arms, only the number of plays and the sum of
rewards of each arm matter, so the cost of a fit does not grow with the number of plays. If arms change, every play is
logged; a fit then reads all plays of a row, and bases request few fits.

If a fit does not converge, the last estimate stays in force, `failures` counts it, and a warning is issued.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from corral_core import Array, Log, Rows
from corral_glm.fit import fit
from corral_glm.links import Link

AT_ONCE = 2**21  # how many numbers (plays times features) are fitted together
EVERY = -1  # used as a part: every estimate of the row learns from the play


class Paid(Rows):
    """A logged play, if arms change."""

    x: Array  # (rows, d)
    reward: Array
    part: Array  # which estimate learns from it, or `EVERY`


class Estimates(Rows):
    theta: Array  # (rows, parts, d)
    converged: Array  # (rows, parts), whether the last fit converged
    failures: Array  # (rows, parts), how many fits did not converge
    plays: Array | None = None  # (rows, parts, arms), if arms are fixed
    total: Array | None = None  # (rows, parts, arms), the sums of their rewards
    log: Log | None = None  # if arms change

    @classmethod
    def fresh(cls, rows: int, parts: int, dimension: int, arms: int | None) -> Estimates:
        """Estimates before the first play; `arms` is the number of fixed arms, or None if arms change."""
        theta = np.zeros((rows, parts, dimension))
        converged, failures = np.ones((rows, parts), dtype=bool), np.zeros((rows, parts), dtype=np.int64)
        if arms is None:
            return cls(theta, converged, failures, log=Log(rows, Paid))
        return cls(theta, converged, failures, np.zeros((rows, parts, arms)), np.zeros((rows, parts, arms)))


def logged_bytes(plays: int, dimension: int) -> int:
    """The bytes that the log of this many plays takes, if arms change."""
    return plays * (8 * (dimension + 1) + 1)


def record(estimates: Estimates, rows: Array, part: Array, action: Array, x: Array, reward: Array) -> None:
    """Record one play for each of these rows, for this part of it."""
    if estimates.log is not None:
        entry = Paid(np.asarray(x, dtype=np.float64), np.asarray(reward, dtype=np.float64), part.astype(np.int8))
        estimates.log.append(rows, entry)
        return
    assert estimates.plays is not None and estimates.total is not None
    for number in range(estimates.plays.shape[1]):
        learns = (part == number) | (part == EVERY)
        at = rows[learns], number, action[learns]
        estimates.plays[at] += 1
        estimates.total[at] += reward[learns]


def refit(
    estimates: Estimates, rows: Array, part: Array, features: Array | None, link: Link, penalty: float, name: str
) -> None:
    """Refit theta of this part of each of these rows; `features` are those of fixed arms, or None."""
    failed = 0
    for some, x, y, weight in _plays(estimates, rows, part, features):
        at = rows[some], part[some]
        theta, converged = fit(link, x, y, weight, penalty, estimates.theta[at])
        estimates.theta[at], estimates.converged[at] = theta, converged
        estimates.failures[at] += ~converged
        failed += int((~converged).sum())
    if failed:
        warnings.warn(
            f"{name}: a fit with the {link.name} link did not converge; the previous estimate stays in force",
            RuntimeWarning,
            stacklevel=2,
        )


def _plays(
    estimates: Estimates, rows: Array, part: Array, features: Array | None
) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Yield indices into these rows, with the plays of each that this part learned from: x, reward and weight."""
    if estimates.log is None:
        assert estimates.plays is not None and estimates.total is not None and features is not None
        plays, total = estimates.plays[rows, part], estimates.total[rows, part]
        yield np.arange(len(rows)), features.take(rows, axis=0), total / np.maximum(plays, 1), plays
        return
    length = estimates.log.length.take(rows)
    # plays are padded to the next power of two, so that sums over them depend only on the row's own plays
    size = np.left_shift(1, np.frexp(np.maximum(length, 8) - 1.0)[1])
    for some in _batches(size, estimates.theta.shape[2]):
        index = np.arange(size[some[0]])
        there = index < length[some, None]
        at = np.where(there, index, 0)
        whose = np.repeat(rows[some], len(index))
        found = estimates.log.get(whose, at.reshape(-1))
        of_part = found.part.reshape(at.shape)
        learned = there & ((of_part == part[some, None]) | (of_part == EVERY))
        x = found.x.reshape(*at.shape, -1)
        yield (
            some,
            np.where(learned[:, :, None], x, 0.0),
            np.where(learned, found.reward.reshape(at.shape), 0.0),
            learned.astype(np.float64),
        )


def _batches(size: Array, dimension: int) -> Iterator[Array]:
    """Yield indices of rows that have equally many plays after padding, in batches small enough for memory."""
    for padded in np.unique(size):
        alike = np.flatnonzero(size == padded)
        some = max(1, AT_ONCE // (int(padded) * dimension))
        for first in range(0, len(alike), some):
            yield alike[first : first + some]
