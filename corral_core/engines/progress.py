"""The progress of a run: what engines report, and the class that receives it."""

from __future__ import annotations

from typing import NamedTuple, Self

from corral_core.engines.chunks import Task


class Progress(NamedTuple):
    """The state of a chunk: means over its replicates after this many plays."""

    task: Task
    plays: int
    regret: float | None  # None if the environment does not report regret
    reward: float
    chosen: tuple[float, ...]  # the probabilities of the bases, or their shares of plays since the last checkpoint
    draws: bool = True  # whether they are probabilities


class Watch:
    """Receives everything that happens in a run; this one shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The run has ended, successfully or not."""

    def played(self, progress: Progress) -> None:
        """A chunk has advanced."""

    def finished(self, task: Task) -> None:
        """A chunk is finished, now or before the run was resumed."""

    def lost(self, task: Task) -> None:
        """A chunk is given up; `trouble` receives the reason."""

    def trouble(self, sentence: str) -> None:
        """Something went wrong, but the run continues. A stall in this process is reported from another thread."""
