"""Policies that many kinds of bases share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from corral_core.rows import Array, Rows

LARGEST = np.iinfo(np.int16).max


class Pick(Rows):
    """The policy of a base that plays one arm."""

    arm: Array


class Indices(Rows):
    """The policy of a base that plays the available arm with the largest index, kept where arms may be masked."""

    index: Array  # (rows, arms)


def best_arm(index: Array, mask: Array | None = None) -> Array:
    """The arm with the largest (rows, arms) index among those available; the lowest of several that tie."""
    found: Array = (index if mask is None else np.where(mask, index, -np.inf)).argmax(axis=1)
    return found


def ranks(index: Array) -> Array:
    """The place of every arm in the order of its index, last to first, ties as in `best_arm`: a small index.

    >>> ranks(np.array([[0.1, 7.0, 0.1, np.inf]]))
    array([[1, 2, 0, 3]], dtype=int16)
    """
    rows, arms = index.shape
    place = np.empty((rows, arms), dtype=arm_type(arms))
    np.put_along_axis(place, np.argsort(-index, axis=1, kind="stable"), np.arange(arms)[::-1][None], axis=1)
    return place


def available_at(share: Array, arms: int, mask: Array | None) -> Array:
    """The arm at this share, in [0, 1), of the way through the available arms: a uniform one, if shares are uniform."""
    if mask is None:
        return (share * arms).astype(np.intp)
    rank = (share * mask.sum(axis=1)).astype(np.intp)
    found: Array = (np.cumsum(mask, axis=1) > rank[:, None]).argmax(axis=1)
    return found


def uniform(rows: int, arms: int, mask: Array | None) -> Array:
    """Probabilities (rows, arms) of an arm that is drawn uniformly from the available ones."""
    if mask is None:
        return np.full((rows, arms), 1 / arms)
    return np.asarray(mask / mask.sum(axis=1, keepdims=True))


class InForce(Rows):
    """A policy that stays in force for many plays, and whether it has been asked for, which `changed` reports."""

    policy: Any
    since: Array  # what it was computed from; the base uses it to decide when the next one is due
    unasked: Array  # (rows,), true if it has not been asked for since it came into force

    @classmethod
    def begin(cls, policy: Any, since: Array) -> Self:
        """The first policy of every row."""
        return cls(policy, since, np.ones(len(since), dtype=bool))

    def ask(self, rows: Array) -> Any:
        """The policies of these rows; marks them as asked for."""
        self.unasked[rows] = False
        return self.policy.take(rows)

    def change(self, rows: Array, policy: Any, since: Array) -> None:
        """Replace the policies of these rows."""
        self.put(rows, self.begin(policy, since))


def arm_type(arms: int) -> Any:
    """int16 if it can number the arms, otherwise int64: a policy is stored for every play, so it should be small."""
    return np.int16 if arms <= LARGEST else np.int64
