"""A chunk of replicates: a pure function of point, curve and chunk number.

Instances and plays draw from (seed, chunk number) only, choices from (seed, chunk number, curve). So all curves get the
same problems and the same randomness of plays, and results do not depend on where or in which order chunks run.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Protocol

import attrs
from numpy.random import Generator, SeedSequence, default_rng

from corral_core.errors import CorralError, Terminated, shortened
from corral_core.experiments.checking import Recorded
from corral_core.experiments.point import Point
from corral_core.simulation.record import Listener, Record
from corral_core.simulation.simulate import simulate

MOST_CHUNKS = 1_000_000  # of a run


@attrs.frozen
class Task:
    """One chunk of one curve of one point."""

    point: int  # number of the point
    curve: str
    chunk_number: int
    rows: int  # replicates of the chunk
    plays: int  # per replicate

    @property
    def work(self) -> int:
        """Plays of all its replicates together."""
        return self.rows * self.plays

    @property
    def place(self) -> tuple[int, str]:
        """The curve that it is a part of."""
        return self.point, self.curve

    @property
    def words(self) -> str:
        """The task in words, for messages."""
        point = f", point {self.point + 1}" if self.point else ""
        return f"curve {shortened(self.curve)}, chunk {self.chunk_number + 1}{point}"


class Cut(Recorded, Protocol):
    """What is cut into chunks: a point, or its description in a run's folder."""

    @property
    def names(self) -> list[str]: ...


def check_chunks(points: Sequence[Cut]) -> None:
    """Refuse more chunks than fit in memory and in a folder."""
    if (count := sum(len(point.names) * chunk_count(point) for point in points)) > MOST_CHUNKS:
        raise CorralError(
            f"{count:,} chunks are too many, at most {MOST_CHUNKS:,} are possible; set a larger chunk_size"
        )


def tasks(points: Sequence[Cut]) -> list[Task]:
    """Every chunk of every curve of every point."""
    check_chunks(points)
    return [
        Task(number, curve, chunk_number, rows_of(point, chunk_number), point.horizon)
        for number, point in enumerate(points)
        for curve in point.names
        for chunk_number in range(chunk_count(point))
    ]


def chunk_count(point: Cut) -> int:
    """Number of chunks of a point."""
    return -(-point.replicates // point.chunk_size)


def rows_of(point: Cut, chunk_number: int) -> int:
    """Number of replicates of a chunk; the last one may have fewer."""
    return min(point.chunk_size, point.replicates - chunk_number * point.chunk_size)


def where(point: Point, curve: str) -> str:
    """A curve in words, for messages."""
    return f"experiment {shortened(point.name)}, curve {shortened(curve)}"


def note(point: Point, curve: str, chunk_number: int) -> str:
    """What an exception of a plugin says below its traceback."""
    return f"in {where(point, curve)}, chunk {chunk_number + 1}"


def run_chunk(point: Point, curve: str, chunk_number: int, progress: Listener | None = None) -> Record:
    """Play one chunk of one curve. `progress` is called at every checkpoint."""

    def stream(*key: int) -> Generator:
        return default_rng(SeedSequence(point.seed, spawn_key=(chunk_number, *key)))

    rows, here = rows_of(point, chunk_number), where(point, curve)
    try:
        return simulate(
            point.environment,
            point.problem,
            point.curve(curve),
            rows=rows,
            horizon=point.horizon,
            instances=stream(0),
            plays=stream(1),
            choices=stream(2, zlib.crc32(curve.encode())),
            progress=progress,
        )
    except CorralError as refused:
        raise CorralError(f"{here}: {refused}") from None
    except MemoryError:
        raise CorralError(
            f"{here}: a chunk of {rows} replicates does not fit in memory; set a smaller chunk_size in the experiment "
            f"file"
        ) from None
    except Terminated:
        raise
    except SystemExit as left:  # it must not end the command as if all were well
        bug = RuntimeError(f"it called sys.exit({'' if left.code is None else left.code})")
        bug.add_note(note(point, curve, chunk_number))
        raise bug.with_traceback(left.__traceback__) from left
    except Exception as bug:
        bug.add_note(note(point, curve, chunk_number))
        raise
