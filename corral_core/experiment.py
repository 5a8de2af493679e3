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

Wherever a number may stand, "horizon" or "2 * horizon" follows the horizon.
"""

from __future__ import annotations

import copy
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from corral_core.errors import CorralError
from corral_core.fitting import check_fit
from corral_core.grids import expand, follow_horizon, product
from corral_core.options import PRESETS, Options
from corral_core.parsing import build, check_keys, convert, shown
from corral_core.plugins import Kind
from corral_core.protocols import Base, Environment, Problem
from corral_core.registry import get_registry
from corral_core.simulation import Curve, bytes_per_row

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
ALONE = ("plain", "smooth", "both", "none")
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

    def rows(self, chunk: int) -> int:
        """How many replicates a chunk holds."""
        return min(self.chunk, self.replicates - chunk * self.chunk)

    def choices(self, curve: Curve) -> list[str]:
        """What a curve's meta chose for itself, a sentence each."""
        return curve.meta.choices(curve.told(self.problem, self.horizon)) if curve.meta else []

    def curve(self, name: str) -> Curve:
        """The curve of this name."""
        return next(curve for curve in self.curves if curve.name == name)


def is_file(name: str) -> bool:
    """Whether this names a file, rather than an experiment that a plugin registers."""
    return name.endswith(".toml") or os.path.isfile(name)


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


def load(name: str, **overrides: Any) -> list[Experiment]:
    """The points of an experiment, with some keys (horizon, replicates, seed) set otherwise."""
    source = read(name)
    wanted = {key: value for key, value in overrides.items() if value is not None}
    points = sweep({**source, **wanted})
    swept = points[0].get("at", "").partition(" ")[0]
    if swept in wanted:
        raise CorralError(
            f"experiment {source['name']} sweeps {swept}, so --{swept} would change nothing; leave it out"
        )
    return [parse(point) for point in points]


