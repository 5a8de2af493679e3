"""How to play a run again: the command, and an experiment file that needs only the plugins."""

from __future__ import annotations

import copy
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from corral_core import CorralError
from corral_core.experiments.source import is_registered, of_name, qualified, read, sweep
from corral_core.runs.description import PointDescription
from corral_report.toml import to_toml

OPTIONS = ("replicates", "horizon", "seed")
Source = dict[str, Any]


@attrs.frozen
class Repetition:
    """Commands that play a run again, and experiment files by name; a registered experiment does not need the files."""

    commands: tuple[str, ...]
    registered: bool
    files: dict[str, str]


def repetition(points: Sequence[PointDescription]) -> Repetition:
    """The shortest command that plays exactly these points, and the files from which they can always be played."""
    sources = [_plain(point.source) for point in points]
    files = experiment_files(sources, points[0].name)
    out = f"--out {slug(points[0].name)}"
    if (options := _overrides(points[0].name, sources)) is not None:
        words = [points[0].name, *(word for key, value in options.items() for word in (f"--{key}", str(value)))]
        return Repetition((f"corral run {shlex.join(words)} {out}",), True, files)
    commands = tuple(f"corral run {name} --out {name.removesuffix('.toml')}" for name in files)
    return Repetition(commands, False, files)


def experiment_files(sources: Sequence[Source], name: str) -> dict[str, str]:
    """One file if the points form a sweep, otherwise one per point."""
    if len(sources) > 1 and (whole := _swept(sources)) is not None:
        return {f"{slug(name)}.toml": to_toml(whole)}
    if len(sources) == 1:
        return {f"{slug(name)}.toml": to_toml(_without(sources[0], "at"))}
    return {f"{slug(name)}-{number}.toml": to_toml(_without(each, "at")) for number, each in enumerate(sources, 1)}


def slug(name: str) -> str:
    """The name as a file name that is safe in every shell."""
    return re.sub(r"[^A-Za-z0-9.=_+-]+", "-", name).strip("-.")[:80] or "experiment"


def _plain(source: Mapping[str, Any]) -> Source:
    """The source as JSON keeps it, so that a run can be compared with what a plugin registers."""
    kept: Source = json.loads(json.dumps(source, default=str))
    return kept


def _overrides(name: str, sources: Sequence[Source]) -> dict[str, Any] | None:
    """The options with which the registered experiment of this name gives these points; None if there are none."""
    if not is_registered(name):
        return None
    try:
        registered, owner = read(name)
        options = {
            key: sources[0][key]
            for key in OPTIONS
            if all(source.get(key) == sources[0].get(key) for source in sources)
            and sources[0].get(key) not in (None, registered.get(key))
        }
        points = [_plain(qualified(point, owner)) for point in sweep({**registered, **options})]
    except CorralError:  # the plugin has changed since, or is broken
        return None
    # If the experiment does not set the chunk size, it follows from the rest.
    found = [source if "chunk_size" in registered else _without(source, "chunk_size") for source in sources]
    return options if found == points else None


def _swept(sources: Sequence[Source]) -> Source | None:
    """The experiment whose swept points these are, or None."""
    path = sources[0].get("at", "").partition(" = ")[0]
    sizes = {source.get("chunk_size") for source in sources}
    leave_out = () if len(sizes) == 1 else ("chunk_size",)  # if they differ, they follow from the horizon
    points = [_without(source, *leave_out) for source in sources]
    try:
        values = [_value(point, path) for point in points]
        whole = {**_without(copy.deepcopy(points[0]), "at"), "sweep": {"parameter": path, "values": values}}
        return whole if sweep(whole) == points else None
    except (CorralError, LookupError, TypeError):
        return None


def _value(point: Source, path: str) -> Any:
    """The value at a dotted path; a step into a list goes to the table of that name."""
    found: Any = point
    for key in ["first_bases"] if path == "bases" else path.split("."):
        found = of_name(found, key) if isinstance(found, list) else found[key]
    return found


def _without(source: Source, *keys: str) -> Source:
    return {key: value for key, value in source.items() if key not in keys}
