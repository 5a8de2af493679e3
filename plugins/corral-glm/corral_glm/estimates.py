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
from corral_glm.fit import fit_columns
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
    parts = estimates.plays.shape[1]
    every = np.flatnonzero(part == EVERY)
    if len(every):
        rows, action, reward = (
            np.concatenate([array, array[every].repeat(parts - 1)]) for array in (rows, action, reward)
        )
        part = np.concatenate([np.where(part == EVERY, 0, part), np.tile(np.arange(1, parts), len(every))])
    estimates.plays[rows, part, action] += 1
    estimates.total[rows, part, action] += reward


def refit(
    estimates: Estimates,
    rows: Array,
    part: Array,
    features: Array | None,
    link: Link,
    penalty: float | Array,
    name: str,
    alike: Array | None = None,
) -> None:
    """Refit theta of this part of each of these rows; `features` are those of fixed arms, or None.

    `penalty` is lambda: one number, or one per fit. Where `alike` is true, all parts of the row have learned the same
    and are due; the estimate of this part becomes that of all.
    """
    failed, penalties = 0, np.full(len(rows), penalty)
    for some, columns, y, weight in _plays(estimates, rows, part, features):
        at = rows[some], part[some]
        theta, converged = fit_columns(link, columns, y, weight, penalties[some], estimates.theta[at])
        lost = ~converged
        estimates.theta[at], estimates.converged[at] = theta, converged
        estimates.failures[at] += lost
        failed += int(np.count_nonzero(lost))
    if alike is not None and alike.any():
        those, like = rows[alike], (rows[alike], part[alike])
        for held in (estimates.theta, estimates.converged, estimates.failures):
            held[those] = held[like][:, None]
    if failed:
        warnings.warn(
            f"{name}: a fit with the {link.name} link did not converge; the previous estimate stays in force",
            RuntimeWarning,
            stacklevel=2,
        )


def _plays(
    estimates: Estimates, rows: Array, part: Array, features: Array | None
) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Yield indices into these rows, with the plays of each that this part learned from: x, reward and weight.

    x comes as columns (rows, d, plays), with zeros where the weight is 0.
    """
    if estimates.log is None:
        assert estimates.plays is not None and estimates.total is not None and features is not None
        plays, total = estimates.plays[rows, part], estimates.total[rows, part]
        columns = features.take(rows, axis=0).astype(np.float64, copy=False).transpose(0, 2, 1).copy()
        np.copyto(columns, 0.0, where=(plays == 0)[:, None])  # what was never played may be anything
        yield np.arange(len(rows)), columns, total / np.maximum(plays, 1), plays
        return
    fits, index, count = _learned(estimates, rows, part)
    first = np.cumsum(count) - count
    place = np.arange(len(fits)) - first.take(fits)  # of a play among those that its fit reads
    # plays are padded to the next power of two, so that sums over them depend only on the row's own plays
    size = np.left_shift(1, np.frexp(np.maximum(count, 8) - 1.0)[1])
    dimension = estimates.theta.shape[2]
    for some in _batches(size, dimension):
        at, those = (fits, place), index
        if len(some) < len(rows):
            batch = np.flatnonzero(np.isin(fits, some))
            at, those = (np.searchsorted(some, fits.take(batch)), place.take(batch)), index.take(batch)
        padded = int(size[some[0]])
        y, weight = np.zeros((2, len(some), padded))
        columns = np.zeros((len(some), dimension, padded))
        paid = estimates.log.get(rows[some].take(at[0]), those)
        y[at], weight[at] = paid.reward, 1.0
        columns.transpose(0, 2, 1)[at] = paid.x
        yield some, columns, y, weight


def _learned(estimates: Estimates, rows: Array, part: Array) -> tuple[Array, Array, Array]:
    """The logged plays that these fits read, fit after fit: number of the fit, number of the play, and how many."""
    assert estimates.log is not None
    length = estimates.log.length.take(rows)
    fits = np.arange(len(rows)).repeat(length)
    index = np.arange(len(fits)) - (np.cumsum(length) - length).take(fits)
    if estimates.theta.shape[1] == 1:
        return fits, index, length
    of = estimates.log.column("part", rows.take(fits), index)
    learned = np.flatnonzero((of == part.take(fits)) | (of == EVERY))
    fits = fits.take(learned)
    return fits, index.take(learned), np.bincount(fits, minlength=len(rows))


def _batches(size: Array, dimension: int) -> Iterator[Array]:
    """Yield indices of rows that have equally many plays after padding, in batches small enough for memory."""
    for padded in np.unique(size):
        alike = np.flatnonzero(size == padded)
        some = max(1, AT_ONCE // (int(padded) * dimension))
        for first in range(0, len(alike), some):
            yield alike[first : first + some]
