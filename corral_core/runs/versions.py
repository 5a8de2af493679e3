"""The versions that results depend on."""

from __future__ import annotations

import contextlib
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from corral_core.experiments.point import Point
from corral_core.registry.names import get_registry

LIBRARIES = {"corral_kit": "corral-kit"}  # packages without hooks that plugins are built on, by distribution


def versions() -> dict[str, str]:
    """Versions of Python, the machine, numpy, the core, every installed plugin and the libraries that they share."""
    found = {"python": sys.version.split()[0], "machine": platform.machine(), "numpy": version("numpy")}
    found |= {plugin.name: plugin.version for plugin in get_registry().plugins.records()}
    for library in LIBRARIES.values():
        with contextlib.suppress(PackageNotFoundError):
            found[library] = version(library)
    return found


def differing(begun: Mapping[str, str], points: Sequence[Point]) -> str:
    """The versions used by a run that have changed since it was begun, in words; empty if none has."""
    now = versions()
    used = {"python", "machine", "numpy", "core", *plugins_of(points)}
    return ", ".join(
        f"{name} {begun.get(name, 'unknown')} (now {now.get(name, 'absent')})"
        for name in sorted(used)
        if begun.get(name) != now.get(name)
    )


def plugins_of(points: Sequence[Point]) -> set[str]:
    """The plugins and shared libraries whose classes these points play."""
    registry = get_registry()
    owners = {_package(entry.target): entry.plugin for entry in registry.plugins.entries} | LIBRARIES
    played: set[type] = {type(point.environment) for point in points}
    for curve in (curve for point in points for curve in point.curves):
        played |= {type(thing) for thing in (*curve.bases, curve.meta) if thing is not None}
    packages = {_package(ancestor.__module__) for cls in played for ancestor in cls.__mro__}
    return {owners[package] for package in packages if package in owners}


def _package(target: str) -> str:
    return target.partition(":")[0].partition(".")[0]
