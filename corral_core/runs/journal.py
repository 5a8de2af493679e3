"""The journal of a run: a line of JSON for everything that was kept, written by one process at a time."""

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
    """All there are, the oldest first; lines that are none, cut short perhaps, are passed over."""
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
        """A line more, on the disk when this returns."""
        self._append(json.dumps(entry).encode() + b"\n")

    def mend(self, folder: Path) -> None:
        """A line that a sudden end cut short is ended, so that the next stands alone."""
        if (written := (folder / NAME).read_bytes()) and not written.endswith(b"\n"):
            self._append(b"\n")

    def _append(self, line: bytes) -> None:
        if self._file.write(line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(self._file)


@contextmanager
def locked(folder: Path) -> Iterator[Journal]:
    """The journal, for nobody else until the block ends, even by a sudden end of the process."""
    # Without a buffer, nothing is left to be written when it is closed.
    with (folder / NAME).open("ab", buffering=0) as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # elsewhere than on Unix nobody is kept out
            pass
        except BlockingIOError:
            raise CorralError(
                f"{folder} is being written by another run; wait for it, or choose another folder"
            ) from None
        yield Journal(file)
