"""Checks of experiments."""

from __future__ import annotations

from typing import ClassVar

import attrs

from corral_core.checks.rules import Checks, broken
from corral_core.engines.chunks import run_chunk
from corral_core.experiments.experiment import load_experiment
from corral_core.experiments.point import parse_point

EXPERIMENTS = Checks()
demand = EXPERIMENTS.demand


@attrs.frozen
class ExperimentCase:
    """A registered experiment, or a file."""

    label: str
    place: ClassVar[str] = ""


@demand(first=True)
def loads(case: ExperimentCase) -> None:
    """The file is valid, and every base and meta in it fits the environment."""
    load_experiment(case.label)


@demand()
def asks_a_question(case: ExperimentCase) -> None:
    """`question` says in one sentence what the experiment should find out."""
    if not load_experiment(case.label).question:
        broken("it has no question")


@demand()
def plays(case: ExperimentCase) -> None:
    """Cut to twenty plays of one replicate, every curve runs."""
    for point in load_experiment(case.label).points:
        short = parse_point({**point.source, "horizon": min(point.horizon, 20), "replicates": 1, "chunk_size": 1})
        for curve in short.curves:
            run_chunk(short, curve.name, 0)
