"""From points to results: the engine, the progress bar and the folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from corral_core.chunks import Task, tasks
from corral_core.engines import Engine, Report
from corral_core.experiment import Experiment
from corral_core.registry import get_registry
from corral_core.results import Result, gather
from corral_core.store import Folder


def play(
    points: Sequence[Experiment],
    *,
    engine: str = "processes",
    workers: int | None = None,
    out: Path | None = None,
    show: bool = False,
) -> list[Result]:
    """Run what is not in the folder yet, and gather all of it."""
    points = list(points)
    everything = tasks(points)
    chosen = _engine(engine, workers, len(everything))
    folder = Folder.open(out, points) if out is not None else None
    done = folder.finished(everything) if folder else []
    there = {each.task for each in done}
    missing = [task for task in everything if task not in there]
    with _progress(missing, show) as report, closing(chosen.run(points, missing, report)) as running:
        for each in running if missing else ():
            if folder:
                folder.keep(each)
            done.append(each)
    return gather(points, done)


def _engine(name: str, workers: int | None, count: int) -> Engine:
    workers = workers or os.cpu_count() or 1
    if name == "processes" and (workers == 1 or count <= 1):
        name = "serial"
    engine: Engine = get_registry().load("engine", name)(workers)
    return engine


@contextmanager
def _progress(missing: Sequence[Task], show: bool) -> Iterator[Report]:
    """A bar with the time left, where somebody is looking."""
    if not show or not sys.stderr.isatty():
        yield lambda work: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("playing", total=sum(task.work for task in missing))
        yield lambda work: progress.advance(bar, work)
