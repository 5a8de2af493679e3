"""`corral describe`: what a base, meta, environment or experiment is, and its parameters."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

if TYPE_CHECKING:
    from corral_core.experiments.guarantee import Guarantee
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
    if entry.kind == "meta":
        print()
        say(f"Needs: {'; '.join(needs(cls))}", following="  ")
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
    ]


def parameter_rows(cls: Any) -> list[tuple[str, str, str]]:
    """The name, default and meaning of every parameter."""
    import attrs

    from corral_core.parsing import parameters

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
        rows.append((field.name, default, meaning + (" (a knob)" if "knob" in field.metadata else "")))
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
    from corral_core.experiments.guarantee import guarantees
    from corral_core.terminal import plays, say

    points = load_experiment(name).points
    first = points[0]
    print(f"{first.name}: an experiment" + (f" of {plugin}" if plugin else ""))
    if first.question:
        say(first.question, "  ")
    environment = first.environment.name
    print(f"\n{plays(first.horizon)} in {environment}, {first.replicates} replicates, seed {first.seed}")
    if len(points) > 1:
        say(f"swept: {'; '.join(point.at for point in points)}", following="  ")
    say(f"curves: {', '.join(_grouped([curve.name for curve in first.curves]))}", following="  ")
    for curve in first.curves:
        for sentence in first.choices(curve):
            say(f"{curve.name}{', ' + first.at if first.at else ''}: {sentence}", "  ", "    ")
    for point in points:
        for guarantee in guarantees(point):
            _print_guarantee(point, guarantee)


def _grouped(names: list[str]) -> list[str]:
    """The names, with long families shortened to the first, the last and their number."""
    families: dict[str, list[str]] = {}
    for name in names:
        families.setdefault(name.partition("(")[0] if "=" in name else name, []).append(name)
    shown = []
    for members in families.values():
        shown += members if len(members) < 4 else [f"{members[0]} to {members[-1]} ({len(members)})"]
    return shown


def _print_guarantee(point: Point, guarantee: Guarantee) -> None:
    from corral_core.terminal import number, say

    print(f"\nThe paper's theorem for {guarantee.curve}{' at ' + point.at if point.at else ''}")
    say(f"regret of order {guarantee.formula}", "  ", "    ")
    say(f"row of the table: {guarantee.row}; constants and logarithms are left out", "  ", "    ")
    if not guarantee.promises:
        say("No base has a bound below linear, so the theorem promises nothing.", "  ")
    everyone = len(point.curve(guarantee.curve).bases)
    for promise in guarantee.promises:
        who = "any base" if len(promise.bases) == everyone else " or ".join(_grouped(list(promise.bases)))
        say(
            f"if {who} is the best adapted one: {number(promise.shape)} from its shape (alpha = "
            f"{promise.exponent:.3g}), {number(promise.literal)} from its literal bound",
            "  ",
            "    ",
        )
    print("  preconditions:")
    marks = {True: "holds   ", False: "FAILS   ", None: "assumed "}
    for condition in guarantee.conditions:
        say(f"{marks[condition.holds]} {condition.text}", "    ", " " * 13)
    if not guarantee.holds:
        bounded = all(point.curve(guarantee.curve).told(point.problem, point.horizon).bounds)
        more = "the preset theory enables what it can" if bounded else "the preset theory refuses bases without a bound"
        say(f"So the theorem does not apply to this experiment; {more}.", "  ")
    if guarantee.vacuous:
        say(
            f"Vacuous at this horizon: with literal bounds the theorem allows more than {number(guarantee.most)}, the "
            "regret of losing everything at every play.",
            "  ",
        )
