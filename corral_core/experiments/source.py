"""The source of an experiment: read from a TOML file or a plugin, and swept into one source per point."""

from __future__ import annotations

import copy
import math
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corral_core.errors import CorralError
from corral_core.experiments.claims import WORDS
from corral_core.experiments.grids import expand
from corral_core.parsing import check_keys, convert
from corral_core.registry.names import get_registry


def is_file(name: str) -> bool:
    """Whether this names a file, rather than an experiment that a plugin registers."""
    return name.endswith(".toml") or os.path.isfile(name)


def is_registered(name: str) -> bool:
    """Whether a plugin registers an experiment of this name."""
    return any(entry.name == name for entry in get_registry().entries("experiment"))


def read(name: str) -> dict[str, Any]:
    """The source of an experiment: a TOML file, or a name that a plugin registers."""
    if is_file(name):
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
            raise CorralError(f"the experiment file {name} cannot be read: {reason}") from None
        default = Path(name).stem
    else:
        text, default = get_registry().load("experiment", name), name
    try:
        source = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # also numbers of thousands of digits, and tables without end
        raise CorralError(f"the experiment {name} is not valid TOML: {problem}") from None
    return {"name": default, **source}


def sweep(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The source of every point of the swept axis; the source itself where nothing is swept."""
    plain = {key: value for key, value in source.items() if key not in ("sweep", *WORDS)}
    if "sweep" not in source:
        return [plain]
    axis, where = source["sweep"], f"experiment {source.get('name')}: sweep"
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
        raise CorralError(f"{where}.values has {twice[0]} twice; every point needs a value of its own")
    points = []
    for name, value in zip(names, values, strict=True):
        point = copy.deepcopy(plain)
        _set(point, path, value, where)
        points.append({**point, "at": f"{path} = {name}"})
    return points


def _set(point: dict[str, Any], path: str, value: Any, where: str) -> None:
    """Put a swept value where the dotted path says."""
    *outer, last = ["first_bases"] if path == "bases" else path.split(".")
    table: Any = point
    for key in outer:
        if isinstance(table, list):
            named = [item for item in table if isinstance(item, dict) and item.get("name") == key]
            table = named[0] if named else None
        elif isinstance(table, dict):
            table = table.setdefault(key, {}) if key in ("meta", "environment", "options", "grid") else table.get(key)
        if table is None:
            raise CorralError(f"{where}.parameter: there is no {path!r} in the experiment")
    if not isinstance(table, dict):
        raise CorralError(f"{where}.parameter: {path!r} does not name one value")
    table[last] = value
