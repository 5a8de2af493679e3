"""The replay store: every policy a learner has played, so that smoothing can draw one uniformly from the past.

A policy is held once, in a `Log`. A base that changes its policy rarely leaves entries only where it changed, and for
every play the number of the entry that served it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from corral_core.log import Log
from corral_core.rows import Array, Rows


class Replay:
    """Policies played, by learner and play number."""

    def __init__(self, learners: int) -> None:
        self.plays = np.zeros(learners, dtype=np.int64)
        self._log = Log(learners)
        self._serving: Log | None = None  # where policies rarely change: which entry served each play

    @property
    def nbytes(self) -> int:
        return self.plays.nbytes + self._log.nbytes + (self._serving.nbytes if self._serving else 0)

    def record(self, learners: Array, policy: Rows) -> None:
        """These learners each played this policy."""
        self._log.append(learners, policy.detached())
        self.plays[learners] += 1

    def record_changed(self, learners: Array, changed: Array, policy: Rows | None) -> Rows:
        """These learners each played; where `changed`, a new policy (one row a change). Returns what they played."""
        if self._serving is None:
            self._serving = Log(len(self.plays))
        if policy is not None:
            self._log.append(learners[changed], policy.detached())
        latest = self._log.length.take(learners) - 1
        self._serving.append(learners, _Entry(latest.astype(np.int32)))
        self.plays[learners] += 1
        played: Rows = self._log.get(learners, latest)
        return played

    def draw(self, learners: Array, rng: Generator) -> Any:
        """For each learner a policy drawn uniformly from its plays so far: q = floor(u s), u uniform on [0, 1)."""
        index = (rng.random(len(learners)) * self.plays.take(learners)).astype(np.int64)
        return self.get(learners, index)

    def get(self, learners: Array, play: Array) -> Any:
        """The policy that served this play (from 0) of each learner."""
        if self._serving is not None:
            play = self._serving.column("entry", learners, play)
        return self._log.get(learners, play)

    def forget(self, learners: Array) -> None:
        """These learners start again, with no past."""
        self.plays[learners] = 0
        self._log.forget(learners)
        if self._serving is not None:
            self._serving.forget(learners)


class _Entry(Rows):
    entry: Array
