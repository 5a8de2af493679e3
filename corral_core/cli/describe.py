"""`corral describe`: what a base, meta, environment or experiment is, and its parameters."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

if TYPE_CHECKING:
    from corral_core.experiments.guarantee import Promise
    from corral_core.experiments.point import Point
    from corral_core.registry.discovery import Registered


def register(app: typer.Typer) -> None:
    app.command("describe")(describe)


def describe(
    name: Annotated[str, typer.Argument(help="A base, meta, environment or experiment, or a TOML file.")],
) -> None:
    """Describe a base, meta, environment or experiment.

    Shows parameters, bound and source; for an experiment, its guarantee and which preconditions fail.
    """
    from corral_core.errors import CorralError
    from corral_core.experiments.source import is_file
    from corral_core.registry.names import get_registry

    if is_file(name):
        _describe_experiment(name)
        return
    found = [entry for entry in get_registry().find(name) if entry.kind != "engine"]
    if not found:
        raise CorralError(get_registry().nothing_called(name))
    for number, entry in enumerate(found):
        if number:
            print()
        if entry.kind == "experiment":
            _describe_experiment(entry.qualified, entry.plugin)
        else:
            _describe_class(entry)


def _describe_class(entry: Registered) -> None:
    from corral_core.cli.abilities import abilities
    from corral_core.registry.names import get_registry
    from corral_core.terminal import say, say_paragraphs

    cls: Any = get_registry().load(entry.kind, entry.qualified)
    print(f"{entry.name}: a{'n' if entry.kind[0] in 'aeiou' else ''} {entry.kind} of {entry.plugin}")
    say(entry.summary, "  ")
    print(f"  {import_line(entry.target)}")
    _print_parameters(cls)
    if entry.kind == "base":
        print()
        say(f"Bound U(s, delta): {cls.formula}", following="  ")
        if found := abilities(cls):
            has = [f"{name} (some)" if each == "some" else name for name, each in found.items() if each != "no"]
            say(f"Abilities: {', '.join(has) or 'none'}", following="  ")
    if entry.kind == "meta":
        print()
        say(f"Needs: {'; '.join(needs(cls))}", following="  ")
        say(f"Gives: {'; '.join(gives(cls))}", following="  ")
    text = inspect.getdoc(inspect.getmodule(cls)) or inspect.getdoc(cls)
    if text:
        print()
        say_paragraphs(text)


def import_line(target: str) -> str:
    """How to import a target: from the root of its package if the name is public there."""
    module, _, name = target.partition(":")
    root = module.partition(".")[0]
    public = name in getattr(import_module(root), "__all__", ())
    return f"from {root if public else module} import {name}"


def needs(meta: Any) -> list[str]:
    """What a meta-algorithm declares."""
    bounds = {
        "none": "no bound",
        "one": "the bounds that are known, if its rate is auto",
        "every": "every base's bound",
    }
    return [
        "the number of rounds" if meta.needs_horizon else "no horizon",
        bounds[meta.needs_bounds],
        f"{meta.player} players",
        f"{meta.feedback} feedback",
        *(["the gain of every step"] if meta.per_step else []),
        *(["bases that restart"] if meta.restarts == "required" else []),
    ]


def gives(meta: Any) -> list[str]:
    """What a meta-algorithm tells about itself."""
    from corral_core.protocols.meta import Meta

    states = meta.guarantee is not Meta.guarantee
    return [
        f"records {' and '.join(meta.records)}" if meta.records else "records nothing",
        "states a guarantee" if states else "states no guarantee",
    ]


def parameter_rows(cls: Any) -> list[tuple[str, str, str]]:
    """The name, default and meaning of every parameter."""
    import attrs

    from corral_core.parsing import parameters
    from corral_core.protocols.parameters import is_knob

    rows = []
    for field in parameters(cls):
        default = "required" if field.default is attrs.NOTHING else str(field.default)
        if "fitted" in field.metadata:
            default = "from the environment"
        elif field.default is None:
            default = "none"
        meaning = field.metadata.get("help", "")
        if get_origin(field.type) is Literal:
            meaning = f"{' or '.join(map(str, get_args(field.type)))}: {meaning}"
        rows.append((field.name, default, meaning + (" (a knob)" if is_knob(cls, field) else "")))
    return rows


def _print_parameters(cls: Any) -> None:
    from corral_core.terminal import show_table

    if rows := parameter_rows(cls):
        print()
        show_table(("parameter", "default", "summary"), rows)
    else:
        print("\nIt has no parameters.")


def _describe_experiment(name: str, plugin: str | None = None) -> None:
    from corral_core.experiments.experiment import load_experiment
    from corral_core.experiments.guarantee import promises
    from corral_core.terminal import plays, say

    points = load_experiment(name).points
    first = points[0]
    print(f"{first.name}: an experiment" + (f" of {plugin}" if plugin else ""))
    if first.question:
        say(first.question, "  ")
    environment = first.environment.name
    hidden = " (bases and metas are not told how many)" if first.problem.horizon is None else ""
    print(f"\n{plays(first.horizon)}{hidden} in {environment}, {first.replicates} replicates, seed {first.seed}")
    if len(points) > 1:
        say(f"swept: {'; '.join(point.at for point in points)}", following="  ")
    say(f"curves: {', '.join(_grouped([curve.name for curve in first.curves]))}", following="  ")
    for curve in first.curves:
        for sentence in first.choices(curve):
            say(f"{curve.name}{', ' + first.at if first.at else ''}: {sentence}", "  ", "    ")
    for point in points:
        for promise in promises(point):
            _print_promise(point, promise)


def _grouped(names: list[str]) -> list[str]:
    """The names, with long families shortened to the first, the last and their number."""
    families: dict[str, list[str]] = {}
    for name in names:
        families.setdefault(name.partition("(")[0] if "=" in name else name, []).append(name)
    shown = []
    for members in families.values():
        shown += members if len(members) < 4 else [f"{members[0]} to {members[-1]} ({len(members)})"]
    return shown


def _print_promise(point: Point, promise: Promise) -> None:
    from corral_core.terminal import number, say

    curve = point.curve(promise.curve)
    print()
    say(f"{_capital(promise.source)}, for {promise.curve}{' at ' + point.at if point.at else ''}", following="  ")
    say(f"regret of order {promise.formula}", "  ", "    ")
    row = f"row of the table: {promise.row}; " if promise.row else ""
    say(f"{row}constants and logarithms are left out", "  ", "    ")
    if not promise.cases:
        say("No base has a bound below linear, so it promises nothing.", "  ")
    for case in promise.cases:
        who = "any base" if len(case.bases) == len(curve.bases) else " or ".join(_grouped(list(case.bases)))
        say(
            f"if {who} is the best adapted one: {number(case.shape)} from its shape (alpha = {case.exponent:.3g}), "
            f"{number(case.literal)} from its literal bound",
            "  ",
            "    ",
        )
    print("  preconditions:")
    marks = {True: "holds   ", False: "FAILS   ", None: "assumed "}
    for condition in promise.conditions:
        say(f"{marks[condition.holds]} {condition.text}", "    ", " " * 13)
    if not promise.holds:
        bounded = all(curve.told(point.problem).bounds)
        does = "enables what it can" if bounded else "refuses bases without a bound"
        more = f"; the preset theory {does}" if promise.off else ""
        say(f"So the theorem does not apply to this experiment{more}.", "  ")
    if promise.vacuous:
        say(
            f"Vacuous at this horizon: with literal bounds the theorem allows {number(promise.most)} or more, the "
            "regret of losing everything at every play.",
            "  ",
        )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
