"""One point of an experiment: one value of the swept axis, checked and resolved before anything runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from corral_core.errors import CorralError, Terminated, place, reason
from corral_core.experiments.checking import (
    KEYS,
    check_name,
    check_number,
    check_record,
    check_sizes,
    check_text,
    of_experiment,
)
from corral_core.experiments.chunk_size import chunk_size
from corral_core.experiments.claims import WORDS
from corral_core.experiments.curves import bases_of, curves_of, made, shown_names
from corral_core.experiments.grids import follow_horizon
from corral_core.experiments.source import qualified
from corral_core.parsing import check_keys, convert
from corral_core.protocols.environment import Environment
from corral_core.protocols.problem import Problem
from corral_core.selection.compatibility import check_fit, check_unknown_rounds
from corral_core.selection.options import switched_off
from corral_core.selection.stated import stated_choices
from corral_core.simulation.curve import Curve


@attrs.frozen
class Point:
    """One value of the swept axis, or the whole experiment if nothing is swept. Everything in it is resolved."""

    name: str  # of the experiment
    question: str
    horizon: int  # plays; the problem has none if bases and metas are not told how many there will be
    replicates: int
    seed: int
    delta: float
    chunk_size: int  # replicates that advance together
    at: str  # the value of the swept axis; empty if nothing is swept
    environment: Environment
    problem: Problem
    curves: tuple[Curve, ...]
    source: dict[str, Any] = attrs.field(eq=False, repr=False)  # `parse_point` makes the same point from it

    @property
    def names(self) -> list[str]:
        """Names of the curves."""
        return [curve.name for curve in self.curves]

    def choices(self, curve: Curve) -> list[str]:
        """One sentence per parameter that a curve's meta chose for itself, and one if options are switched off."""
        chosen = stated_choices(curve.meta, curve.told(self.problem)) if curve.meta else []
        return [*chosen, *_claimed(curve), *switched_off(curve.meta, curve.asked_for)]

    def curve(self, name: str) -> Curve:
        """The curve of this name."""
        return next(curve for curve in self.curves if curve.name == name)


def _claimed(curve: Curve) -> list[str]:
    """One sentence about the bounds that the experiment claims for bases, or none."""
    pairs = zip(curve.labels, curve.bases, strict=True)
    terms = [(label, " + ".join(map(str, base.claimed))) for label, base in pairs if base.claimed is not None]
    said = ", ".join(f"{bound} for {label}" for label, bound in terms)
    return [f"U(s) as given, instead of the bases' own: {said}"] if said and curve.meta else []


def parse_point(source: Mapping[str, Any], owner: str | None = None) -> Point:
    """Check and resolve one point: everything that can be refused is refused here.

    Names without a plugin refer first to what `owner` provides: the plugin that registers the experiment, if any.
    """
    where = of_experiment(source)
    check_keys(source, [*KEYS, *WORDS], where)
    source = {key: value for key, value in source.items() if key not in WORDS}
    for key in ("horizon", "environment", "bases"):
        if key not in source:
            raise CorralError(f"{where} needs {key}")
    source = qualified(source, owner)
    horizon = check_number(source["horizon"], "horizon", where)
    read = follow_horizon({key: value for key, value in source.items() if key != "horizon"}, horizon)
    environment = _at_horizon(made("environment", read["environment"], where), horizon, where)
    replicates = check_number(read.get("replicates", 32), "replicates", where)
    anytime = convert(read.get("anytime", False), bool, f"{where}: anytime")
    if anytime and "delta" not in read:
        raise CorralError(f"{where}: anytime needs delta, because 1/horizon would tell the horizon")
    delta = convert(read.get("delta", 1 / max(horizon, 2)), float, f"{where}: delta")
    if not 0 < delta < 1:
        raise CorralError(f"{where}: delta must lie between 0 and 1, not {delta}")
    problem = attrs.evolve(environment.problem, horizon=None if anytime else horizon, delta=delta)
    check_sizes(problem, where)
    if problem.low is not None and problem.high is not None and not math.isfinite(problem.high - problem.low):
        raise CorralError(f"{where}: the mean rewards of {environment.name} have a range that is too large for a float")
    shown_as = shown_names(read)
    bases = bases_of(read["bases"], problem, f"{where}: bases", shown_as)
    first = check_number(read.get("first_bases", len(bases)), "first_bases", where)
    if first > len(bases):
        raise CorralError(f"{where}: first_bases is {first}, but the experiment has only {len(bases)}")
    bases = bases[:first]
    curves = curves_of(read, bases, problem, where, shown_as)
    _check(curves, problem, where)
    if "chunk_size" in read:
        size = check_number(read["chunk_size"], "chunk_size", where)
    else:
        size = chunk_size(environment, curves, horizon, replicates, where)
    point = Point(
        name=convert(source.get("name", "experiment"), str, f"{where}: name"),
        question=convert(source.get("question", ""), str, f"{where}: question"),
        horizon=horizon,
        replicates=replicates,
        seed=check_number(read.get("seed", 1), "seed", where),
        delta=delta,
        chunk_size=size,
        at=convert(source.get("at", ""), str, f"{where}: at"),
        environment=environment,
        problem=problem,
        curves=tuple(curves),
        source={**source, "chunk_size": size},
    )
    for name in (point.name, point.at, *(each for curve in curves for each in (curve.name, *curve.labels))):
        check_name(name, where)
    check_text(point.question, where)
    check_record(point, where)
    return point


def _at_horizon(environment: Environment, horizon: int, where: str) -> Environment:
    try:
        return environment.at_horizon(horizon)
    except CorralError as refused:
        raise CorralError(f"{where}: {refused}") from None


def _check(curves: list[Curve], problem: Problem, where: str) -> None:
    """Refuse what would fail at the first play."""
    for curve in curves:
        try:
            check_fit(curve.bases, curve.meta, problem, curve.options)
            if problem.horizon is None:
                _check_anytime(curve, problem)
            if curve.meta is not None:
                curve.meta.init(1, curve.told(problem))
        except CorralError as refused:
            raise CorralError(f"{where}: {refused}") from None
        except Terminated:
            raise
        except (Exception, SystemExit) as bug:
            raise CorralError(f"{where}: the curve {curve.name} cannot be set up: {reason(bug)}{place(bug)}") from bug


def _check_anytime(curve: Curve, problem: Problem) -> None:
    """Refuse a meta that must know the horizon if the experiment hides it."""
    if curve.meta is not None and curve.meta.needs_horizon:
        raise CorralError(
            f"{curve.meta.name} must know the horizon, which anytime hides; leave out anytime, or take another meta"
        )
    check_unknown_rounds(curve.meta, problem, curve.options)
