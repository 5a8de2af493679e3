"""Watching a run: what engines tell while they work, and who listens."""

from __future__ import annotations

from typing import NamedTuple, Self

from corral_core.engines.chunks import Task


class Progress(NamedTuple):
    """Where a chunk stands: means over its replicates after so many plays."""

    task: Task
    plays: int
    regret: float | None  # None where nobody knows it
    reward: float
    probabilities: tuple[float, ...]  # of the bases


class Watch:
    """Hears of everything that happens in a run; this one keeps it to itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The run has ended, one way or the other."""

    def played(self, progress: Progress) -> None:
        """A chunk got on."""

    def finished(self, task: Task) -> None:
        """A chunk is done, now or before this run."""

    def lost(self, task: Task) -> None:
        """A chunk is given up; trouble says why."""

    def trouble(self, sentence: str) -> None:
        """Something went wrong that the run survives."""
