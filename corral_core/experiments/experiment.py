"""An experiment file, parsed and checked before anything runs.

    name = "quickstart"
    question = "..."                     # one line: what the experiment asks
    horizon = 20000                      # plays
    replicates = 64
    seed = 1
    preset = "paper"                     # paper, theory or practice
    options = { bias = 1.0 }             # plain options, over the preset's

    [environment]
    name = "bernoulli-arms"
    means = [0.5, 0.45]

    [meta]
    name = "corral"
    eta = "auto"

    [[bases]]
    name = "epsilon-greedy"
    grid = { c = { geometric = [1, "2 * horizon"], count = 18 } }

    [compare]
    alone = "plain"                      # each base alone: plain, smooth, both or none
    bases = [{ name = "ucb" }]           # other bases alone
    metas = [{ name = "exp3p" }]         # other metas over the same bases, with a preset of their own if wanted
    presets = ["practice"]               # the same meta under other presets

    [sweep]                              # one axis: "horizon", "bases" (how many), or a dotted name like "meta.eta"
    parameter = "horizon"
    values = [1000, 10000, 100000]

Wherever a number may stand, "horizon" or "2 * horizon" follows the horizon. What a paper says about the experiment
may stand beside all this (`corral_core.experiments.claims`): it is checked here, and no part of what is played.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from corral_core.errors import CorralError
from corral_core.experiments.claims import WORDS, Stated, check, stated
from corral_core.experiments.curves import bases_of, curves_of, made
from corral_core.experiments.grids import follow_horizon
from corral_core.experiments.source import read, sweep
from corral_core.parsing import check_keys, convert, shown
from corral_core.protocols.environment import Environment
from corral_core.protocols.problem import Problem
from corral_core.selection.compatibility import check_fit
from corral_core.simulation.curve import Curve
from corral_core.simulation.memory import bytes_per_row

KEYS = [
    "name",
    "question",
    "horizon",
    "replicates",
    "seed",
    "preset",
    "options",
    "delta",
    "chunk",
    "environment",
    "meta",
    "bases",
    "first_bases",
    "compare",
    "sweep",
    "at",
]
MOST_PLAYS = 2**31 - 1  # the curves count them in 32 bits
MOST_REPLICATES = 1_000_000
CHUNK = 512
CHUNK_BYTES = 400_000_000


@attrs.frozen
class Experiment:
    """One point of an experiment (all of it, where nothing is swept): everything resolved, nothing left open."""

    name: str
    question: str
    horizon: int  # plays
    replicates: int
    seed: int
    delta: float
    chunk: int  # replicates that advance together
    at: str  # the value of the swept axis, or nothing
    environment: Environment
    problem: Problem
    curves: tuple[Curve, ...]
    source: dict[str, Any] = attrs.field(eq=False, repr=False)  # what `parse` makes the same experiment from

    @property
    def chunks(self) -> int:
        """How many chunks the replicates make."""
        return -(-self.replicates // self.chunk)

    @property
    def names(self) -> list[str]:
        """Of the curves."""
        return [curve.name for curve in self.curves]

    def rows(self, chunk: int) -> int:
        """How many replicates a chunk holds."""
        return min(self.chunk, self.replicates - chunk * self.chunk)

    def choices(self, curve: Curve) -> list[str]:
        """What a curve's meta chose for itself, a sentence each."""
        return curve.meta.choices(curve.told(self.problem, self.horizon)) if curve.meta else []

    def curve(self, name: str) -> Curve:
        """The curve of this name."""
        return next(curve for curve in self.curves if curve.name == name)


def load(name: str, **overrides: Any) -> list[Experiment]:
    """The points of an experiment, with some keys (horizon, replicates, seed) set otherwise."""
    source = read(name)
    found = stated(source)
    wanted = {key: value for key, value in overrides.items() if value is not None}
    points = _points(source, wanted)
    if not wanted:
        _check_claims(found, points)
    return points


def load_stated(name: str, quick: bool = False) -> tuple[list[Experiment], Stated]:
    """The points of an experiment, or of its smaller version, and what a paper says about it."""
    source = read(name)
    found = stated(source)
    changed = dict(found.quick) if quick else {}
    if "sweep" in changed:
        source["sweep"] = {**source["sweep"], "values": changed.pop("sweep")}
    points = _points(source, changed)
    _check_claims(found, points)
    return points, found


