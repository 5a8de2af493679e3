"""Files that are there whole or not at all, and errors of the disk in one sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from corral_core.errors import CorralError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Another name to write to, in the same folder: it becomes the file when the block ends well, else it goes."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write(path: Path, written: bytes) -> None:
    """A file of these bytes, which a sudden end does not leave half written."""
    with whole(path) as temporary, temporary.open("wb") as file:
        file.write(written)
        flush(file)


def flush(file: IO[bytes]) -> None:
    """To the disk itself."""
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """A disk that is full, a folder that is a file: one sentence that names the path."""
    try:
        yield
    except OSError as problem:
        raise CorralError(f"{path} cannot be used: {problem.strerror or problem}") from None
