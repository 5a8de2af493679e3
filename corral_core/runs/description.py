"""What a run plays, in plain words and numbers: a report needs no plugin to read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from corral_core.experiments.experiment import Experiment
from corral_core.experiments.guarantee import orders
from corral_core.experiments.point import Point
from corral_core.selection.options import PlayerName
from corral_core.simulation.curve import Curve


@attrs.frozen
class CurveDescription:
    """One curve."""

    name: str
    bases: tuple[str, ...]  # their labels; for a base alone, its own
    meta: str | None  # None for a base alone
    player: PlayerName
    choices: tuple[str, ...]  # sentences: parameters that the meta chose for itself, options that it switches off
    exponents: tuple[float, ...]  # exponents of T that theory promises, ascending; may be empty


@attrs.frozen
class PointDescription:
    """One point of an experiment."""

    name: str  # of the experiment
    question: str
    at: str  # the value of the swept axis; empty if nothing is swept
    horizon: int  # plays
    replicates: int
    seed: int
    chunk_size: int  # replicates that advance together
    curves: tuple[CurveDescription, ...]
    source: dict[str, Any] = attrs.field(eq=False, repr=False)  # `parse_point` makes the same point from it

    @property
    def names(self) -> list[str]:
        """Names of the curves."""
        return [curve.name for curve in self.curves]

    def curve(self, name: str) -> CurveDescription:
        """The curve of this name."""
        return next(curve for curve in self.curves if curve.name == name)


def describe(experiment: Experiment) -> tuple[PointDescription, ...]:
    """The plain form of every point of an experiment."""
    return tuple(
        PointDescription(
            name=point.name,
            question=point.question,
            at=point.at,
            horizon=point.horizon,
            replicates=point.replicates,
            seed=point.seed,
            chunk_size=point.chunk_size,
            curves=tuple(_curve(point, curve) for curve in point.curves),
            source=point.source,
        )
        for point in experiment.points
    )


def _curve(point: Point, curve: Curve) -> CurveDescription:
    return CurveDescription(
        name=curve.name,
        bases=curve.labels,
        meta=curve.meta.name if curve.meta else None,
        player=curve.options.player,
        choices=tuple(point.choices(curve)),
        exponents=orders(point, curve),
    )


def from_json(found: Mapping[str, Any]) -> PointDescription:
    """The inverse of `attrs.asdict` after JSON, in which tuples have become lists."""
    curves = tuple(CurveDescription(**_with_tuples(curve)) for curve in found["curves"])
    return PointDescription(**{**found, "curves": curves})


def _with_tuples(found: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}
