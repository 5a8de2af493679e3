"""Where chunks run. An engine takes tasks and yields what they gave, in whatever order they finish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from time import perf_counter
from typing import NamedTuple

from corral_core.chunks import Task, run_chunk
from corral_core.experiment import Experiment
from corral_core.simulation import Record

Report = Callable[[int], None]
"""Hears how much work (plays of all replicates) has been done since it was last called."""


class Done(NamedTuple):
    """A finished task."""

    task: Task
    record: Record
    seconds: float


def run_task(experiment: Experiment, task: Task, report: Report) -> Done:
    """One task, here and now."""
    begun, heard = perf_counter(), 0

    def progress(plays: int) -> None:
        nonlocal heard
        report((plays - heard) * task.rows)
        heard = plays

    record = run_chunk(experiment, task.curve, task.chunk, progress)
    return Done(task, record, perf_counter() - begun)


class Engine(ABC):
    """Runs tasks with some number of workers."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    @abstractmethod
    def run(self, points: Sequence[Experiment], tasks: Sequence[Task], report: Report) -> Generator[Done, None, None]:
        """Every task once. Closing the generator stops the workers."""
