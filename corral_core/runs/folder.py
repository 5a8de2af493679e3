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

import hashlib
import io
import json
import re
import shlex
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from corral_core.engines.chunks import Task, tasks
from corral_core.engines.engine import Done
from corral_core.errors import CorralError
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.source import is_registered
from corral_core.runs import files
from corral_core.runs.description import Setting, from_json, settings
from corral_core.runs.journal import Journal, entries, locked
from corral_core.runs.results import Result, gather
from corral_core.runs.versions import differing, versions
from corral_core.simulation.record import Record, points

FORMAT = 1
PARTS = (".*.part", "chunks/.*.part")  # what a sudden end leaves half written


@attrs.frozen(slots=False)
class Run:
    """The folder of a run as it was when it was opened; what is still missing in it is left out."""

    path: Path
    settings: tuple[Setting, ...]
    all_versions: tuple[dict[str, str], ...]  # with which it was begun, and others that went on with it
    journal: dict[str, dict[str, Any]] = attrs.field(repr=False)  # entries of chunks, by the names of files

    @classmethod
    def open(cls, path: Path) -> Run:
        """The run in this folder."""
        with files.usable(path):
            if not (path / "experiment.json").is_file():
                there = "holds no run" if path.exists() else "is not there"
                raise CorralError(f"{path} {there}; corral run EXPERIMENT --out {path} would make one")
            journal = entries(path)
            written = (path / "experiment.json").read_bytes()
            if _recorded(journal) not in (None, _digest(written)):
                raise _damaged(path)
            found = tuple(map(from_json, _described(path, written)["points"]))
            later = tuple(entry["versions"] for entry in journal if isinstance(entry.get("versions"), dict))
            return cls(path, found, (_begun_with(path), *later), _chunks(journal))

    @property
    def versions(self) -> dict[str, str]:
        """With which it was begun."""
        return self.all_versions[0]

    @property
    def command(self) -> str:
        """What goes on with it; a name that is an experiment's too must look like a folder."""
        name = str(self.path)
        return f"corral run {shlex.quote(f'./{name}' if is_registered(name) else name)}"

    @property
    def tasks(self) -> list[Task]:
        """Everything there is to play."""
        return tasks(self.settings)

    def finished(self) -> list[Task]:
        """The chunks that are there, with the very bytes that were written."""
        return [task for task in self.tasks if task in self._sound]

    def damaged(self) -> list[Task]:
        """The chunks that are there and were kept with other bytes."""
        unsound = [task for task in self.tasks if task not in self._sound]
        return [task for task in unsound if self._known(task) and self._file(task).exists()]

    def done(self, wanted: Sequence[Task] | None = None) -> Iterator[Done]:
        """These chunks, or all, as far as they are there, in their order."""
        for task in self.tasks if wanted is None else wanted:
            if (written := self._bytes(task)) is not None:
                with np.load(io.BytesIO(written)) as arrays:
                    fields: dict[str, Any] = {name: arrays.get(name) for name in Record.names}
                yield Done(task, Record(**fields), self.journal[file_name(task)]["seconds"])

    def records(self, result: Result) -> Iterator[Record]:
        """The replicates of one curve, a chunk at a time."""
        if result.setting not in self.settings:
            raise CorralError(f"the curve {result.line.name} is not of the run in {self.path}")
        place = self.settings.index(result.setting), result.line.name
        mine = [task for task in self.tasks if (task.point, task.curve) == place]
        return (done.record for done in self.done(mine))

    def results(self) -> list[Result]:
        """A result for every curve of which something is there."""
        return gather(self.settings, self.done())

    @property
    def checksum(self) -> str | None:
        """The same for every complete run of this experiment with these versions on such a machine; None before."""
        sums = self.path / "SHA256SUMS"
        return _digest(sums.read_bytes()) if sums.exists() else None

    def sums(self) -> str:
        """What `sha256sum -c` reads; for a run of which nothing is missing."""
        lines = [f"{_digest((self.path / 'experiment.json').read_bytes())}  experiment.json"]
        lines += [f"{self.journal[file_name(task)]['sha256']}  chunks/{file_name(task)}" for task in self.tasks]
        return "\n".join(lines) + "\n"

    @cached_property
    def _sound(self) -> frozenset[Task]:
        return frozenset(task for task in self.tasks if self._bytes(task) is not None)

    def _bytes(self, task: Task) -> bytes | None:
        known, path = self._known(task), self._file(task)
        with files.usable(self.path):
            if known is None or not path.exists():
                return None
            written = path.read_bytes()
        return written if _digest(written) == known["sha256"] else None

    def _known(self, task: Task) -> dict[str, Any] | None:
        return self.journal.get(file_name(task))

    def _file(self, task: Task) -> Path:
        return self.path / "chunks" / file_name(task)


