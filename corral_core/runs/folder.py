"""The folder of a run while it is written: created or reopened, locked, and filled one chunk at a time.

`run.py` says what the folder contains.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from corral_core.engines.engine import Done
from corral_core.errors import CorralError
from corral_core.experiments.experiment import Experiment
from corral_core.runs import checksums, files
from corral_core.runs.checksums import digest
from corral_core.runs.chunk_files import file_name, packed
from corral_core.runs.description import PointDescription, to_table
from corral_core.runs.journal import Journal, entries, locked, recorded_digest, recorded_kernels
from corral_core.runs.reading import read_bytes
from corral_core.runs.run import EXPERIMENT, FORMAT, VERSIONS, Run, described
from corral_core.runs.versions import differing, kernels, versions

SETTINGS = ("name", "at", "horizon", "replicates", "seed", "chunk_size")
PARTS = (".*.part", "chunks/.*.part")  # what a crash leaves half written


class Folder:
    """A run's folder that no other process writes to."""

    def __init__(self, found: Run, experiment: Experiment, journal: Journal) -> None:
        self.found = found  # the run as it was when the folder was opened
        self._experiment = experiment
        self._journal = journal
        self._entries = dict(found.journal)

    def begin(self, mixed_versions: bool) -> None:
        """Refuse to resume a run that other versions began: results might differ bit for bit.

        Other kernels are only recorded, in the journal: `versions.json` and the checksum do not depend on them.
        """
        path = self.found.path
        with files.usable(path):
            (path / checksums.NAME).unlink(missing_ok=True)
            if changed := differing(self.found.versions, self._experiment.points):
                if not mixed_versions:
                    raise CorralError(
                        f"{path} was started with {changed}; resume it with those, choose another folder, or "
                        f"mix versions with --mixed-versions"
                    )
                self._journal.enter({"versions": versions(self._experiment.points)})
            if recorded_kernels(entries(path))[-1:] != [playing := kernels()]:
                self._journal.enter({"kernels": playing})

    def keep(self, done: Done) -> bool:
        """Write a chunk and enter it in the journal. False if the journal had it with other bits."""
        name = file_name(done.task)
        written = packed(done.task, done.record, self.found.points[done.task.point])
        entry = {"chunk": name, "sha256": digest(written), "seconds": round(done.seconds, 3)}
        before = self._entries.get(name, entry)
        with files.usable(self.found.path):
            files.write(self.found.path / "chunks" / name, written)
            self._journal.enter(entry)
        self._entries[name] = entry
        return bool(before["sha256"] == entry["sha256"])

    def complete(self) -> Run:
        """Write the checksums of the run, which is complete now, or mend them."""
        run = attrs.evolve(self.found, journal=self._entries)
        with files.usable(run.path):
            _settle(run.path / checksums.NAME, run.sums().encode())
        return run


@contextmanager
def folder(path: Path, experiment: Experiment, points: Sequence[PointDescription]) -> Iterator[Folder]:
    """Create or reopen the run's folder and lock it until the block ends."""
    written = _json({"format": FORMAT, "points": [to_table(point) for point in points]})
    with files.usable(path):
        _check(path, written)
        (path / "chunks").mkdir(parents=True, exist_ok=True)
    with files.usable(path), locked(path) as journal:
        _check(path, written)  # again: from here on no other process can change the folder
        for left in (each for pattern in PARTS for each in path.glob(pattern)):
            left.unlink()
        journal.mend(path)
        _keep_versions(path, journal, _json(versions(experiment.points)))
        _keep_experiment(path, journal, written)
        yield Folder(Run.open(path), experiment, journal)


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=2, default=str) + "\n").encode()


def _settle(path: Path, written: bytes) -> None:
    """Write a file, unless it has this content already."""
    if read_bytes(path) != written:
        files.write(path, written)


def _keep_experiment(path: Path, journal: Journal, written: bytes) -> None:
    """Write experiment.json into a new folder, mend it in one of the same run, and enter its digest."""
    recorded = recorded_digest(entries(path), "experiment")
    if not (path / EXPERIMENT).exists() or recorded == digest(written):
        _settle(path / EXPERIMENT, written)
    if recorded != (found := digest(read_bytes(path / EXPERIMENT) or b"")):
        journal.enter({"experiment": found})


def _keep_versions(path: Path, journal: Journal, now: bytes) -> None:
    """Write versions.json into a new folder, mend it if these versions began the run, and enter its digest."""
    file, kept = path / VERSIONS, entries(path)
    recorded = recorded_digest(kept, "begun")
    fresh = not (path / EXPERIMENT).exists() and recorded_digest(kept, "experiment") is None
    if fresh or recorded == digest(now):
        _settle(file, now)
    if recorded != digest(now) and read_bytes(file) == now:
        journal.enter({"begun": digest(now)})


def _check(path: Path, written: bytes) -> None:
    """Refuse the folder of another run, or of something else."""
    same = recorded_digest(entries(path), "experiment") == digest(written)
    if not (path / EXPERIMENT).exists():
        ours = {VERSIONS, "journal.jsonl", *(each.name for pattern in PARTS for each in path.glob(pattern))}
        if not same and any(each.is_file() and each.name not in ours for each in path.rglob("*")):
            raise CorralError(
                f"{path} is not empty and contains no run of this experiment; choose another folder for --out"
            )
    elif not same:
        there = described(path, read_bytes(path / EXPERIMENT) or b"")
        if other := _differing(there, described(path, written)):
            raise CorralError(
                f"{path} contains a run of another experiment (different {other}); choose another folder for --out"
            )


def _differing(there: Sequence[PointDescription], meant: Sequence[PointDescription]) -> str:
    """What differs between two experiments, empty if nothing does. Claims and questions do not count."""
    if len(there) != len(meant):
        return "sweep"
    names = set()
    for one, two in zip(there, meant, strict=True):
        ours, theirs = one.source, two.source
        names |= {name for name in {*ours, *theirs} - {"question"} if ours.get(name) != theirs.get(name)}
        names |= {name for name in SETTINGS if getattr(one, name) != getattr(two, name)}
        if [(curve.name, curve.bases) for curve in one.curves] != [(curve.name, curve.bases) for curve in two.curves]:
            names.add("curves")
    return ", ".join(sorted(names))
