"""Policies that bases of many kinds share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from corral_core.rows import Array, Rows


class Pick(Rows):
    """The policy of a base that plays one arm."""

    arm: Array


class InForce(Rows):
    """A policy that stays in force for many plays, and whether it has been asked for: what `changed` goes by."""

    policy: Any
    since: Array  # what it was computed from, by which the base tells when the next one is due
    unasked: Array  # (rows,), whether it has not been asked for since it came into force

    @classmethod
    def begin(cls, policy: Any, since: Array) -> Self:
        """Every row's first."""
        return cls(policy, since, np.ones(len(since), dtype=bool))

    def ask(self, rows: Array) -> Any:
        """The policies of these rows, which have now been asked for."""
        self.unasked[rows] = False
        return self.policy.take(rows)

    def change(self, rows: Array, policy: Any, since: Array) -> None:
        """Other policies for these rows."""
        self.put(rows, self.begin(policy, since))


def arm_type(arms: int) -> Any:
    """The smallest integers that number the arms: a policy is stored for every play."""
    return np.int16 if arms <= np.iinfo(np.int16).max else np.int64
