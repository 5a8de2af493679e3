"""The code that results depend on, as digests: code that changed under the same version is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

# Files of a package that no result depends on. An experiment's own file is kept, resolved, in the run.
IGNORED = (".pyc", ".pyi", ".typed", ".md", ".toml", ".css", "~")
DIGITS = 16  # of a digest that are kept


def code_digest(packages: Iterable[str]) -> str:
    """A digest of the files of these top-level packages or modules, by their names and contents."""
    found = hashlib.sha256()
    for package in sorted(packages):
        for name, path in sorted(_files(package)):
            found.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()[:DIGITS]


def _files(package: str) -> Iterator[tuple[str, Path]]:
    """The files of a package, each with its name inside the package; a module that is a single file has one."""
    spec = _spec(package)
    for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
        for path in folder.rglob("*"):
            inside = path.relative_to(folder)
            hidden = any(part.startswith(".") or part == "__pycache__" for part in inside.parts)
            if not hidden and not path.name.endswith(IGNORED) and path.is_file():
                yield f"{package}/{inside.as_posix()}", path
    if spec and not spec.submodule_search_locations and spec.has_location and spec.origin:
        yield Path(spec.origin).name, Path(spec.origin)


def _spec(package: str) -> ModuleSpec | None:
    try:
        return find_spec(package)
    except (ImportError, ValueError):  # ValueError: a module that was made by hand
        return None
