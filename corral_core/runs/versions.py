"""The versions that results depend on."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from corral_core.experiments.point import Point
from corral_core.registry.names import get_registry


def versions() -> dict[str, str]:
    """Versions of Python, the machine, numpy, the core and every installed plugin."""
    plugins = {plugin.name: plugin.version for plugin in get_registry().plugins.records()}
    return {"python": sys.version.split()[0], "machine": platform.machine(), "numpy": version("numpy"), **plugins}


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
    """The plugins whose classes these points play."""
    registry = get_registry()
    owners = {_package(entry.target): entry.plugin for entry in registry.plugins.entries}
    played: set[type] = {type(point.environment) for point in points}
    for curve in (curve for point in points for curve in point.curves):
        played |= {type(thing) for thing in (*curve.bases, curve.meta) if thing is not None}
    return {owners[package] for cls in played if (package := _package(cls.__module__)) in owners}


def _package(target: str) -> str:
    return target.partition(":")[0].partition(".")[0]