def _points(source: dict[str, Any], wanted: dict[str, Any]) -> list[Experiment]:
    points = sweep({**source, **wanted})
    swept = points[0].get("at", "").partition(" ")[0]
    if swept in wanted:
        raise CorralError(
            f"experiment {source['name']} sweeps {swept}, so --{swept} would change nothing; leave it out"
        )
    return [parse(point) for point in points]


def _check_claims(found: Stated, points: Sequence[Experiment]) -> None:
    there = [(point.at, point.horizon, point.names) for point in points]
    check(found, there, f"experiment {points[0].name}")


def parse(source: Mapping[str, Any]) -> Experiment:
    """One point, checked and resolved: whatever can be refused is refused here."""
    where = f"experiment {source.get('name', '(without a name)')}"
    check_keys(source, [*KEYS, *WORDS], where)
    source = {key: value for key, value in source.items() if key not in WORDS}
    for key in ("horizon", "environment", "bases"):
        if key not in source:
            raise CorralError(f"{where} needs {key}")
    horizon = _whole(source["horizon"], f"{where}: horizon", most=MOST_PLAYS)
    read = follow_horizon({key: value for key, value in source.items() if key != "horizon"}, horizon)
    environment = made("environment", read["environment"], where)
    replicates = _whole(read.get("replicates", 32), f"{where}: replicates", most=MOST_REPLICATES)
    delta = convert(read.get("delta", 1 / max(horizon, 2)), float, f"{where}: delta")
    if not 0 < delta < 1:
        raise CorralError(f"{where}: delta must lie between 0 and 1, not {delta}")
    problem = attrs.evolve(environment.problem, horizon=horizon, delta=delta)
    if problem.low is not None and problem.high is not None and not math.isfinite(problem.high - problem.low):
        raise CorralError(f"{where}: the mean rewards of {environment.name} span more than a number can hold")
    bases = bases_of(read["bases"], problem, f"{where}: bases")
    first = _whole(read.get("first_bases", len(bases)), f"{where}: first_bases")
    if first > len(bases):
        raise CorralError(f"{where}: first_bases asks for {first} bases of {len(bases)}")
    bases = bases[:first]
    curves = curves_of(read, bases, problem, where)
    _check(curves, environment, problem, horizon, where)
    chunk = _whole(read.get("chunk", CHUNK), f"{where}: chunk")
    if "chunk" not in read:
        most = max(1, min(CHUNK, CHUNK_BYTES // _bytes_per_row(environment, curves, horizon, where)))
        chunk = -(-replicates // -(-replicates // most))  # as few as that allows, and all about alike
    return Experiment(
        name=convert(source.get("name", "experiment"), str, f"{where}: name"),
        question=convert(source.get("question", ""), str, f"{where}: question"),
        horizon=horizon,
        replicates=replicates,
        seed=_whole(read.get("seed", 1), f"{where}: seed", least=0),
        delta=delta,
        chunk=chunk,
        at=convert(source.get("at", ""), str, f"{where}: at"),
        environment=environment,
        problem=problem,
        curves=tuple(curves),
        source={**source, "chunk": chunk},
    )


def _whole(value: Any, where: str, least: int = 1, most: float = math.inf) -> int:
    number: int = convert(value, int, where)
    if number < least:
        raise CorralError(f"{where} must be a whole number of at least {least}, not {shown(number)}")
    if number > most:
        raise CorralError(f"{where} must be at most {most:,}, not {shown(number)}")
    return number


def _check(curves: list[Curve], environment: Environment, problem: Problem, horizon: int, where: str) -> None:
    """Whatever a run would stumble over at its first play."""
    for curve in curves:
        try:
            check_fit(curve.bases, curve.meta, problem, curve.options)
            if curve.meta is not None:
                curve.meta.init(1, curve.told(problem, horizon))
        except CorralError as refused:
            raise CorralError(f"{where}: {refused}") from None


def _bytes_per_row(environment: Environment, curves: list[Curve], horizon: int, where: str) -> int:
    try:
        return bytes_per_row(environment, curves, horizon)
    except (MemoryError, OverflowError, ValueError) as problem:  # numpy's words for arrays beyond all bounds
        raise CorralError(f"{where}: one replicate cannot be set up: {problem}") from None
