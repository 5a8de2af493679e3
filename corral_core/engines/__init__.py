"""Where chunks run. An engine takes tasks and yields what they gave, in whatever order they finish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from corral_core.chunks import Task
from corral_core.experiment import Experiment
from corral_core.simulation import Record

Report = Callable[[int], None]
"""Hears how much work (plays of all replicates) has been done since it was last called."""


class Done(NamedTuple):
    """A finished task."""

    task: Task
    record: Record
    seconds: float


class Engine(ABC):
    """Runs tasks with some number of workers."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    @abstractmethod
    def run(self, points: Sequence[Experiment], tasks: Sequence[Task], report: Report) -> Iterator[Done]:
        """Every task once."""
