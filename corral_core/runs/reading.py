"""Reading what anybody may have written: files of bounded size, and JSON of bounded depth."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from corral_core.errors import CorralError

MOST_BYTES = 2**28  # of a file of a run
MOST_DEPTH = 32  # of tables and lists inside each other


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes | None:
    """The content of a regular file; None if there is none of this name. A file that is too large is refused."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):  # a pipe would block for ever
        raise CorralError(f"{path} is not a regular file")
    if found.st_size > most:
        raise CorralError(f"{path} has {found.st_size:,} bytes; a file of a run has at most {most:,} here")
    with path.open("rb") as file:
        return file.read(most + 1)[:most]


def from_json(content: bytes) -> Any:
    """What a text of JSON says; ValueError if it is not JSON, or too deep to be of a run."""
    try:
        found = json.loads(content)
    except RecursionError:
        raise ValueError("too deep") from None
    level = [found]
    for _ in range(MOST_DEPTH):
        level = [each for value in level for each in _inside(value)]
        if not level:
            return found
    raise ValueError("too deep")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
