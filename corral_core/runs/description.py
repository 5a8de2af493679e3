"""What a run plays, in plain words and numbers: a report needs no plugin to read it."""

from __future__ import annotations

from typing import Any

import attrs

from corral_core.errors import CorralError
from corral_core.experiments.checking import check_name, check_number, check_record, check_source, check_text
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.guarantee import orders
from corral_core.experiments.point import Point
from corral_core.parsing import check_keys, convert
from corral_core.selection.options import PlayerName
from corral_core.selection.stated import check_quantities
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
    records: tuple[str, ...] = ()  # names of the quantities that the meta records


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
        records=curve.records,
    )


def to_table(point: PointDescription) -> dict[str, Any]:
    """A point as plain values, which `read_point` reads. A curve that records nothing does not mention it."""
    return attrs.asdict(point, filter=lambda field, value: field.name != "records" or bool(value))


# --- Reading ----------------------------------------------------------------------------------------------------------


def read_point(found: Any, where: str) -> PointDescription:
    """A point from what `to_table` and JSON made of it. Anybody may have written it: everything is checked."""
    values = _fields(PointDescription, found, where)
    curves = values["curves"]
    if not isinstance(curves, list) or not curves:
        raise CorralError(f"{where}: curves must be a list of at least one curve")
    values["curves"] = tuple(_read_curve(curve, f"{where}: curves[{number}]") for number, curve in enumerate(curves))
    point = PointDescription(**values)
    for name in ("horizon", "replicates", "seed", "chunk_size"):
        check_number(getattr(point, name), name, where)
    if len(set(point.names)) < len(point.names):
        raise CorralError(f"{where}: two curves have the same name")
    for name in (point.name, point.at):
        check_name(name, where)
    check_text(point.question, where)
    check_record(point, where)
    check_source(point.source, where)
    if (point.source.get("horizon"), point.source.get("at", "")) != (point.horizon, point.at):
        raise CorralError(f"{where}: horizon and at differ from those of its source")
    return point


def _read_curve(found: Any, where: str) -> CurveDescription:
    curve = CurveDescription(**_fields(CurveDescription, found, where))
    if not curve.bases:
        raise CorralError(f"{where}: bases must name at least one base")
    for name in (curve.name, curve.meta or "", *curve.bases):
        check_name(name, where)
    for text in curve.choices:
        check_text(text, where)
    check_quantities(curve.records, where)
    return curve


def _fields(cls: type[Any], found: Any, where: str) -> dict[str, Any]:
    """The fields of a description, each of its type; curves are left for later."""
    fields = attrs.fields(attrs.resolve_types(cls))
    kinds = {field.name: field.type for field in fields}
    if not isinstance(found, dict):
        raise CorralError(f"{where} must be a table")
    check_keys(found, kinds, where)
    found = {field.name: field.default for field in fields if field.default is not attrs.NOTHING} | found
    if missing := [name for name in kinds if name not in found]:
        raise CorralError(f"{where} needs {missing[0]}")
    plain = {"curves": Any, "source": dict}
    return {name: convert(found[name], plain.get(name, kind), f"{where}: {name}") for name, kind in kinds.items()}