def sweep(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The source of every point of the swept axis; the source itself where nothing is swept."""
    plain = {key: value for key, value in source.items() if key != "sweep"}
    if "sweep" not in source:
        return [plain]
    axis, where = source["sweep"], f"experiment {source.get('name')}: sweep"
    if not isinstance(axis, Mapping):
        raise CorralError(f"{where} must be a table with parameter and values")
    check_keys(axis, ["parameter", "values"], where)
    path = convert(axis.get("parameter"), str, f"{where}.parameter")
    points = []
    for value in expand(axis.get("values"), f"{where}.values"):
        if path in ("horizon", "bases") and isinstance(value, float) and math.isfinite(value):
            value = round(value)
        point = copy.deepcopy(plain)
        _set(point, path, value, where)
        points.append({**point, "at": f"{path} = {value:.6g}" if isinstance(value, float) else f"{path} = {value}"})
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


def parse(source: Mapping[str, Any]) -> Experiment:
    """One point, checked and resolved: whatever can be refused is refused here."""
    where = f"experiment {source.get('name', '(without a name)')}"
    check_keys(source, KEYS, where)
    for key in ("horizon", "environment", "bases"):
        if key not in source:
            raise CorralError(f"{where} needs {key}")
    horizon = _whole(source["horizon"], f"{where}: horizon", most=MOST_PLAYS)
    read = follow_horizon({key: value for key, value in source.items() if key != "horizon"}, horizon)
    environment = _made("environment", read["environment"], where)
    replicates = _whole(read.get("replicates", 32), f"{where}: replicates", most=MOST_REPLICATES)
    delta = convert(read.get("delta", 1 / max(horizon, 2)), float, f"{where}: delta")
    if not 0 < delta < 1:
        raise CorralError(f"{where}: delta must lie between 0 and 1, not {delta}")
    problem = attrs.evolve(environment.problem, horizon=horizon, delta=delta)
    if problem.low is not None and problem.high is not None and not math.isfinite(problem.high - problem.low):
        raise CorralError(f"{where}: the mean rewards of {environment.name} span more than a number can hold")
    bases = _bases(read["bases"], problem, f"{where}: bases")
    first = _whole(read.get("first_bases", len(bases)), f"{where}: first_bases")
    if first > len(bases):
        raise CorralError(f"{where}: first_bases asks for {first} bases of {len(bases)}")
    bases = bases[:first]
    curves = _curves(read, bases, problem, where)
    _check(curves, environment, problem, horizon, where)
    chunk = _whole(read.get("chunk", CHUNK), f"{where}: chunk")
    if "chunk" not in read:
        chunk = max(1, min(CHUNK, replicates, CHUNK_BYTES // _bytes_per_row(environment, curves, horizon, where)))
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


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise CorralError(f"{where} must be a table with a name")
    if not isinstance(value.get("name"), str):
        raise CorralError(f"{where} needs a name")
    return dict(value)


def _tables(value: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise CorralError(f"{where} must be a list of tables, each with a name")
    return [_table(item, f"{where}[{index}]") for index, item in enumerate(value)]


def _made(kind: Kind, value: Any, where: str) -> Any:
    """The thing that a table with a name and parameters describes."""
    table = _table(value, f"{where}: {kind}")
    name = table.pop("name")
    return build(get_registry().load(kind, name), table, f"{where}: {name}")


def _bases(value: Any, problem: Problem, where: str, taken: Sequence[str] = ()) -> list[tuple[str, Base]]:
    """Every base with its label, grids expanded; a name that is taken, or not the only one, shows its parameters."""
    found: list[tuple[str, Base]] = []
    tables = _tables(value, where)
    for table in tables:
        name, grids = table.pop("name"), table.pop("grid", {})
        cls = get_registry().load("base", name)
        if not isinstance(grids, Mapping):
            raise CorralError(f"{where}: the grid of {name} must be a table of lists")
        twice = [key for key in grids if key in table]
        if twice:
            raise CorralError(f"{where}: {name} has {twice[0]} both as a value and as a grid")
        for point in product(grids, f"{where}: grid of {name}"):
            base = build(cls, {**table, **point}, f"{where}: {name}").resolve(problem)
            several = name in taken or sum(other["name"] == name for other in _tables(value, where)) > 1
            shown = point or (table if several else {})
            found.append((_label(name, shown), base))
    if not found:
        raise CorralError(f"{where} must name at least one base")
    labels = [label for label, _ in found]
    for number, label in enumerate(labels):
        if labels.count(label) > 1:
            found[number] = (f"{label} #{labels[: number + 1].count(label)}", found[number][1])
    return found


def _label(name: str, values: Mapping[str, Any]) -> str:
    shown = [f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in values.items()]
    return f"{name}({', '.join(shown)})" if shown else name


def _options(table: Mapping[str, Any], where: str, preset: str = "paper") -> tuple[str, Options]:
    """The preset a table names, with the options it sets."""
    preset = convert(table.get("preset", preset), str, f"{where}: preset")
    if preset not in PRESETS:
        raise CorralError(f"{where}: preset must be {' or '.join(PRESETS)}, not {preset!r}")
    own = table.get("options", {})
    if not isinstance(own, Mapping):
        raise CorralError(f"{where}: options must be a table")
    return preset, build(Options, {**attrs.asdict(PRESETS[preset]), **own}, f"{where}: options")


def _curves(source: Mapping[str, Any], bases: list[tuple[str, Base]], problem: Problem, where: str) -> list[Curve]:
    labels, made = tuple(label for label, _ in bases), tuple(base for _, base in bases)
    preset, options = _options(source, where)
    compare = source.get("compare", {})
    if not isinstance(compare, Mapping):
        raise CorralError(f"{where}: compare must be a table")
    check_keys(compare, ["alone", "bases", "metas", "presets"], f"{where}: compare")
    curves: list[Curve] = []
    if "meta" in source:
        meta = _made("meta", source["meta"], where)
        curves.append(Curve(meta.name, made, labels, meta, options))
        for other in convert(compare.get("presets", []), tuple[str, ...], f"{where}: compare.presets"):
            _, judged = _options({"preset": other}, f"{where}: compare.presets")
            curves.append(Curve(f"{meta.name} ({other})", made, labels, meta, judged))
    compared: dict[int, Curve] = {}
    tables = _tables(compare.get("metas", []), f"{where}: compare.metas")
    # Those without parameters first: they have nothing but their name to be told apart by.
    for place, table in sorted(
        enumerate(tables), key=lambda pair: bool(pair[1].keys() - {"name", "preset", "options"})
    ):
        set_here: dict[str, Any] = {key: table.pop(key) for key in ("preset", "options") if key in table}
        inherited = {} if "preset" in set_here else {"preset": preset, "options": source.get("options", {})}
        own, judged = _options({**inherited, **set_here}, f"{where}: compare.metas")
        meta = _made("meta", table, where)
        suffix = f" ({own})" if own != preset else ""
        table.pop("name")
        # As short as tells it from the curves before it.
        names = [_label(meta.name, said) + suffix for said in ({}, table, {**table, **set_here.get("options", {})})]
        taken = [curve.name for curve in (*curves, *compared.values())]
        name = next((each for each in names if each not in taken), names[-1])
        compared[place] = Curve(name, made, labels, meta, judged)
    curves += [compared[place] for place in sorted(compared)]
    curves += _alone(compare.get("alone", "plain"), bases, f"{where}: compare.alone")
    others = compare.get("bases", [])
    if others != []:
        extra = _bases(others, problem, f"{where}: compare.bases", labels)
        curves += _alone("plain", extra, f"{where}: compare.bases")
    names = [curve.name for curve in curves]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise CorralError(f"{where} would draw {twice[0]!r} twice; take one out, or set its parameters apart")
    if not curves:
        raise CorralError(f"{where} has nothing to play: give it a meta, or compare bases alone")
    return curves


def _alone(how: Any, bases: list[tuple[str, Base]], where: str) -> list[Curve]:
    """Each base alone, played plainly or smoothed."""
    if how not in ALONE:
        raise CorralError(f"{where} must be {' or '.join(ALONE)}, not {shown(how)}")
    curves = []
    for label, base in bases:
        if how in ("plain", "both"):
            curves.append(Curve(label, (base,), (label,), None, PRESETS["practice"]))
        if how in ("smooth", "both"):
            curves.append(Curve(f"{label}, smoothed", (base,), (label,), None, PRESETS["paper"]))
    return curves


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
