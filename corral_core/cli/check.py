"""`corral check`: whether a base, environment, meta or experiment follows the rules."""

from __future__ import annotations

import contextlib
import shutil
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import typer

from corral_core.cli.listing import AsJson

if TYPE_CHECKING:
    from corral_core.checks.names import Subject
    from corral_core.checks.rules import Outcome


def register(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME", help="A base, meta, environment, experiment, TOML file, plugin or module:Class."
        ),
    ],
    expect: Annotated[
        list[str] | None,
        typer.Option(metavar="CHECK=REASON", help="A check that is known to fail, and why (repeatable)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that something follows the rules for plugins.

    For a plugin, everything that it provides is checked. The exit code is 1 if a check failed.
    """
    from corral_core.checks.cases import check_all
    from corral_core.checks.names import subjects_of
    from corral_core.checks.rules import judged, out_of_date
    from corral_core.terminal import say, show_json

    expected = _expected(expect or [])
    with contextlib.redirect_stdout(sys.stderr):  # keeps what plugins print out of our output
        subjects = [subject for name in names for subject in subjects_of(name)]
    found: list[tuple[Subject, list[Outcome]]] = []
    for subject in subjects:
        with _waiting(f"{subject.kind} {subject.name} ..."), contextlib.redirect_stdout(sys.stderr):
            outcomes = [judged(outcome, expected) for outcome in check_all(subject.cases, expected)]
        found.append((subject, outcomes))
        if not as_json:
            _show(subject, outcomes)
    everything = [outcome for _, outcomes in found for outcome in outcomes]
    stale = out_of_date(everything, expected)
    if as_json:
        show_json([row for subject, outcomes in found for row in _rows(subject, outcomes)])
        for sentence in stale:
            print(f"failed: {sentence}", file=sys.stderr)
    else:
        for sentence in stale:
            say(f"failed: {sentence}")
        _hint(names)
    if stale or any(subject.problems for subject in subjects) or any(each.result == "failed" for each in everything):
        raise typer.Exit(1)


def _hint(names: list[str]) -> None:
    """If a base has the name of its plugin, say how to check the whole plugin."""
    from corral_core.checks.names import plugin_called
    from corral_core.registry.names import get_registry
    from corral_core.terminal import say

    registry = get_registry()
    for name in names:
        plugin = plugin_called(name, registry) if registry.find(name) else None
        if plugin and plugin.name != name:
            say(f"To check everything that the plugin {plugin.name} provides: corral check {plugin.name}")


def _expected(given: list[str]) -> dict[str, str]:
    from corral_core.checks.cases import expectations
    from corral_core.errors import CorralError
    from corral_core.parsing import shown

    for each in given:
        if not each.partition("=")[2].strip():
            raise CorralError(f"--expect must be CHECK=REASON, the name of a check and why it fails, not {shown(each)}")
    return expectations(dict(each.split("=", 1) for each in given))


def _show(subject: Subject, outcomes: list[Outcome]) -> None:
    """Print a table with one line per check, and below it what failed and why."""
    from corral_core.terminal import say, show_table

    cases = f" in {len(subject.cases)} cases" if len(subject.cases) > 1 else ""
    print(f"{subject.kind} {subject.name}{cases}")
    by_check: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_check.setdefault(outcome.check.name, []).append(outcome)
    rows = [(name, _worst(each), each[0].check.demands) for name, each in by_check.items()]
    if rows and sys.stdout.isatty() and shutil.get_terminal_size().columns < 90:
        show_table(("check", "result"), [row[:2] for row in rows])  # no room for sentences
    elif rows:
        show_table(("check", "result", "demands"), rows)
    for problem in subject.problems:
        say(f"failed: {problem}", following="  ")
    for each in by_check.values():
        told = [outcome for outcome in each if outcome.why and outcome.result != "not run"]
        if told:
            more = f" (and in {len(told) - 1} more case{'s' * (len(told) > 2)})" if len(told) > 1 else ""
            say(f"{told[0].result}: {told[0].case}: {told[0].why}{more}", following="  ")
    say(_summary([_worst(each) for each in by_check.values()], len(subject.problems)))
    print()


def _summary(results: list[str], problems: int) -> str:
    others = {result: results.count(result) for result in ("failed", "warning", "expected", "not run")}
    others["failed"] += problems
    if not any(others.values()):
        return f"all {len(results)} checks passed"
    words = {"failed": "failed", "warning": "warned", "expected": "failed as expected", "not run": "not run"}
    parts = [f"{count} {words[result]}" for result, count in others.items() if count]
    return f"{results.count('passed')} of {len(results)} checks passed, {', '.join(parts)}"


def _worst(outcomes: list[Outcome]) -> str:
    order = ("failed", "warning", "expected", "not run", "passed")
    return min((outcome.result for outcome in outcomes), key=order.index)


def _rows(subject: Subject, outcomes: list[Outcome]) -> list[dict[str, str]]:
    who = {"kind": subject.kind, "name": subject.name}
    problems = [
        {**who, "case": "", "check": "", "demands": "", "result": "failed", "why": why} for why in subject.problems
    ]
    return problems + [
        {
            **who,
            "case": outcome.case,
            "check": outcome.check.name,
            "demands": outcome.check.demands,
            "result": outcome.result,
            "why": outcome.why,
        }
        for outcome in outcomes
    ]


def _waiting(what: str) -> AbstractContextManager[object]:
    """Show on a terminal what is being checked."""
    if not sys.stderr.isatty():
        return contextlib.nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)
