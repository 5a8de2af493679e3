"""The journal of a run: one line of JSON for everything that was kept, written by one process at a time."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from corral_core.errors import CorralError
from corral_core.runs.files import flush

NAME = "journal.jsonl"


def entries(folder: Path) -> list[dict[str, Any]]:
    """All entries, the oldest first. Lines that are not entries, such as those cut short, are skipped."""
    found = []
    journal = folder / NAME
    for line in journal.read_bytes().splitlines() if journal.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            found.append(entry)
    return found


class Journal:
    """A journal to write to."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def enter(self, entry: dict[str, Any]) -> None:
        """Append a line; it is on the disk when this returns."""
        self._append(json.dumps(entry).encode() + b"\n")

    def mend(self, folder: Path) -> None:
        """End a line that a crash cut short, so that the next entry gets a line of its own."""
        if (written := (folder / NAME).read_bytes()) and not written.endswith(b"\n"):
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
