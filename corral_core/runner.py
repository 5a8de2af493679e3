"""From points to results: the engine, whoever watches, and the folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from corral_core.chunks import Task, tasks
from corral_core.engines import Done, Engine, Lost
from corral_core.errors import CorralError
from corral_core.experiment import Experiment
from corral_core.registry import get_registry
from corral_core.results import Result, gather
from corral_core.settings import settings
from corral_core.store import folder
from corral_core.watch import Watch


def play(
    points: Sequence[Experiment],
    *,
    engine: str = "processes",
    workers: int | None = None,
    out: Path | None = None,
    watch: Watch | None = None,
    mixed_versions: bool = False,
) -> list[Result]:
    """Run what is not in the folder yet, and gather all of it."""
    points = list(points)
    everything = tasks(points)
    watch = watch or Watch()
    if out is None:
        with watch:
            return gather(settings(points), _played(_engine(engine, workers, everything), points, everything, watch))
    with folder(out, points, mixed_versions) as kept:
        there = set(kept.run.finished())
        missing = [task for task in everything if task not in there]
        with watch:
            for task in there:
                watch.finished(task)
            for done in _played(_engine(engine, workers, missing), points, missing, watch):
                kept.keep(done)
        kept.complete()
        return kept.run.results()


def _engine(name: str, workers: int | None, wanted: Sequence[Task]) -> Engine:
    workers = workers or os.cpu_count() or 1
    if name == "processes" and (workers == 1 or len(wanted) <= 1):
        name = "serial"
    engine: Engine = get_registry().load("engine", name)(workers)
    return engine


def _played(engine: Engine, points: Sequence[Experiment], wanted: Sequence[Task], watch: Watch) -> Iterator[Done]:
    """Every task once, as it is done. Those that are lost are told of when the rest is done."""
    if not wanted:
        return
    waited, lost = set(wanted), []
    with closing(engine.run(points, wanted, watch)) as running:
        for outcome in running:
            if not isinstance(outcome, (Done, Lost)) or outcome.task not in waited:
                raise CorralError(f"the engine {type(engine).__name__} must yield every task once, as Done or Lost")
            waited.discard(outcome.task)
            if isinstance(outcome, Lost):
                lost.append(outcome)
                watch.lost(outcome.task)
                watch.trouble(f"{outcome.task.words} is given up: {outcome.reason}")
            else:
                yield outcome
                watch.finished(outcome.task)
    if waited:
        raise CorralError(f"the engine {type(engine).__name__} left out {len(waited)} of {len(wanted)} chunks")
    if lost:
        raise CorralError(
            f"{len(lost)} of {len(wanted)} chunks could not be played: {lost[0].task.words}: {lost[0].reason}; "
            f"set chunk to less in the experiment file if memory is short"
        )
