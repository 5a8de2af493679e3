"""Files that are written completely or not at all, and disk errors in one sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from corral_core.errors import CorralError, shortened_path


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder. It replaces `path` if the block succeeds; otherwise it is removed."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        yield temporary
        temporary.replace(path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write(path: Path, written: bytes) -> None:
    """Write a file that a crash cannot leave half written."""
    with whole(path) as temporary, temporary.open("wb") as file:
        file.write(written)
        flush(file)


def _sync(folder: Path) -> None:
    """Write the names of a folder through to the disk, so that a rename survives a power cut. Only Unix can."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def flush(file: IO[bytes]) -> None:
    """Write everything through to the disk."""
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Turn disk errors (a full disk, a folder that is a file) into one sentence that names the path."""
    try:
        yield
    except OSError as problem:
        raise CorralError(f"{shortened_path(path)} cannot be used: {problem.strerror or problem}") from None
