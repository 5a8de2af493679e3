"""Chunks that make no progress: a warning after ten minutes, so that a plugin that hangs is noticed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from corral_core.engines.chunks import Task
from corral_core.engines.progress import Watch

QUIET = 600.0  # seconds without progress after which a chunk is named in a warning


class Stalls:
    """When each running chunk was last heard of. Any thread may call it."""

    def __init__(self) -> None:
        self._heard: dict[Task, float] = {}
        self._told: set[Task] = set()
        self._changing = threading.Lock()

    def heard(self, task: Task) -> None:
        """The task has begun, or made progress."""
        with self._changing:
            self._heard[task] = monotonic()
            self._told.discard(task)

    def ended(self, task: Task) -> None:
        """The task is no longer expected to make progress."""
        with self._changing:
            self._heard.pop(task, None)

    def silent(self, seconds: float) -> list[Task]:
        """The tasks that have made no progress for so long."""
        with self._changing:
            return [task for task, heard in self._heard.items() if monotonic() - heard >= seconds]

    def warnings(self) -> list[str]:
        """A sentence for every task that has been silent for too long, once per stall."""
        new = [task for task in self.silent(QUIET) if task not in self._told]
        self._told.update(new)
        return [f"{task.words} has made no progress for {in_words(QUIET)}; perhaps a plugin hangs" for task in new]


def in_words(seconds: float) -> str:
    """A duration in words."""
    return f"{seconds / 60:g} minutes" if seconds >= 120 else f"{seconds:g} s"


def tick(*limits: float | None) -> float:
    """How often to look, in seconds: often enough for the shortest of these limits, at most once per second."""
    return min(1.0, *(limit / 4 for limit in limits if limit is not None), QUIET / 4)


@contextmanager
def watched(stalls: Stalls, watch: Watch) -> Iterator[None]:
    """Report stalls of this process from a thread, while the process itself may hang in a plugin."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(tick()):
            for sentence in stalls.warnings():
                watch.trouble(sentence)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
