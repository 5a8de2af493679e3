"""Where chunks run. An engine takes tasks and yields their outcomes in the order in which they finish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from time import perf_counter
from typing import NamedTuple

from corral_core.engines.chunks import Task, run_chunk
from corral_core.engines.progress import Progress, Watch
from corral_core.experiments.point import Point
from corral_core.simulation.record import Record


class Done(NamedTuple):
    """A finished task."""

    task: Task
    record: Record
    seconds: float


class Lost(NamedTuple):
    """A task that was given up, and why. The other tasks continue."""

    task: Task
    reason: str


def run_task(point: Point, task: Task, played: Callable[[Progress], None] = lambda _: None) -> Done:
    """Run one task in this thread. `played` is called at each of its about two hundred checkpoints."""
    begun = perf_counter()

    def progress(checkpoint: int, plays: int, record: Record) -> None:
        regret = None if record.regret is None else float(record.regret[:, checkpoint].mean())
        probabilities = tuple(record.probabilities[:, checkpoint].mean(axis=0).tolist())
        played(Progress(task, plays, regret, float(record.reward[:, checkpoint].mean()), probabilities))

    record = run_chunk(point, task.curve, task.chunk_number, progress)
    return Done(task, record, perf_counter() - begun)


class Engine(ABC):
    """Runs tasks with some number of workers."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    @abstractmethod
    def run(self, points: Sequence[Point], tasks: Sequence[Task], watch: Watch) -> Generator[Done | Lost, None, None]:
        """Run every task once and yield its outcome. Closing the generator stops the workers."""
