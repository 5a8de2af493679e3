"""A run, read from its folder.

    experiment.json   every point as resolved, and its description
    versions.json     versions of Python, numpy, the core and the plugins
    chunks/*.npz      one file per chunk: plain arrays
    journal.jsonl     one line per chunk that was kept: its SHA-256 and the seconds it took
    SHA256SUMS        written when nothing is missing: for `sha256sum -c`

A chunk counts if it is in the journal and its bytes are those that were written; otherwise it is played again. All
files except the journal are the same, bit for bit, however often a run was interrupted.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from corral_core.engines.chunks import Task, tasks
from corral_core.engines.engine import Done
from corral_core.errors import CorralError
from corral_core.experiments.source import is_registered
from corral_core.runs import checksums, files
from corral_core.runs.checksums import digest
from corral_core.runs.chunk_files import file_name, unpacked
from corral_core.runs.description import PointDescription, from_json
from corral_core.runs.journal import entries
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
    all_versions: tuple[dict[str, str], ...]  # those that began the run, then others that resumed it
    journal: dict[str, dict[str, Any]] = attrs.field(repr=False)  # entries of chunks, by file name

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Run:
        """Read the run in this folder."""
        path = Path(path)
        with files.usable(path):
            if not (path / EXPERIMENT).is_file():
                there = "contains no run" if path.exists() else "does not exist"
                raise CorralError(f"{path} {there}; corral run EXPERIMENT --out {path} would create it")
            journal = entries(path)
            written = (path / EXPERIMENT).read_bytes()
            if recorded_experiment(journal) not in (None, digest(written)):
                raise damaged(path)
            found = tuple(map(from_json, described(path, written)["points"]))
            later = tuple(entry["versions"] for entry in journal if isinstance(entry.get("versions"), dict))
            return cls(path, found, (begun_with(path), *later), _chunks(journal))

    @property
    def versions(self) -> dict[str, str]:
        """The versions that began the run."""
        return self.all_versions[0]

    @property
    def command(self) -> str:
        """The command that resumes the run. A folder with the name of an experiment gets `./` in front."""
        name = str(self.path)
        return f"corral run {shlex.quote(f'./{name}' if is_registered(name) else name)}"

    @property
    def tasks(self) -> list[Task]:
        """All chunks of the run."""
        return tasks(self.points)

    def finished(self) -> list[Task]:
        """The chunks that exist with the bytes that were written."""
        return [task for task in self.tasks if task in self._sound]

    def damaged(self) -> list[Task]:
        """The chunks that exist, but with other bytes than were written."""
        unsound = [task for task in self.tasks if task not in self._sound]
        return [task for task in unsound if self._known(task) and self._file(task).exists()]

    def done(self, wanted: Sequence[Task] | None = None) -> Iterator[Done]:
        """These chunks (default: all) in order, without missing and damaged ones."""
        for task in self.tasks if wanted is None else wanted:
            if (written := self._bytes(task)) is not None:
                yield Done(task, unpacked(written), self.journal[file_name(task)]["seconds"])

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
        """The checksum of a complete run, the same on every machine of this kind; None while chunks are missing."""
        return checksums.checksum(self.path)

    def sums(self) -> str:
        """The content of SHA256SUMS; the run must be complete."""
        chunks = [(f"chunks/{name}", self.journal[name]["sha256"]) for name in map(file_name, self.tasks)]
        return checksums.listed([(EXPERIMENT, digest((self.path / EXPERIMENT).read_bytes())), *chunks])

    @cached_property
    def _sound(self) -> frozenset[Task]:
        return frozenset(task for task in self.tasks if self._bytes(task) is not None)

    def _bytes(self, task: Task) -> bytes | None:
        known, path = self._known(task), self._file(task)
        with files.usable(self.path):
            if known is None or not path.exists():
                return None
            written = path.read_bytes()
        return written if digest(written) == known["sha256"] else None

    def _known(self, task: Task) -> dict[str, Any] | None:
        return self.journal.get(file_name(task))

    def _file(self, task: Task) -> Path:
        return self.path / "chunks" / file_name(task)


def described(path: Path, written: bytes) -> dict[str, Any]:
    """The content of experiment.json, checked."""
    try:
        found = json.loads(written)
        if found.get("format") == FORMAT:
            for point in found["points"]:
                from_json(point)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise damaged(path) from None
    if found.get("format") != FORMAT:
        raise CorralError(f"{path} was written by another version of Corral; choose another folder")
    return dict(found)


def damaged(path: Path) -> CorralError:
    """The error for a damaged experiment.json."""
    return CorralError(f"{path / EXPERIMENT} is damaged; run the same experiment with --out {path} again to repair it")


def begun_with(path: Path) -> dict[str, str]:
    """The versions that began a run; empty if they are unknown."""
    try:
        found = json.loads((path / VERSIONS).read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else {}


def recorded_experiment(journal: list[dict[str, Any]]) -> str | None:
    """The digest of experiment.json in the journal."""
    found = [entry["experiment"] for entry in journal if isinstance(entry.get("experiment"), str)]
    return found[-1] if found else None


def _chunks(journal: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The last entry of every chunk."""
    found = {}
    for entry in journal:
        match entry:
            case {"chunk": str(name), "sha256": str(), "seconds": float() | int()}:
                found[name] = entry
    return found
