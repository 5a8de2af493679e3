"""The replay store: every policy a learner has played, so that smoothing can draw one uniformly from the past.

Each policy is stored once, in a `Log`. If a base rarely changes its policy, only the changes are stored, and for every
play the number of the entry that was played.
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
        self._log = Log(learners)
        self._serving: Log | None = None  # if policies rarely change: which entry each play used
        self.plays = self._log.length  # of the log that has an entry per play

    @property
    def nbytes(self) -> int:
        return self._log.nbytes + (self._serving.nbytes if self._serving else 0)

    def record(self, learners: Array, policy: Rows) -> None:
        """Record that these learners each played this policy."""
        self._log.append(learners, policy if self._log.is_plain else policy.detached())

    def record_changed(self, learners: Array, changed: Array, policy: Rows | None) -> Rows:
        """Record a play of these learners, with a new policy (one row each) if `changed`; return what they played."""
        if self._serving is None:
            self._serving = Log(len(self.plays))
            self._serving.length = self.plays
            self._log.length = np.zeros_like(self.plays)
        if policy is not None:
            self._log.append(learners[changed], policy.detached())
        latest = self._log.length.take(learners) - 1
        self._serving.append(learners, _Entry(latest.astype(np.int32)))
        played: Rows = self._log.get(learners, latest)
        return played

    def draw(self, learners: Array, rng: Generator) -> Any:
        """One policy per learner, drawn uniformly from its plays so far: q = floor(u s), u uniform on [0, 1)."""
        uniform = rng.random(len(learners))
        if self._serving is None:
            return self._log.draw(learners, uniform)
        return self._log.get(learners, self._serving.draw(learners, uniform).entry)

    def get(self, learners: Array, play: Array) -> Any:
        """The policy of this play (from 0) of each learner; tests look at the past with it."""
        if self._serving is not None:
            play = self._serving.column("entry", learners, play)
        return self._log.get(learners, play)

    def forget(self, learners: Array) -> None:
        """Delete the past of these learners."""
        self._log.forget(learners)
        if self._serving is not None:
            self._serving.forget(learners)

    def saved(self) -> dict[str, Any]:
        """Everything that must be saved, by name."""
        return {"plays": self.plays, "log": self._log, "serving": self._serving}

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue with what another store `saved`; a ValueError if it contradicts itself."""
        plays, log, serving = saved["plays"], saved["log"], saved["serving"]
        if not np.array_equal(plays, (log if serving is None else serving).length):
            raise ValueError("a learner has other plays than policies")
        self.plays, self._log, self._serving = plays, log, serving
        (log if serving is None else serving).length = plays


class _Entry(Rows):
    entry: Array
