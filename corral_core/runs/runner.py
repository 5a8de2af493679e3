"""Run an experiment: the engine plays what is missing, the folder keeps it, and results are gathered."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from corral_core.engines.chunks import Task, tasks
from corral_core.engines.engine import Done, Engine, Lost
from corral_core.engines.machine import cores
from corral_core.engines.progress import Watch
from corral_core.errors import CorralError
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.point import Point
from corral_core.registry.names import get_registry
from corral_core.runs.description import describe
from corral_core.runs.failed import complete_curves
from corral_core.runs.folder import folder
from corral_core.runs.results import Result, gather, in_order
from corral_core.runs.run import Run
from corral_core.terminal import counted


def run_experiment(
    experiment: Experiment,
    *,
    engine: str = "processes",
    workers: int | None = None,
    out: str | os.PathLike[str] | None = None,
    watch: Watch | None = None,
    mixed_versions: bool = False,
    stall: float | None = None,
) -> list[Result]:
    """Play an experiment and return one result per curve; with `out`, keep the chunks and play only what is missing.

    If chunks are lost, for example because a plugin raised an exception, the other curves are still played; `RunFailed`
    then carries their results. With `stall`, a worker that makes no progress for so many seconds is killed.

    >>> from corral_core import load_experiment, run_experiment
    >>> results = run_experiment(load_experiment("quickstart", horizon=200, replicates=2), engine="serial")
    >>> results[0].curve.name
    'corral'
    """
    everything = tasks(experiment.points)
    described = describe(experiment)
    watch = watch or Watch()
    lost: list[Lost] = []
    if out is None:
        alone = stall is None and (workers == 1 or len(everything) == 1)
        hired = engine_of("serial" if engine == "processes" and alone else engine, workers, stall)
        with watch:
            results = gather(described, in_order(_played(hired, experiment.points, everything, watch, lost)))
        return complete_curves(results, described, lost, everything)
    hired = engine_of(engine, workers, stall)
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
                for done in _played(hired, experiment.points, missing, watch, lost):
                    if not kept.keep(done):
                        watch.trouble(f"{done.task.words} differs from before bit for bit: versions or machine changed")
            except CorralError as stopped:
                raise CorralError(f"{stopped}; finished chunks are kept, resume with: {before.command}") from None
        if lost:
            return complete_curves(Run.open(out).results(), described, lost, missing, before.command)
        return kept.complete().results()


def engine_of(name: str, workers: int | None, stall: float | None) -> tuple[str, Engine]:
    """An engine and its name; one that cannot do what is wanted of it is refused."""
    if stall is not None and not 0 < stall < math.inf:
        raise CorralError(f"stall must be a positive number of seconds, not {stall:g}")
    made: Any = get_registry().load("engine", name)
    if stall is None:
        return name, made(workers or cores())
    if "stall" not in getattr(made, "options", ()):
        raise CorralError(f"the engine {name} cannot end a chunk that hangs; --stall needs --engine processes")
    return name, made(workers or cores(), stall=stall)


def _played(
    hired: tuple[str, Engine], points: Sequence[Point], wanted: Sequence[Task], watch: Watch, lost: list[Lost]
) -> Iterator[Done]:
    """Yield every task when it is done, and collect those that are lost. Of a curve, only the first is reported."""
    if not wanted:
        return
    name, engine = hired
    waited, reported = set(wanted), set()
    with closing(engine.run(points, wanted, watch)) as running:
        for outcome in running:
            if not isinstance(outcome, (Done, Lost)) or outcome.task not in waited:
                raise CorralError(f"the engine {name} must yield every task once, as Done or Lost")
            waited.discard(outcome.task)
            if isinstance(outcome, Lost):
                lost.append(outcome)
                watch.lost(outcome.task)
                if outcome.task.place not in reported:
                    what = "failed" if outcome.failure else "is given up"
                    watch.trouble(f"{outcome.task.words} {what}: {outcome.reason}")
                    reported.add(outcome.task.place)
            else:
                yield outcome
                watch.finished(outcome.task)
    if waited:
        left = next(task for task in wanted if task in waited)
        raise CorralError(f"the engine {name} left out {len(waited)} of {len(wanted)} chunks, for example {left.words}")
