"""Public names of a package that are imported on first use (PEP 562).

The package's `__init__.pyi` lists them, one per line: `from package.module import Name as Name`.
So `import corral_core` and `import corral_mab` stay light, and editors and type checkers read the same list. In a
package's `__init__.py`:

    from corral_core.lazy import attach

    __getattr__, __dir__ = attach(__name__)
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package."""

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(public_names(package))
        if name.startswith("__") or name not in public_names(package):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(public_names(package)[name]), name)
        setattr(sys.modules[package], name, found)  # the next access does not come here
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public_names(package)})

    return get, names


@functools.cache
def public_names(package: str) -> dict[str, str]:
    """The module that each public name of a package is imported from, by its `__init__.pyi`."""
    stub = Path(str(sys.modules[package].__file__)).with_name("__init__.pyi")
    lines = (line.split() for line in stub.read_text(encoding="utf-8").splitlines())
    return {line[3]: line[1] for line in lines if len(line) == 6 and line[0] == "from" and line[4] == "as"}
