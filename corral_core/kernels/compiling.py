"""Saying that kernels are compiled: once, because the first run takes some seconds longer.

numba keeps what it compiled in the folder that `NUMBA_CACHE_DIR` names, else beside the source in `__pycache__`, else
in the user's cache: the first of them that can be written. A note in the same folder has the digest of the source file
and the version of numba for which this was said. So the question costs an import of numba only when the answer is yes.
"""

from __future__ import annotations

import hashlib
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from corral_core.kernels import twins

ONCE = "compiling the kernels (only this once; the next run finds them ready)"
ALWAYS = "compiling the kernels (in every run: no folder for them can be written; let NUMBA_CACHE_DIR name one)"


def announcement() -> str:
    """What to say before the kernels that are imported by now play; empty if nothing has to be compiled.

    Refuses a `CORRAL_KERNELS` that cannot be had.
    """
    wanted = twins.wish()
    if wanted == "numpy" or (not wanted and not twins.is_installed()):
        return ""
    if wanted and twins.bind() != "numba":
        return ""
    notes = {_note(source): _content(source) for source in twins.sources()}
    if None in notes:
        return ALWAYS if twins.bind() == "numba" else ""
    unsaid = {note: content for note, content in notes.items() if note is not None and _read(note) != content}
    if not unsaid or twins.bind() != "numba":
        return ""
    return ONCE if all(_write(*each) for each in unsaid.items()) else ALWAYS


def _note(source: str) -> Path | None:
    """Where the note of a source file is; None if no folder can be written."""
    name = f"corral-{hashlib.sha256(os.path.abspath(source).encode()).hexdigest()[:16]}.{sys.implementation.cache_tag}"
    for folder in _folders(source):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder / name
    return None


def _folders(source: str) -> list[Path]:
    """Where numba keeps what it compiled of a source file, in its order."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    users = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return [*([Path(chosen)] if chosen else []), Path(source).parent / "__pycache__", Path(users) / "numba"]


def _content(source: str) -> str:
    """What the compiled code depends on."""
    try:
        numba, written = version("numba"), Path(source).read_bytes()
    except (PackageNotFoundError, OSError):
        numba, written = "", b""
    return f"{hashlib.sha256(written).hexdigest()} numba {numba}\n"


def _read(note: Path) -> str:
    try:
        return note.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _write(note: Path, content: str) -> bool:
    """Whether the note could be written."""
    try:
        note.write_text(content, encoding="utf-8")
    except OSError:
        return False
    return True
