"""A chunk of replicates: a pure function of experiment, curve and chunk number.

Instances and plays draw from (seed, chunk) alone and choices from (seed, chunk, curve), so that curves meet the same
problems and the same luck, and nothing depends on where or in which order chunks run.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Protocol

import attrs
from numpy.random import Generator, SeedSequence, default_rng

from corral_core.errors import CorralError
from corral_core.experiments.experiment import Experiment
from corral_core.simulation.record import Listener, Record
from corral_core.simulation.simulate import simulate


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

    @property
    def words(self) -> str:
        """For messages."""
        return f"curve {self.curve}, chunk {self.chunk + 1}" + (f", point {self.point + 1}" if self.point else "")


class Cut(Protocol):
    """What is cut into tasks: an experiment, or what a run's folder says of it."""

    @property
    def names(self) -> list[str]: ...
    @property
    def chunks(self) -> int: ...
    @property
    def horizon(self) -> int: ...
    def rows(self, chunk: int) -> int: ...


def tasks(points: Sequence[Cut]) -> list[Task]:
    """Everything there is to run."""
    return [
        Task(number, curve, chunk, point.rows(chunk), point.horizon)
        for number, point in enumerate(points)
        for curve in point.names
        for chunk in range(point.chunks)
    ]


def run_chunk(experiment: Experiment, curve: str, chunk: int, progress: Listener | None = None) -> Record:
    """One chunk of one curve. `progress` hears of every point that is reached."""

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
        bug.add_note(f"in experiment {experiment.name}, curve {curve}, chunk {chunk + 1}")
        raise
