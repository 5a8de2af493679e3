"""Settings and numbers of a run in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from corral_core.analysis.statistics import Interval, mean_interval
from corral_core.runs.description import Line, Setting
from corral_core.runs.results import Result
from corral_core.terminal import number, plays
from corral_report.page import Html, escape, names
from corral_report.toml import inline

ABSENT = "–"
PLAYERS = {
    "smooth": "smoothed, two plays a round",
    "plain": "plain, one play a round",
    "boosted": "boosted, copies that take turns",
}
PRESETS = {
    "paper": "smoothed bases; no bias, no base test, no restarts",
    "theory": "smoothed bases with the bias, the base test and the restarts that the theorems assume",
    "practice": "plain bases, one play a round",
}


def settings_in_words(settings: Sequence[Setting]) -> list[tuple[str, list[str]]]:
    """Terms, and what is to be said of each, for all points of a run together."""
    first = settings[0]
    horizons = list(dict.fromkeys(setting.horizon for setting in settings))
    said = [
        ("environment", _by_point(settings, lambda setting: [_named(setting.source.get("environment", {}))])),
        ("meta", _by_point(settings, lambda setting: [_named(setting.source["meta"])] if _has_meta(setting) else [])),
        ("learning rates", _by_point(settings, _choices)),
        ("bases", _by_point(settings, lambda setting: [names(_bases(setting))])),
        ("preset", [_preset(first.source)]),
        ("how bases are played", _by_point(settings, _played)),
        (
            "horizon",
            [", ".join(f"{each:,}" for each in horizons[:-1]) + ", " * (len(horizons) > 1) + plays(horizons[-1])],
        ),
        ("replicates", [f"{first.replicates:,}"]),
        ("seed", [str(first.seed)]),
    ]
    return [(term, lines) for term, lines in said if lines]


def swept(setting: Setting) -> tuple[str, str]:
    """The swept parameter and its value at this point; nothing, twice, where nothing is swept."""
    parameter, _, value = setting.at.partition(" = ")
    return parameter, value


def interval(result: Result, level: float = 0.95) -> Interval:
    """Of the mean of what the replicates came to; not a number where one of them has none."""
    if not np.isfinite(result.final).all():
        return Interval(math.nan, math.nan, math.nan, level)
    return mean_interval(result.final, level)


def known(value: float) -> str:
    """A number, with a minus sign where it is below zero; a dash where there is none."""
    return ABSENT if math.isnan(value) else number(value).replace("-", "−")


def reach(found: Interval) -> str:
    """From where to where; one replicate tells nothing about chance."""
    return ABSENT if math.isnan(found.low) else f"{known(found.low)} to {known(found.high)}"


def with_error(result: Result | None) -> str:
    """The mean ± half the width of its interval."""
    if result is None:
        return ABSENT
    found = interval(result)
    half = (found.high - found.low) / 2
    return known(found.estimate) + ("" if math.isnan(half) else f" ± {known(half)}")


def _by_point(settings: Sequence[Setting], say: Callable[[Setting], list[str]]) -> list[str]:
    """What is said of every point; once where it is the same for all."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for setting in settings:
        lines.setdefault(tuple(say(setting)), []).append(setting.at)
    if len(lines) == 1:
        return list(next(iter(lines)))
    return [Html(f"{names(at)}: {escape(sentence)}") for sentences, at in lines.items() for sentence in sentences]


def _named(table: Mapping[str, Any]) -> str:
    """A name with its parameters."""
    parameters = [f"{key} = {inline(value)}" for key, value in table.items() if key != "name"]
    return f"{table.get('name', '')}{' with ' * bool(parameters)}{', '.join(parameters)}"


def _has_meta(setting: Setting) -> bool:
    return isinstance(setting.source.get("meta"), Mapping)


def _choices(setting: Setting) -> list[str]:
    """What every meta chose for itself, and why."""
    return [f"{line.name}: {sentence}" for line in setting.lines for sentence in line.choices]


def _bases(setting: Setting) -> list[str]:
    return list(dict.fromkeys(label for line in setting.lines for label in line.bases))


def _preset(source: Mapping[str, Any]) -> str:
    name = str(source.get("preset", "paper"))
    said = f"{name} ({PRESETS[name]})" if name in PRESETS else name
    options = source.get("options") or {}
    changed = ", ".join(f"{key} = {inline(value)}" for key, value in options.items())
    return f"{said}, but {changed}" if changed else said


def _played(setting: Setting) -> list[str]:
    """Which curves play their bases in which way."""
    found: dict[str, list[Line]] = {}
    for line in setting.lines:
        found.setdefault(line.player, []).append(line)
    return [f"{PLAYERS.get(player, player)}: {_some(lines)}" for player, lines in found.items()]


def _some(lines: Sequence[Line]) -> str:
    """Metas by name, and bases alone in a few words."""
    metas = [line.name for line in lines if line.meta is not None]
    alone = len(lines) - len(metas)
    return ", ".join([*metas, *([f"{alone} base{'s' * (alone > 1)} alone"] if alone else [])])
