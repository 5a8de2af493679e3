"""From points to results: the engine, whoever watches, and the folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from corral_core.engines.chunks import Task, tasks
from corral_core.engines.engine import Done, Engine, Lost
from corral_core.engines.progress import Watch
from corral_core.engines.workers import cores
from corral_core.errors import CorralError
from corral_core.experiments.experiment import Experiment
from corral_core.registry.names import get_registry
from corral_core.runs.description import settings
from corral_core.runs.folder import chunks_in_words, folder
from corral_core.runs.results import Result, gather, in_order


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
        alone = workers == 1 or len(everything) == 1
        name = "serial" if engine == "processes" and alone else engine
        with watch:
            return gather(settings(points), in_order(_played(name, workers, points, everything, watch)))
    with folder(out, points) as kept:
        before = kept.run
        there = set(before.finished())
        if missing := [task for task in everything if task not in there]:
            kept.begin(mixed_versions)
        with watch:
            for task in there:
                watch.finished(task)
            if damaged := before.damaged():
                watch.trouble(f"{chunks_in_words(len(damaged))} damaged, and will be played again")
            try:
                for done in _played(engine, workers, points, missing, watch):
                    if not kept.keep(done):
                        watch.trouble(f"{done.task.words} has other bits than before: versions or the machine changed")
            except CorralError as stopped:
                raise CorralError(f"{stopped}; what is done is kept, and {before.command} goes on") from None
        kept.complete()
        return kept.run.results()


def _played(
    name: str, workers: int | None, points: Sequence[Experiment], wanted: Sequence[Task], watch: Watch
) -> Iterator[Done]:
    """Every task once, as it is done. Those that are lost are told of when the rest is done."""
    if not wanted:
        return
    engine: Engine = get_registry().load("engine", name)(workers or cores())
    waited, lost = set(wanted), []
    with closing(engine.run(points, wanted, watch)) as running:
        for outcome in running:
            if not isinstance(outcome, (Done, Lost)) or outcome.task not in waited:
                raise CorralError(f"the engine {name} must yield every task once, as Done or Lost")
            waited.discard(outcome.task)
            if isinstance(outcome, Lost):
                lost.append(outcome)
                watch.lost(outcome.task)
                watch.trouble(f"{outcome.task.words} is given up: {outcome.reason}")
            else:
                yield outcome
                watch.finished(outcome.task)
    if waited:
        left = next(task for task in wanted if task in waited)
        raise CorralError(f"the engine {name} left out {len(waited)} of {len(wanted)} chunks, {left.words} among them")
    if lost:
        raise CorralError(
            f"{len(lost)} of {len(wanted)} chunks could not be played: {lost[0].task.words}: {lost[0].reason}; if "
            f"memory is short, an experiment file with a smaller chunk needs less"
        )
