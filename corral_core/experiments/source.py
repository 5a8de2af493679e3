"""The source of an experiment: read from a TOML file or a plugin, and swept into one source per point."""

from __future__ import annotations

import copy
import math
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from corral_core.errors import CorralError, shortened, shortened_path
from corral_core.experiments.checking import of_experiment
from corral_core.experiments.claims import WORDS
from corral_core.experiments.grids import expand
from corral_core.parsing import check_keys, convert, shown
from corral_core.registry.discovery import Kind
from corral_core.registry.names import get_registry


def is_file(name: str) -> bool:
    """Whether this names a file, rather than an experiment that a plugin registers."""
    return name.endswith(".toml") or os.path.isfile(name)


def is_registered(name: str) -> bool:
    """Whether a plugin registers an experiment of this name."""
    return any(entry.kind == "experiment" for entry in get_registry().find(name))


def bare(name: str) -> str:
    """A name without its plugin."""
    return name.rpartition(":")[2]


def of_name(tables: list[Any], name: str) -> Any:
    """The first table with this name, bare or qualified; None if there is none, or things of two plugins have it."""
    named = [table for table in tables if isinstance(table, dict) and isinstance(table.get("name"), str)]
    found = [table for table in named if table["name"] == name] or [
        table for table in named if bare(table["name"]) == bare(name) and (":" not in name or ":" not in table["name"])
    ]
    return found[0] if len({table["name"] for table in found}) == 1 else None


class Source(NamedTuple):
    """An experiment as written."""

    table: dict[str, Any]
    owner: str | None  # the plugin that registers it; None for a file


def read(name: str) -> Source:
    """Read an experiment: a TOML file, or a name that a plugin registers."""
    owner = None
    if is_file(name):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
            raise CorralError(f"the experiment file {shortened_path(name)} cannot be read: {reason}") from None
        default = Path(name).stem
    else:
        registry = get_registry()
        entry = registry.get("experiment", name)
        text, default, owner = registry.load("experiment", entry.qualified), entry.name, entry.plugin
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # also numbers of thousands of digits, and very deep nesting
        raise CorralError(
            f"the experiment {shortened_path(name)} is not valid TOML: {shortened(str(problem), 160)}"
        ) from None
    if "at" in table:
        raise CorralError(f"{of_experiment({'name': default})}: at is not allowed in a file; a sweep sets it")
    return Source({"name": default, **table}, owner)


def qualified(source: Mapping[str, Any], owner: str | None = None) -> dict[str, Any]:
    """The source with every name qualified by its plugin: `ucb` becomes `corral-mab:ucb`.

    A bare name refers first to what `owner` provides. Tables of the wrong shape are left to later checks.
    """

    def named(kind: Kind, table: Any) -> Any:
        if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
            return table
        return {**table, "name": get_registry().get(kind, table["name"], owner).qualified}

    def all_named(kind: Kind, tables: Any) -> Any:
        return [named(kind, table) for table in tables] if isinstance(tables, list) else tables

    found = dict(source)
    for kind in ("environment", "meta"):
        if kind in found:
            found[kind] = named(kind, found[kind])
    if "bases" in found:
        found["bases"] = all_named("base", found["bases"])
    if isinstance(compare := found.get("compare"), Mapping):
        kinds: dict[str, Kind] = {"bases": "base", "metas": "meta"}
        found["compare"] = {
            key: all_named(kinds[key], value) if key in kinds else value for key, value in compare.items()
        }
    return found


def sweep(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The source of every point of the swept axis; the source itself if nothing is swept."""
    plain = {key: value for key, value in source.items() if key not in ("sweep", *WORDS)}
    if "sweep" not in source:
        return [plain]
    axis, where = source["sweep"], f"{of_experiment(source)}: sweep"
    if not isinstance(axis, Mapping):
        raise CorralError(f"{where} must be a table with parameter and values")
    check_keys(axis, ["parameter", "values"], where)
    path = convert(axis.get("parameter"), str, f"{where}.parameter")
    values = [
        round(value) if path in ("horizon", "bases") and isinstance(value, float) and math.isfinite(value) else value
        for value in expand(axis.get("values"), f"{where}.values")
    ]
    names = [f"{value:.6g}" if isinstance(value, float) else f"{value}" for value in values]
    if len(set(names)) < len(names):
        names = [f"{value}" for value in values]
    if twice := [name for name in names if names.count(name) > 1]:
        raise CorralError(f"{where}.values has {shortened(twice[0])} twice; every value must be different")
    points = []
    for name, value in zip(names, values, strict=True):
        point = copy.deepcopy(plain)
        _set(point, path, value, where)
        points.append({**point, "at": f"{path} = {name}"})
    return points


def _set(point: dict[str, Any], path: str, value: Any, where: str) -> None:
    """Set a swept value at its dotted path."""
    *outer, last = ["first_bases"] if path == "bases" else path.split(".")
    table: Any = point
    for key in outer:
        if isinstance(table, list):
            table = of_name(table, key)
        elif isinstance(table, dict):
            table = table.setdefault(key, {}) if key in ("meta", "environment", "options", "grid") else table.get(key)
        if table is None:
            raise CorralError(f"{where}.parameter: there is no {shown(path)} in the experiment")
    if not isinstance(table, dict):
        raise CorralError(f"{where}.parameter: {shown(path)} does not name a single value")
    table[last] = value
