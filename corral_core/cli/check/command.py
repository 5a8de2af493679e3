"""`corral check`: whether a base, environment, meta or experiment follows the rules."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from corral_core.cli.listing import AsJson

if TYPE_CHECKING:
    from corral_core.checks.names import Subject
    from corral_core.checks.plan import Job
    from corral_core.checks.rules import Outcome
    from corral_core.cli.check.progress import Meter

FAILED_BEFORE = "because an earlier check failed (--fail-fast)"


def register(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME", help="A base, meta, environment, experiment, TOML file, plugin or module:Class."
        ),
    ],
    only: Annotated[
        list[str] | None, typer.Option("--check", metavar="CHECK", help="Run only this check (repeatable).")
    ] = None,
    within: Annotated[
        str, typer.Option("--case", metavar="TEXT", help="Run only cases whose description contains this text.")
    ] = "",
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first failure.")] = False,
    workers: Annotated[int, typer.Option(help="Number of worker processes; each checks one case at a time.")] = 1,
    expect: Annotated[
        list[str] | None,
        typer.Option(metavar="CHECK=REASON", help="A check that is known to fail or warn, and why (repeatable)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that something follows the rules for plugins.

    For a plugin, everything that it provides is checked. The exit code is 1 if a check failed.
    """
    from corral_core.cli.check.progress import Meter
    from corral_core.cli.check.table import show, show_rest
    from corral_core.cli.progress.watcher import announce_compiling
    from corral_core.terminal import say, show_json

    expected = _expected(expect or [])
    planned = _planned(names, only or [], within, workers)
    announce_compiling(shown=not as_json)
    found: list[tuple[Subject, list[Outcome]]] = []
    meter = Meter(sum(len(jobs) for _, jobs in planned))
    with contextlib.closing(_Checking(planned, expected, workers, fail_fast)) as checking:
        for subject, jobs in planned:
            stopped = checking.failed
            found.append((subject, checking.outcomes(subject, jobs, meter)))
            if not as_json and not stopped:
                show(*found[-1])
    everything = [outcome for _, outcomes in found for outcome in outcomes]
    stale = [] if checking.failed else _stale(everything, expected, only or [], within)
    if as_json:
        show_json([row for subject, outcomes in found for row in _rows(subject, outcomes)])
        for sentence in stale:
            print(f"failed: {sentence}", file=sys.stderr)
    else:
        show_rest(found)
        for sentence in stale:
            say(f"failed: {sentence}")
        _hint(names)
    if stale or any(each.result == "failed" for each in everything):
        raise typer.Exit(1)


class _Checking:
    """Runs jobs; after a failure it stops, if this was asked for."""

    def __init__(
        self,
        planned: Sequence[tuple[Subject, list[Job]]],
        expected: Mapping[str, str],
        workers: int,
        fail_fast: bool,
    ) -> None:
        from corral_core.checks.workers import outcomes_of

        self._expected, self._fail_fast = expected, fail_fast
        self._running = outcomes_of([job for _, jobs in planned for job in jobs], expected, workers)
        self.failed = False  # and nothing else is to run

    def close(self) -> None:
        self._running.close()

    def outcomes(self, subject: Subject, jobs: Sequence[Job], meter: Meter) -> list[Outcome]:
        """What is wrong with a subject before any check runs, and the outcomes of its checks."""
        from corral_core.terminal import reserved_output

        found = subject.unregistered()
        self.failed |= self._fail_fast and bool(found)
        with meter, reserved_output():  # keeps what plugins print out of our output
            for job in jobs:
                for number, check in enumerate(job.checks):
                    meter.begin(job.case.label, number, job.checks)
                    found.append(job.not_run(check, FAILED_BEFORE) if self.failed else self._next())
                    self.failed |= self._fail_fast and found[-1].result == "failed"
        return found

    def _next(self) -> Outcome:
        from corral_core.checks.rules import judged

        return judged(next(self._running), self._expected)


def _planned(names: list[str], only: list[str], within: str, workers: int) -> list[tuple[Subject, list[Job]]]:
    """Everything that the names stand for, with the checks to run."""
    from corral_core.checks.names import subjects_of
    from corral_core.checks.plan import check_selection, jobs_of
    from corral_core.errors import CorralError
    from corral_core.terminal import reserved_output

    if workers < 1:
        raise CorralError(f"--workers must be at least 1, not {workers}")
    planned = []
    with reserved_output():
        for name in dict.fromkeys(names):
            for number, subject in enumerate(subjects_of(name)):
                planned.append((subject, jobs_of(name, number, subject, only, within)))
    jobs = [job for _, each in planned for job in each]
    check_selection([subject for subject, _ in planned], jobs, only, within)
    chosen = bool(only or within)
    return [(subject, each) for subject, each in planned if each or subject.problems or not chosen]


def _stale(outcomes: list[Outcome], expected: dict[str, str], only: list[str], within: str) -> list[str]:
    """Expectations that came true in no case, among the checks that ran in all cases."""
    from corral_core.checks.rules import out_of_date

    if within:
        return []
    return out_of_date(
        outcomes, {key: why for key, why in expected.items() if not only or key.split(" in ")[0] in only}
    )


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


def _rows(subject: Subject, outcomes: list[Outcome]) -> Iterator[dict[str, object]]:
    """One object per check, with what was seen in each case."""
    from corral_core.cli.check.table import by_check, worst

    for each in by_check(outcomes):
        cases = [
            {"case": outcome.case, "environment": outcome.environment, "result": outcome.result, "why": outcome.why}
            for outcome in each
        ]
        check = each[0].check
        yield {
            "kind": subject.kind,
            "name": subject.name,
            "check": check.name,
            "demands": check.demands,
            "result": worst(each),
            "cases": cases,
        }
