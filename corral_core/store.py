"""A run's folder: the experiment as resolved, the versions, and one file a chunk, written whole or not at all."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import attrs
import numpy as np

from corral_core.chunks import Task
from corral_core.engines import Done
from corral_core.errors import CorralError
from corral_core.experiment import Experiment
from corral_core.registry import get_registry
from corral_core.simulation import Record, points


@attrs.frozen
class Folder:
    """Where the chunks of one run lie."""

    path: Path
    experiments: tuple[Experiment, ...]  # the points of the run

    @classmethod
    def open(cls, path: Path, experiments: Sequence[Experiment]) -> Folder:
        """A new folder, or the one in which this very run was begun."""
        experiment = {"points": [each.source for each in experiments]}
        meant = json.loads(json.dumps(experiment, default=str))
        described = path / "experiment.json"
        with _readable(path, described):
            if described.exists():
                if other := _differing(json.loads(described.read_text(encoding="utf-8")), meant):
                    raise CorralError(
                        f"{path} holds a run of another experiment (other {other}); choose another folder for --out"
                    )
                return cls(path, tuple(experiments))
            if any(each.is_file() and each.name != "versions.json" for each in path.rglob("*")):
                raise CorralError(f"{path} is not empty and holds no run; choose another folder for --out")
            (path / "chunks").mkdir(parents=True, exist_ok=True)
            _write(path / "versions.json", lambda file: file.write(json.dumps(_versions(), indent=2).encode()))
            _write(described, lambda file: file.write(json.dumps(meant, indent=2).encode()))
        return cls(path, tuple(experiments))

    def file(self, task: Task) -> Path:
        """Where a chunk lies."""
        slug = re.sub(r"[^A-Za-z0-9.=+-]+", "-", task.curve).strip("-")[:80]
        return self.path / "chunks" / f"{task.point}-{slug}-{zlib.crc32(task.curve.encode()):08x}-{task.chunk}.npz"

    def keep(self, done: Done) -> None:
        """Write a chunk under another name first, so that it is there whole or not at all."""
        experiment = self.experiments[done.task.point]
        labels = np.asarray(experiment.curve(done.task.curve).labels)
        arrays = {**done.record.to_arrays(), "at": points(experiment.horizon), "bases": labels}
        arrays |= {"curve": np.asarray(done.task.curve), "seconds": np.asarray(done.seconds)}
        with _readable(self.path):
            _write(self.file(done.task), lambda file: np.savez_compressed(file, allow_pickle=False, **arrays))

    def finished(self, tasks: Sequence[Task]) -> list[Done]:
        """The chunks that are there."""
        found = []
        for task in tasks:
            if self.file(task).exists():
                with _readable(self.file(task)), self.file(task).open("rb") as file, np.load(file) as arrays:
                    fields: dict[str, Any] = {name: arrays.get(name) for name in Record.names}
                    found.append(Done(task, Record(**fields), float(arrays["seconds"])))
        return found


def _differing(there: dict[str, Any], meant: dict[str, Any]) -> str:
    """The keys in which two experiments differ; nothing where they are the same."""
    if len(there["points"]) != len(meant["points"]):
        return "sweep"
    pairs = zip(there["points"], meant["points"], strict=True)
    names = {name for one, two in pairs for name in {*one, *two} if one.get(name) != two.get(name)}
    return ", ".join(sorted(names))


def _write(path: Path, write: Any) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            write(file)
            _flush(file)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _flush(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def _readable(path: Path, inside: Path | None = None) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise CorralError(f"{path} cannot be used: {problem.strerror or problem}") from None
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        raise CorralError(f"{inside or path} is damaged; delete it and run again") from None


def _versions() -> dict[str, str]:
    """Of everything that the numbers depend on."""
    plugins = {plugin.name: plugin.version for plugin in get_registry().plugins.records()}
    return {"python": sys.version.split()[0], "machine": platform.machine(), "numpy": version("numpy"), **plugins}
