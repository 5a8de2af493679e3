"""Run an experiment: the engine plays what is missing, the folder keeps it, and results are gathered."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from corral_core.engines.chunks import Task, tasks
from corral_core.engines.engine import Done, Engine, Lost
from corral_core.engines.machine import cores
from corral_core.engines.progress import Watch
from corral_core.errors import CorralError
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.point import Point
from corral_core.registry.names import get_registry
from corral_core.runs.description import describe
from corral_core.runs.folder import folder
from corral_core.runs.results import Result, gather, in_order
from corral_core.terminal import counted


def run_experiment(
    experiment: Experiment,
    *,
    engine: str = "processes",
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    watch: Watch | None = None,
    mixed_versions: bool = False,
) -> list[Result]:
    """Play an experiment and return one result per curve; with `out`, keep the chunks and play only what is missing.

    >>> from corral_core import load_experiment, run_experiment
    >>> results = run_experiment(load_experiment("quickstart", horizon=200, replicates=2), engine="serial")
    >>> results[0].curve.name
    'corral'
    """
    everything = tasks(experiment.points)
    described = describe(experiment)
    watch = watch or Watch()
    if out is None:
        alone = workers == 1 or len(everything) == 1
        name = "serial" if engine == "processes" and alone else engine
        with watch:
            return gather(described, in_order(_played(name, workers, experiment.points, everything, watch)))
    with folder(Path(out), experiment, described) as kept:
        before = kept.found
        there = set(before.finished())
        if missing := [task for task in everything if task not in there]:
            kept.begin(mixed_versions)
        with watch:
            for task in there:
                watch.finished(task)
            if damaged := before.damaged():
                watch.trouble(f"{counted(len(damaged), 'damaged chunk')} will be played again")
            try:
                for done in _played(engine, workers, experiment.points, missing, watch):
                    if not kept.keep(done):
                        watch.trouble(f"{done.task.words} differs from before bit for bit: versions or machine changed")
            except CorralError as stopped:
                raise CorralError(f"{stopped}; finished chunks are kept, resume with: {before.command}") from None
        return kept.complete().results()


def _played(
    name: str, workers: int | None, points: Sequence[Point], wanted: Sequence[Task], watch: Watch
) -> Iterator[Done]:
    """Yield every task when it is done. Lost tasks are reported after all others are done."""
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
        raise CorralError(f"the engine {name} left out {len(waited)} of {len(wanted)} chunks, for example {left.words}")
    if lost:
        raise CorralError(
            f"{len(lost)} of {len(wanted)} chunks could not be played: {lost[0].task.words}: {lost[0].reason}; if "
            f"memory is short, set a smaller chunk_size in the experiment file"
        )
