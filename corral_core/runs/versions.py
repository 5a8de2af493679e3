"""The versions and the code that results depend on."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version

from corral_core.experiments.point import Point
from corral_core.kernels import twins
from corral_core.registry.discovery import normal
from corral_core.registry.names import get_registry
from corral_core.runs.code import code_digest

LIBRARIES = {"corral_kit": "corral-kit"}  # packages without hooks that plugins are built on, by distribution
TOOLS = {"dev", "test", "tests", "testing", "doc", "docs", "lint"}  # extras that no result depends on
CORE = "core"


def versions(points: Sequence[Point]) -> dict[str, str]:
    """What the results of these points depend on: Python, the machine, and versions and digests of code.

    The core and the plugins that are played have a version and a digest of their code. The libraries that these plugins
    require (also through extras), and what those require in turn, have a version. What is not installed is left out.
    """
    found = {"python": sys.version.split()[0], "machine": platform.machine(), "numpy": version("numpy")}
    ours = {plugin.name: plugin.version for plugin in get_registry().plugins.records()}
    used = _used(points)
    packages = _packages()
    for name in [CORE, *sorted(used - {CORE})]:
        if (known := ours.get(name) or _installed(name)) is not None:
            found[name] = known
    for name in sorted(used & packages.keys()):
        found[_code(name)] = code_digest(packages[name])
    return found


def differing(begun: Mapping[str, str], points: Sequence[Point]) -> str:
    """What has changed since a run was begun, of all that it depends on, in words; empty if nothing has."""
    now = versions(points)
    return ", ".join(_changed(begun, now, sorted({"python", "machine", "numpy", *_used(points)})))


def kernels() -> str:
    """The kernels that play here. A run records them, but nothing is compared: both kinds give the same bits."""
    twins.bind()
    return twins.described()


def _changed(begun: Mapping[str, str], now: Mapping[str, str], used: Sequence[str]) -> Iterator[str]:
    for name in used:
        if begun.get(name) != now.get(name):
            yield f"{name} {begun.get(name, 'unknown')} (now {now.get(name, 'absent')})"
        elif begun.get(_code(name)) != now.get(_code(name)):
            known = _code(name) in begun  # older runs have no digests
            yield f"{name} {begun[name]} ({'its code changed, its version did not' if known else 'of unknown code'})"


def _code(name: str) -> str:
    """The key of a digest of code among the versions."""
    return f"code of {name}"


# --- What is used -----------------------------------------------------------------------------------------------------


def _used(points: Sequence[Point]) -> set[str]:
    """The core, the plugins that these points play, and everything behind them."""
    ours, waiting = {CORE}, list(plugins_of(points))
    packages = _packages()
    while waiting:
        name = waiting.pop()
        if name not in ours:
            ours.add(name)
            waiting += [each for each in _required(name) if each in packages]
    direct = {each for name in ours - {CORE} for each in _required(name)}
    further = {each for name in direct - packages.keys() for each in _required(name, extras=False)}
    # What the core requires computes nothing, but numpy, which is always there; nor do names of installers.
    ignored = {"corral-core", "editables", *_required("corral-core")}
    return ours | ((direct | further) - ignored)


def plugins_of(points: Sequence[Point]) -> set[str]:
    """The plugins and shared libraries whose classes these points play."""
    owners = {package: name for name, packages in _packages().items() for package in packages}
    played: set[type] = {type(point.environment) for point in points}
    for curve in (curve for point in points for curve in point.curves):
        played |= {type(thing) for thing in (*curve.bases, curve.meta) if thing is not None}
    packages = {_package(ancestor.__module__) for cls in played for ancestor in cls.__mro__}
    return {owners[package] for package in packages if package in owners}


def _packages() -> dict[str, set[str]]:
    """The top-level packages of the core, of every plugin and of the libraries that they share."""
    found: dict[str, set[str]] = {CORE: {"corral_core"}}
    for entry in get_registry().plugins.entries:
        found.setdefault(entry.plugin, set()).add(_package(entry.target))
    return found | {library: {package} for package, library in LIBRARIES.items()}


def _package(target: str) -> str:
    return target.partition(":")[0].partition(".")[0]


def _required(name: str, extras: bool = True) -> set[str]:
    """The names of the distributions that one requires, with or without those of its extras."""
    try:
        stated = requires(name) or []
    except PackageNotFoundError:
        return set()
    found = set()
    for line in stated:
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]*)", line)
        if extra is None or (extras and extra[1].lower() not in TOOLS):
            found.add(normal(re.split(r"[^A-Za-z0-9._-]", line.strip(), maxsplit=1)[0]))
    return found


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
