"""Where chunks run. An engine takes tasks and yields their outcomes in the order in which they finish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from functools import partial
from time import perf_counter
from typing import ClassVar, NamedTuple

from corral_core.engines.chunks import Task, note, run_chunk, where
from corral_core.engines.failure import Failure, failure_of, has_called
from corral_core.engines.progress import Progress, Watch
from corral_core.errors import reason
from corral_core.experiments.point import Point
from corral_core.simulation.record import Record, latest_choices


class Done(NamedTuple):
    """A finished task."""

    task: Task
    record: Record
    seconds: float


class Lost(NamedTuple):
    """A task that was given up, and why. The other tasks continue."""

    task: Task
    reason: str
    failure: Failure | None = None  # if a plugin raised an exception


def run_task(point: Point, task: Task, played: Callable[[Progress], None] = lambda _: None) -> Done | Lost:
    """Run one task in this thread. `played` is called at each of its about two hundred checkpoints.

    If a plugin raises an exception, or returns what is refused, the task is lost.
    """
    try:
        return play_task(point, task, played)
    except Exception as error:
        if has_called(error, _report.__code__):  # the listener has raised, not a plugin
            raise
        return lost_by(error, point, task)


def play_task(point: Point, task: Task, played: Callable[[Progress], None] = lambda _: None) -> Done:
    """Like `run_task`, but raises what a plugin raises."""
    begun = perf_counter()
    record = run_chunk(point, task.curve, task.chunk_number, partial(_report, task, played))
    return Done(task, record, perf_counter() - begun)


def lost_by(error: Exception, point: Point, task: Task) -> Lost:
    """The task that an exception has ended."""
    sentence = str(error).removeprefix(f"{where(point, task.curve)}: ")
    failure = failure_of(error, note(point, task.curve, task.chunk_number))
    return Lost(task, sentence if failure.refused else reason(error), failure)


def _report(task: Task, played: Callable[[Progress], None], checkpoint: int, plays: int, record: Record) -> None:
    regret = None if record.regret is None else float(record.regret[:, checkpoint].mean())
    reward, chosen = float(record.reward[:, checkpoint].mean()), latest_choices(record, checkpoint)
    played(Progress(task, plays, regret, reward, tuple(chosen.mean(axis=0).tolist()), record.probabilities is not None))


class GivenUp:
    """Curves of which a chunk has failed or hung. Their other chunks would most likely do the same: none is started."""

    def __init__(self) -> None:
        self._first: dict[tuple[int, str], int] = {}

    def add(self, task: Task) -> None:
        """Give up the curve of this task."""
        self._first.setdefault(task.place, task.chunk_number)

    def note(self, outcome: object) -> None:
        """Give up the curve of an outcome if a plugin has failed."""
        if isinstance(outcome, Lost) and outcome.failure is not None:
            self.add(outcome.task)

    def left_out(self, task: Task) -> Lost | None:
        """The outcome of a task that is not worth starting."""
        number = self._first.get(task.place)
        return None if number is None else Lost(task, f"it was not started after chunk {number + 1}")


class Engine(ABC):
    """Runs tasks with some number of workers."""

    options: ClassVar[frozenset[str]] = frozenset()  # names of the keyword arguments that its constructor also takes

    def __init__(self, workers: int) -> None:
        self.workers = workers

    @abstractmethod
    def run(self, points: Sequence[Point], tasks: Sequence[Task], watch: Watch) -> Generator[Done | Lost, None, None]:
        """Run every task once and yield its outcome. Closing the generator stops the workers."""
