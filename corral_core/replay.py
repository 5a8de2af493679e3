"""The replay store: every policy a learner has played, so that smoothing can draw one uniformly from the past.

A policy is held once, in a `Log`. A base that changes its policy rarely leaves entries only where it changed, each
with the play from which it holds; the policy of play q is then the last entry that began at or before q.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from corral_core.rows import Array, Log, Rows


class Replay:
    """Policies played, by learner and play number."""

    def __init__(self, learners: int) -> None:
        self.plays = np.zeros(learners, dtype=np.int64)
        self._log = Log(learners)
        self._since: Log | None = None

    @property
    def nbytes(self) -> int:
        return self.plays.nbytes + self._log.nbytes + (self._since.nbytes if self._since else 0)

    def record(self, learners: Array, policy: Rows) -> None:
        """These learners each played this policy."""
        self._log.append(learners, policy.detached())
        self.plays[learners] += 1

    def record_changed(self, learners: Array, changed: Array, policy: Rows | None) -> Rows:
        """These learners each played; where `changed`, a new policy (one row a change). Returns what they played."""
        if self._since is None:
            self._since = Log(len(self.plays))
        if policy is not None:
            rows = learners[changed]
            self._log.append(rows, policy.detached())
            self._since.append(rows, _Since(since=self.plays[rows]))
        self.plays[learners] += 1
        latest: Rows = self._log.get(learners, self._log.length[learners] - 1)
        return latest

    def draw(self, learners: Array, rng: Generator) -> Any:
        """For each learner a policy drawn uniformly from its plays so far: q = floor(u s), u uniform on [0, 1)."""
        index = (rng.random(len(learners)) * self.plays.take(learners)).astype(np.int64)
        return self.get(learners, index)

    def get(self, learners: Array, play: Array) -> Any:
        """The policy that served this play (from 0) of each learner."""
        if self._since is not None:
            play = self._entry_serving(learners, play)
        return self._log.get(learners, play)

    def forget(self, learners: Array) -> None:
        """These learners start again, with no past."""
        self.plays[learners] = 0
        self._log.forget(learners)
        if self._since is not None:
            self._since.forget(learners)

    def _entry_serving(self, learners: Array, play: Array) -> Array:
        """The last entry that began at or before the play, by bisection in all rows at once."""
        assert self._since is not None
        low = np.zeros(len(learners), dtype=np.int64)
        high = self._since.length.take(learners)
        while (high - low > 1).any():
            middle = (low + high) // 2
            before = self._since.column("since", learners, middle) <= play
            low = np.where(before, middle, low)
            high = np.where(before, high, middle)
        return low


class _Since(Rows):
    since: Array
