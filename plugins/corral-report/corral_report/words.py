"""The settings and numbers of a run in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from corral_core import Result
from corral_core.analysis.statistics import Interval, mean_interval
from corral_core.experiments.source import bare
from corral_core.runs.description import CurveDescription, PointDescription
from corral_core.terminal import number, plays
from corral_report.page import Html, escape, names
from corral_report.toml import inline

ABSENT = "–"
PLAYERS = {
    "smooth": "smoothed, two plays per round",
    "plain": "plain, one play per round",
    "boosted": "boosted, copies that take turns",
}
PRESETS = {
    "paper": "smoothed bases; no bias, no base test, no restarts",
    "theory": "smoothed bases with the bias, the base test and the restarts that the theorems assume",
    "practice": "plain bases, one play per round",
}


def settings_in_words(points: Sequence[PointDescription]) -> list[tuple[str, list[str]]]:
    """Terms and their descriptions, for all points of a run together."""
    first = points[0]
    horizons = list(dict.fromkeys(point.horizon for point in points))
    said = [
        ("environment", _by_point(points, lambda point: [_named(point.source.get("environment", {}))])),
        ("meta", _by_point(points, lambda point: [_named(point.source["meta"])] if _has_meta(point) else [])),
        ("learning rates", _by_point(points, _choices)),
        ("bases", _by_point(points, lambda point: [names(_bases(point))])),
        ("preset", [_preset(first.source)]),
        ("how bases are played", _by_point(points, _played)),
        (
            "horizon",
            [", ".join(f"{each:,}" for each in horizons[:-1]) + ", " * (len(horizons) > 1) + plays(horizons[-1])],
        ),
        ("replicates", [f"{first.replicates:,}"]),
        ("seed", [str(first.seed)]),
    ]
    return [(term, lines) for term, lines in said if lines]


def swept(point: PointDescription) -> tuple[str, str]:
    """The swept parameter and its value at this point; both are empty if nothing is swept."""
    parameter, _, value = point.at.partition(" = ")
    return parameter, value


def interval(result: Result, level: float = 0.95) -> Interval:
    """The interval of the final mean over replicates; NaN if a replicate is not finite."""
    if not np.isfinite(result.final).all():
        return Interval(math.nan, math.nan, math.nan, level)
    return mean_interval(result.final, level)


def known(value: float) -> str:
    """A number, with a proper minus sign if it is negative; a dash for NaN."""
    return ABSENT if math.isnan(value) else number(value).replace("-", "−")


def reach(found: Interval) -> str:
    """The ends of an interval; a dash if there is only one replicate."""
    return ABSENT if math.isnan(found.low) else f"{known(found.low)} to {known(found.high)}"


def with_error(result: Result | None) -> str:
    """The mean ± half the width of its interval."""
    if result is None:
        return ABSENT
    found = interval(result)
    half = (found.high - found.low) / 2
    return known(found.estimate) + ("" if math.isnan(half) else f" ± {known(half)}")


def _by_point(points: Sequence[PointDescription], say: Callable[[PointDescription], list[str]]) -> list[str]:
    """The description of every point, or a single one if it is the same for all."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for point in points:
        lines.setdefault(tuple(say(point)), []).append(point.at)
    if len(lines) == 1:
        return list(next(iter(lines)))
    return [Html(f"{names(at)}: {escape(sentence)}") for sentences, at in lines.items() for sentence in sentences]


def _named(table: Mapping[str, Any]) -> str:
    """A name with its parameters."""
    parameters = [f"{key} = {inline(value)}" for key, value in table.items() if key != "name"]
    return f"{bare(str(table.get('name', '')))}{' with ' * bool(parameters)}{', '.join(parameters)}"


def _has_meta(point: PointDescription) -> bool:
    return isinstance(point.source.get("meta"), Mapping)


def _choices(point: PointDescription) -> list[str]:
    """What every meta chose for itself, and why."""
    return [f"{curve.name}: {sentence}" for curve in point.curves for sentence in curve.choices]


def _bases(point: PointDescription) -> list[str]:
    return list(dict.fromkeys(label for curve in point.curves for label in curve.bases))


def _preset(source: Mapping[str, Any]) -> str:
    name = str(source.get("preset", "paper"))
    said = f"{name} ({PRESETS[name]})" if name in PRESETS else name
    options = source.get("options") or {}
    changed = ", ".join(f"{key} = {inline(value)}" for key, value in options.items())
    return f"{said}, but {changed}" if changed else said


def _played(point: PointDescription) -> list[str]:
    """How bases are played, and in which curves."""
    found: dict[str, list[CurveDescription]] = {}
    for curve in point.curves:
        found.setdefault(curve.player, []).append(curve)
    return [f"{PLAYERS.get(player, player)}: {_some(curves)}" for player, curves in found.items()]


def _some(curves: Sequence[CurveDescription]) -> str:
    """The names of metas, and the number of bases alone."""
    metas = [curve.name for curve in curves if curve.meta is not None]
    alone = len(curves) - len(metas)
    return ", ".join([*metas, *([f"{alone} base{'s' * (alone > 1)} alone"] if alone else [])])
