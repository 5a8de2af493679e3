"""A run's folder: what was played, with which versions, and one file a chunk, each written whole or not at all.

    experiment.json   every point as resolved, and what `Setting` says of it
    versions.json     of Python, numpy, the core and the plugins
    chunks/*.npz      one file a chunk: plain arrays
    journal.jsonl     a line for every chunk when it was kept: its SHA-256 and the seconds it took
    SHA256SUMS        when nothing is missing any more: for `sha256sum -c`

A chunk counts if the journal knows it and its bytes are those that were written; otherwise it is played again. All but
the journal is the same, bit by bit, however often a run was interrupted.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import attrs
import numpy as np

from corral_core import files
from corral_core.chunks import Task, tasks
from corral_core.engines import Done
from corral_core.errors import CorralError
from corral_core.experiment import Experiment
from corral_core.results import Result, gather
from corral_core.settings import Setting, from_json, settings
from corral_core.simulation import Record, points
from corral_core.versions import differing, versions

FORMAT = 1


@attrs.frozen
class Run:
    """The folder of a run, to be read; what is still missing in it is left out."""

    path: Path
    settings: tuple[Setting, ...]
    all_versions: tuple[dict[str, str], ...]  # with which it was begun, and others that went on with it
    journal: dict[str, dict[str, Any]] = attrs.field(repr=False)  # entries of chunks, by the names of files

    @classmethod
    def open(cls, path: Path) -> Run:
        """The run in this folder."""
        with _readable(path):
            if not (path / "experiment.json").is_file():
                there = "holds no run" if path.exists() else "is not there"
                raise CorralError(f"{path} {there}; corral run EXPERIMENT --out {path} would make one")
            described = _described(path)
            found = tuple(map(from_json, described["points"]))
            begun = json.loads((path / "versions.json").read_text("utf-8"))
            journal = list(_journal(path))
            later = tuple(entry["versions"] for entry in journal if isinstance(entry.get("versions"), dict))
            return cls(path, found, (begun, *later), _chunks(journal))

    @property
    def versions(self) -> dict[str, str]:
        """With which it was begun."""
        return self.all_versions[0]

    @property
    def tasks(self) -> list[Task]:
        """Everything there is to play."""
        return tasks(self.settings)

    def finished(self) -> list[Task]:
        """The chunks that are there, with the very bytes that were written."""
        return [task for task in self.tasks if self._bytes(task) is not None]

    def done(self, wanted: Sequence[Task] | None = None) -> Iterator[Done]:
        """These chunks, or all, as far as they are there."""
        for task in self.tasks if wanted is None else wanted:
            if (written := self._bytes(task)) is not None:
                with np.load(io.BytesIO(written)) as arrays:
                    fields: dict[str, Any] = {name: arrays.get(name) for name in Record.names}
                yield Done(task, Record(**fields), self.journal[file_name(task)]["seconds"])

    def records(self, result: Result) -> Iterator[Record]:
        """The replicates of one curve, a chunk at a time."""
        point = next(number for number, each in enumerate(self.settings) if each is result.setting)
        mine = [task for task in self.tasks if (task.point, task.curve) == (point, result.line.name)]
        return (done.record for done in self.done(mine))

    def results(self) -> list[Result]:
        """A result for every curve of which something is there."""
        return gather(self.settings, self.done())

    @property
    def checksum(self) -> str | None:
        """The same for every complete run of this experiment with these versions on such a machine; None before."""
        sums = self.path / "SHA256SUMS"
        return hashlib.sha256(sums.read_bytes()).hexdigest() if sums.exists() else None

    def sums(self) -> str:
        """What `sha256sum -c` reads; for a run of which nothing is missing."""
        lines = [f"{hashlib.sha256((self.path / 'experiment.json').read_bytes()).hexdigest()}  experiment.json"]
        lines += [f"{self.journal[file_name(task)]['sha256']}  chunks/{file_name(task)}" for task in self.tasks]
        return "\n".join(lines) + "\n"

    def _bytes(self, task: Task) -> bytes | None:
        known = self.journal.get(file_name(task))
        path = self.path / "chunks" / file_name(task)
        with files.usable(self.path):
            if not path.exists():
                return None
            written = path.read_bytes()
        return written if known and hashlib.sha256(written).hexdigest() == known["sha256"] else None


class Folder:
    """The folder of a run that goes on: nobody else writes to it meanwhile."""

    def __init__(self, path: Path, experiments: Sequence[Experiment], journal: IO[bytes]) -> None:
        self.path = path
        self._experiments = experiments
        self._journal = journal

    @property
    def run(self) -> Run:
        """What is there now."""
        return Run.open(self.path)

    def keep(self, done: Done) -> None:
        """Write a chunk under another name first, so that it is there whole or not at all; then enter it."""
        experiment = self._experiments[done.task.point]
        labels = np.asarray(experiment.curve(done.task.curve).labels)
        arrays = {**done.record.to_arrays(), "at": points(experiment.horizon), "bases": labels}
        packed = io.BytesIO()
        np.savez_compressed(packed, allow_pickle=False, curve=np.asarray(done.task.curve), **arrays)
        name, written = file_name(done.task), packed.getvalue()
        entry = {"chunk": name, "sha256": hashlib.sha256(written).hexdigest(), "seconds": round(done.seconds, 3)}
        with files.usable(self.path):
            files.write(self.path / "chunks" / name, written)
            _append(self._journal, json.dumps(entry).encode() + b"\n")

    def complete(self) -> None:
        """Nothing is missing any more."""
        with files.usable(self.path):
            files.write(self.path / "SHA256SUMS", self.run.sums().encode())


@contextmanager
def folder(path: Path, experiments: Sequence[Experiment], mixed_versions: bool = False) -> Iterator[Folder]:
    """A new folder, or the one in which this very run was begun, for as long as the block lasts."""
    described = {"format": FORMAT, "points": [attrs.asdict(each) for each in settings(experiments)]}
    text = json.dumps(described, indent=2, default=str, sort_keys=True) + "\n"
    with _readable(path):
        if (path / "experiment.json").exists():
            if other := _differing(_described(path), json.loads(text)):
                raise CorralError(
                    f"{path} holds a run of another experiment (other {other}); choose another folder for --out"
                )
        elif any(each.is_file() and each.name not in ("versions.json", "journal.jsonl") for each in path.rglob("*")):
            raise CorralError(f"{path} is not empty and holds no run; choose another folder for --out")
        (path / "chunks").mkdir(parents=True, exist_ok=True)
        journal = _alone(path)
    with journal:
        with _readable(path):
            _sweep(path)
            if not (path / "experiment.json").exists():
                files.write(path / "versions.json", (json.dumps(versions(), indent=2) + "\n").encode())
                files.write(path / "experiment.json", text.encode())
            elif changed := _changed(path, experiments):
                if not mixed_versions:
                    raise CorralError(
                        f"{path} was begun with {changed}; go on with that, choose another folder, or mix them with "
                        f"--mixed-versions"
                    )
                _append(journal, json.dumps({"versions": versions()}).encode() + b"\n")
        yield Folder(path, experiments, journal)


def file_name(task: Task) -> str:
    """Of a chunk."""
    slug = re.sub(r"[^A-Za-z0-9.=+-]+", "-", task.curve).strip("-")[:80]
    return f"{task.point}-{slug}-{zlib.crc32(task.curve.encode()):08x}-{task.chunk}.npz"


def _described(path: Path) -> dict[str, Any]:
    found = json.loads((path / "experiment.json").read_text("utf-8"))
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise CorralError(f"{path} was written by another version of Corral; choose another folder")
    return found


def _differing(there: dict[str, Any], meant: dict[str, Any]) -> str:
    """The keys in which two experiments differ; nothing where they are the same."""
    if len(there["points"]) != len(meant["points"]):
        return "sweep"
    pairs = [(one["source"], two["source"]) for one, two in zip(there["points"], meant["points"], strict=True)]
    names = {name for one, two in pairs for name in {*one, *two} if one.get(name) != two.get(name)}
    return ", ".join(sorted(names))


def _changed(path: Path, experiments: Sequence[Experiment]) -> str:
    """In words, which versions are not those that the run was begun with; chunks of others may have other bits."""
    if (path / "SHA256SUMS").exists():  # nothing will be played
        return ""
    return differing(json.loads((path / "versions.json").read_text("utf-8")), experiments)


def _alone(path: Path) -> IO[bytes]:
    """The journal, to append to: locked until it is closed, even by a sudden end."""
    journal = (path / "journal.jsonl").open("ab", buffering=0)  # nothing is left to be written when it is closed
    try:
        import fcntl

        fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # elsewhere than on Unix nobody is kept out
        pass
    except BlockingIOError:
        journal.close()
        raise CorralError(f"{path} is being written by another run; wait for it, or choose another folder") from None
    return journal


def _sweep(path: Path) -> None:
    """Take away what a sudden end left half written; a line cut short is ended, so that the next stands alone."""
    for left in (*path.glob(".*.part"), *path.glob("chunks/.*.part")):
        left.unlink()
    journal = path / "journal.jsonl"
    if (written := journal.read_bytes()) and not written.endswith(b"\n"):
        with journal.open("ab", buffering=0) as file:
            _append(file, b"\n")


def _journal(path: Path) -> Iterator[dict[str, Any]]:
    """The entries; lines that are none, cut short perhaps, are passed over."""
    journal = path / "journal.jsonl"
    for line in journal.read_bytes().splitlines() if journal.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


def _chunks(journal: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The last entry of every chunk."""
    found = {}
    for entry in journal:
        match entry:
            case {"chunk": str(name), "sha256": str(), "seconds": float() | int()}:
                found[name] = entry
    return found


def _append(file: IO[bytes], line: bytes) -> None:
    if file.write(line) != len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    files.flush(file)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    with files.usable(path):
        try:
            yield
        except (ValueError, KeyError, TypeError):
            raise CorralError(f"{path / 'experiment.json'} is damaged; delete {path} and run again") from None
