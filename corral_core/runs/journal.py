"""The journal of a run: one line of JSON for everything that was kept, written by one process at a time."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from corral_core.errors import CorralError
from corral_core.runs.files import flush
from corral_core.runs.reading import from_json, read_bytes

NAME = "journal.jsonl"
MOST_SECONDS = 1e12  # that a chunk can have taken
LONGEST_VERSION = 200  # characters of a version, or of the name that has it


def entries(folder: Path) -> list[dict[str, Any]]:
    """All entries, the oldest first. Lines that are not entries, such as those cut short, are skipped."""
    found = []
    for line in (read_bytes(folder / NAME) or b"").splitlines():
        try:
            entry = from_json(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found


def recorded_digest(journal: Iterable[Mapping[str, Any]], name: str) -> str | None:
    """The last digest under this name: `experiment` is that of experiment.json, `begun` that of versions.json."""
    found = [entry[name] for entry in journal if isinstance(entry.get(name), str)]
    return found[-1] if found else None


def recorded_chunks(journal: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The last entry of every chunk."""
    found = {}
    for entry in journal:
        match entry:
            case {"chunk": str(name), "sha256": str(), "seconds": float(seconds) | int(seconds)}:
                if not isinstance(seconds, bool) and 0 <= seconds < MOST_SECONDS:
                    found[name] = dict(entry)
    return found


def recorded_kernels(journal: Iterable[Mapping[str, Any]]) -> list[str]:
    """The kernels that played, the first ones first."""
    found = [entry["kernels"] for entry in journal if isinstance(entry.get("kernels"), str)]
    return [name for name in found if len(name) <= LONGEST_VERSION]


def recorded_versions(found: Any) -> dict[str, str]:
    """Versions by name, from versions.json or an entry; empty if it is anything else."""
    if not isinstance(found, Mapping):
        return {}
    said = {name: value for name, value in found.items() if isinstance(value, str)}
    return {name: value for name, value in said.items() if max(len(name), len(value)) <= LONGEST_VERSION}


class Journal:
    """A journal to write to."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def enter(self, entry: dict[str, Any]) -> None:
        """Append a line; it is on the disk when this returns."""
        self._append(json.dumps(entry).encode() + b"\n")

    def mend(self, folder: Path) -> None:
        """End a line that a crash cut short, so that the next entry gets a line of its own."""
        if (written := read_bytes(folder / NAME)) and not written.endswith(b"\n"):
            self._append(b"\n")

    def _append(self, line: bytes) -> None:
        if self._file.write(line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(self._file)


@contextmanager
def locked(folder: Path) -> Iterator[Journal]:
    """The journal, locked against other processes until the block or this process ends."""
    # Unbuffered, so that nothing is left to be written when it is closed.
    with (folder / NAME).open("ab", buffering=0) as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # only Unix can lock: elsewhere other processes are not kept out
            pass
        except BlockingIOError:
            raise CorralError(
                f"{folder} is being written by another run; wait for it, or choose another folder"
            ) from None
        yield Journal(file)
