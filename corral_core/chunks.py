"""A chunk of replicates: a pure function of experiment, curve and chunk number.

Instances and plays draw from (seed, chunk) alone and choices from (seed, chunk, curve), so that curves meet the same
problems and the same luck, and nothing depends on where or in which order chunks run.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import attrs
from numpy.random import Generator, SeedSequence, default_rng

from corral_core.errors import CorralError
from corral_core.experiment import Experiment
from corral_core.simulation import Record, simulate


@attrs.frozen
class Task:
    """Which chunk of which curve of which point."""

    point: int
    curve: str
    chunk: int
    rows: int
    plays: int

    @property
    def work(self) -> int:
        """Plays of all its replicates."""
        return self.rows * self.plays


def tasks(points: list[Experiment]) -> list[Task]:
    """Everything there is to run."""
    return [
        Task(number, curve.name, chunk, experiment.rows(chunk), experiment.horizon)
        for number, experiment in enumerate(points)
        for curve in experiment.curves
        for chunk in range(experiment.chunks)
    ]


def run_chunk(experiment: Experiment, curve: str, chunk: int, progress: Callable[[int], None] | None = None) -> Record:
    """One chunk of one curve. `progress` hears how many plays are done."""

    def stream(*key: int) -> Generator:
        return default_rng(SeedSequence(experiment.seed, spawn_key=(chunk, *key)))

    try:
        return simulate(
            experiment.environment,
            experiment.problem,
            experiment.curve(curve),
            rows=experiment.rows(chunk),
            horizon=experiment.horizon,
            instances=stream(0),
            plays=stream(1),
            choices=stream(2, zlib.crc32(curve.encode())),
            progress=progress,
        )
    except CorralError as refused:
        raise CorralError(f"experiment {experiment.name}, curve {curve}: {refused}") from None
    except MemoryError:
        raise CorralError(
            f"experiment {experiment.name}, curve {curve}: a chunk of {experiment.rows(chunk)} replicates does not fit "
            f"in memory; set chunk to less in the experiment file"
        ) from None
    except Exception as bug:
        bug.add_note(f"in experiment {experiment.name}, curve {curve}, chunk {chunk}")
        raise
