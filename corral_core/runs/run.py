"""A run, read from its folder.

    experiment.json   every point as resolved, and its description
    versions.json     versions of Python, numpy, the core, the plugins that are played and the libraries behind them,
                      and digests of the code of the core and these plugins
    chunks/*.npz      one file per chunk: plain arrays
    journal.jsonl     one line per chunk that was kept: its SHA-256 and the seconds it took; digests of the first
                      two files; and which kernels played
    SHA256SUMS        written when nothing is missing: for `sha256sum -c`

A chunk counts if it is in the journal and its bytes are those that were written; otherwise it is played again. All
files except the journal are the same, bit for bit, however often a run was interrupted.

Anybody may have written the folder: everything in it is checked, in bounded time and memory, before it is used.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from corral_core.engines.chunks import Task, check_chunks, tasks
from corral_core.engines.engine import Done
from corral_core.errors import CorralError, shortened, shortened_path
from corral_core.experiments.source import is_registered
from corral_core.runs import checksums, files
from corral_core.runs.checksums import digest
from corral_core.runs.chunk_files import file_name, unpacked
from corral_core.runs.description import PointDescription, read_point
from corral_core.runs.journal import (
    LONGEST_VERSION,
    entries,
    recorded_chunks,
    recorded_digest,
    recorded_kernels,
    recorded_versions,
)
from corral_core.runs.reading import from_json, read_bytes
from corral_core.runs.results import Result, gather
from corral_core.simulation.record import Record

FORMAT = 2
EXPERIMENT = "experiment.json"
VERSIONS = "versions.json"


@attrs.frozen(slots=False)
class Run:
    """A run as its folder was when it was opened. Missing chunks are left out.

    >>> from pathlib import Path
    >>> from corral_core import Run
    >>> Run.open(Path("nowhere"))
    Traceback (most recent call last):
    ...
    corral_core.errors.CorralError: nowhere does not exist; corral run EXPERIMENT --out nowhere would create it
    """

    path: Path
    points: tuple[PointDescription, ...]
    all_versions: tuple[dict[str, str], ...]  # those that began the run (with all its kernels), then others
    journal: dict[str, dict[str, Any]] = attrs.field(repr=False)  # entries of chunks, by file name
    digests: dict[str, str | None] = attrs.field(repr=False)  # of the other files; None if the journal does not say

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Run:
        """Read the run in this folder."""
        path = Path(path)
        with files.usable(path):
            journal = entries(path)
            written = read_bytes(path / EXPERIMENT)
            if written is None and not recorded_chunks(journal):
                there = "contains no run" if path.exists() else "does not exist"
                named = shortened_path(path)
                raise CorralError(f"{named} {there}; corral run EXPERIMENT --out {named} would create it")
            if written is None or recorded_digest(journal, "experiment") not in (None, digest(written)):
                raise damaged(path)
            points = described(path, written)
            later = tuple(recorded_versions(entry["versions"]) for entry in journal if "versions" in entry)
            begun = begun_with(path, journal)
            if begun and (kernels := dict.fromkeys(recorded_kernels(journal))):
                begun = {"kernels": shortened(", ".join(kernels), LONGEST_VERSION), **begun}
            digests = {EXPERIMENT: digest(written), VERSIONS: recorded_digest(journal, "begun")}
            return cls(path, points, (begun, *filter(None, later)), recorded_chunks(journal), digests)

    @property
    def versions(self) -> dict[str, str]:
        """The versions that began the run."""
        return self.all_versions[0]

    @property
    def command(self) -> str:
        """The command that resumes the run. A folder with the name of an experiment gets `./` in front."""
        name = str(self.path)
        return f"corral run {shlex.quote(f'./{name}' if is_registered(name) else name)}"

    @cached_property
    def tasks(self) -> list[Task]:
        """All chunks of the run."""
        return tasks(self.points)

    def finished(self) -> list[Task]:
        """The chunks that exist with the bytes that were written."""
        return [task for task in self.tasks if task in self._sound]

    def damaged(self) -> list[Task]:
        """The chunks that exist, but with other bytes than were written."""
        unsound = [task for task in self.tasks if task not in self._sound]
        return [task for task in unsound if self._known(task) and self._file(task).is_file()]

    def done(self, wanted: Sequence[Task] | None = None) -> Iterator[Done]:
        """These chunks (default: all) in order, without missing and damaged ones."""
        for task in self.tasks if wanted is None else wanted:
            if (written := self._bytes(task)) is not None:
                yield Done(task, self._record(task, written), float(self.journal[file_name(task)]["seconds"]))

    def records(self, result: Result) -> Iterator[Record]:
        """The replicates of one curve, one chunk at a time."""
        if result.point not in self.points:
            raise CorralError(f"the curve {result.curve.name} does not belong to the run in {self.path}")
        place = self.points.index(result.point), result.curve.name
        mine = [task for task in self.tasks if (task.point, task.curve) == place]
        return (done.record for done in self.done(mine))

    def results(self) -> list[Result]:
        """One result per curve that has at least one chunk."""
        return gather(self.points, self.done())

    @property
    def checksum(self) -> str | None:
        """The checksum of a complete run, the same on every machine of this kind; None while chunks are missing.

        It follows from the journal and the chunks; the file SHA256SUMS is not trusted.
        """
        return digest(self.sums().encode()) if len(self._sound) == len(self.tasks) else None

    def sums(self) -> str:
        """The content of SHA256SUMS; the run must be complete."""
        others = [(name, found) for name, found in self.digests.items() if found is not None]
        chunks = [(f"chunks/{name}", self.journal[name]["sha256"]) for name in map(file_name, self.tasks)]
        return checksums.listed([*others, *chunks])

    @cached_property
    def _sound(self) -> frozenset[Task]:
        return frozenset(task for task in self.tasks if self._bytes(task) is not None)

    def _bytes(self, task: Task) -> bytes | None:
        known, path = self._known(task), self._file(task)
        with files.usable(self.path):
            written = read_bytes(path) if known else None
        return written if known and written is not None and digest(written) == known["sha256"] else None

    def _record(self, task: Task, written: bytes) -> Record:
        try:
            return unpacked(written, task, self.points[task.point])
        except ValueError as wrong:
            raise CorralError(
                f"{self._file(task)} is not a chunk of this run: {wrong}; delete it to have it played again"
            ) from None

    def _known(self, task: Task) -> dict[str, Any] | None:
        return self.journal.get(file_name(task))

    def _file(self, task: Task) -> Path:
        return self.path / "chunks" / file_name(task)


def described(path: Path, written: bytes) -> tuple[PointDescription, ...]:
    """The points in experiment.json, checked."""
    try:
        found = from_json(written)
    except ValueError:
        raise damaged(path) from None
    if not isinstance(found, dict) or not isinstance(found.get("points"), list) or not found["points"]:
        raise damaged(path)
    if found.get("format") != FORMAT:
        raise CorralError(f"{path} was written by another version of Corral; choose another folder")
    points = tuple(read_point(point, f"{path}: points[{number}]") for number, point in enumerate(found["points"]))
    check_chunks(points)
    return points


def damaged(path: Path) -> CorralError:
    """The error for a damaged experiment.json, or a missing one."""
    how = "damaged" if (path / EXPERIMENT).exists() else "missing"
    return CorralError(f"{path / EXPERIMENT} is {how}; run the same experiment with --out {path} again to repair it")


def begun_with(path: Path, journal: list[dict[str, Any]]) -> dict[str, str]:
    """The versions that began a run; empty if they are unknown."""
    written = read_bytes(path / VERSIONS)
    if written is None or recorded_digest(journal, "begun") not in (None, digest(written)):
        return {}
    try:
        return recorded_versions(from_json(written))
    except ValueError:
        return {}