class Folder:
    """The folder of a run that goes on: nobody else writes to it meanwhile."""

    def __init__(self, path: Path, experiments: Sequence[Experiment], journal: Journal) -> None:
        self.path = path
        self._experiments = experiments
        self._journal = journal
        self._known = Run.open(path).journal

    @property
    def run(self) -> Run:
        """What is there now."""
        return Run.open(self.path)

    def begin(self, mixed_versions: bool) -> None:
        """Before chunks are played: with the versions that the run was begun with, for others may have other bits."""
        with files.usable(self.path):
            (self.path / "SHA256SUMS").unlink(missing_ok=True)
            if changed := differing(_begun_with(self.path), self._experiments):
                if not mixed_versions:
                    raise CorralError(
                        f"{self.path} was begun with {changed}; go on with that, choose another folder, or mix them "
                        f"with --mixed-versions"
                    )
                self._journal.enter({"versions": versions()})

    def keep(self, done: Done) -> bool:
        """Write a chunk, then enter it; whether it is new or has the bits that it had before."""
        experiment = self._experiments[done.task.point]
        labels = np.asarray(experiment.curve(done.task.curve).labels)
        arrays: dict[str, Any] = {**done.record.to_arrays(), "at": points(experiment.horizon), "bases": labels}
        packed = io.BytesIO()
        np.savez_compressed(packed, curve=np.asarray(done.task.curve), **arrays)
        name, written = file_name(done.task), packed.getvalue()
        entry = {"chunk": name, "sha256": _digest(written), "seconds": round(done.seconds, 3)}
        with files.usable(self.path):
            files.write(self.path / "chunks" / name, written)
            self._journal.enter(entry)
        return bool(self._known.get(name, entry)["sha256"] == entry["sha256"])

    def complete(self) -> None:
        """Nothing is missing any more."""
        sums = self.path / "SHA256SUMS"
        with files.usable(self.path):
            if not sums.exists():
                files.write(sums, self.run.sums().encode())


@contextmanager
def folder(path: Path, experiments: Sequence[Experiment]) -> Iterator[Folder]:
    """A new folder, or the one in which this very run was begun, for as long as the block lasts."""
    described = {"format": FORMAT, "points": [attrs.asdict(each) for each in settings(experiments)]}
    written = (json.dumps(described, indent=2, default=str) + "\n").encode()
    with files.usable(path):
        _check(path, written)
        (path / "chunks").mkdir(parents=True, exist_ok=True)
    with files.usable(path), locked(path) as journal:
        _check(path, written)  # nobody can have come in between from here on
        for left in (each for pattern in PARTS for each in path.glob(pattern)):
            left.unlink()
        journal.mend(path)
        if not (path / "experiment.json").exists():
            files.write(path / "versions.json", (json.dumps(versions(), indent=2) + "\n").encode())
            files.write(path / "experiment.json", written)
        elif _recorded(entries(path)) == _digest(written):
            files.write(path / "experiment.json", written)  # as it was, if it has been damaged since
        digest = _digest((path / "experiment.json").read_bytes())
        if _recorded(entries(path)) != digest:
            journal.enter({"experiment": digest})
        yield Folder(path, experiments, journal)


def chunks_in_words(count: int) -> str:
    """As in "1 chunk is", "2 chunks are"."""
    return "1 chunk is" if count == 1 else f"{count} chunks are"


def file_name(task: Task) -> str:
    """Of a chunk."""
    slug = re.sub(r"[^A-Za-z0-9.=+-]+", "-", task.curve).strip("-")[:80]
    return f"{task.point}-{slug}-{zlib.crc32(task.curve.encode()):08x}-{task.chunk:05}.npz"


def _check(path: Path, written: bytes) -> None:
    """Refuse the folder of another run, or of something else."""
    if not (path / "experiment.json").exists():
        ours = {"versions.json", "journal.jsonl", *(each.name for pattern in PARTS for each in path.glob(pattern))}
        if any(each.is_file() and each.name not in ours for each in path.rglob("*")):
            raise CorralError(f"{path} is not empty and holds no run; choose another folder for --out")
    elif _recorded(entries(path)) != _digest(written):
        there = _described(path, (path / "experiment.json").read_bytes())
        if other := _differing(there["points"], json.loads(written)["points"]):
            raise CorralError(
                f"{path} holds a run of another experiment (other {other}); choose another folder for --out"
            )


def _described(path: Path, written: bytes) -> dict[str, Any]:
    """What experiment.json says."""
    try:
        found = json.loads(written)
        for point in found["points"]:
            from_json(point)
    except (ValueError, KeyError, TypeError):
        raise _damaged(path) from None
    if found.get("format") != FORMAT:
        raise CorralError(f"{path} was written by another version of Corral; choose another folder")
    return dict(found)


def _damaged(path: Path) -> CorralError:
    return CorralError(
        f"{path / 'experiment.json'} is damaged; run the same experiment with --out {path} once more to mend it"
    )


def _differing(there: list[dict[str, Any]], meant: list[dict[str, Any]]) -> str:
    """In what two experiments differ; nothing where they are the same. Words about them do not count."""
    if len(there) != len(meant):
        return "sweep"
    names = set()
    for one, two in zip(there, meant, strict=True):
        ours, theirs = one["source"], two["source"]
        names |= {name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)}
        if [(line["name"], line["bases"]) for line in one["lines"]] != [
            (line["name"], line["bases"]) for line in two["lines"]
        ]:
            names.add("curves")
    return ", ".join(sorted(names))


def _begun_with(path: Path) -> dict[str, str]:
    """The versions with which a run was begun; nothing where nobody knows any more."""
    try:
        found = json.loads((path / "versions.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else {}


def _recorded(journal: list[dict[str, Any]]) -> str | None:
    """The digest of experiment.json, as the journal has it."""
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


def _digest(written: bytes) -> str:
    return hashlib.sha256(written).hexdigest()
