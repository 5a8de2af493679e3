"""What `corral check` prints about one thing: a table with one line per check, what failed and why, and the counts.

A check counts once, with its worst result, however many cases it runs in.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from corral_core.checks.names import Subject
from corral_core.checks.rules import Outcome, Status
from corral_core.terminal import counted, say, show_table

WORST_FIRST: tuple[Status, ...] = ("failed", "warning", "expected", "not run", "passed")
WORDS: dict[Status, str] = {
    "failed": "failed",
    "warning": "warned",
    "expected": "failed as expected",
    "not run": "not run",
}
NARROW = 90  # columns; a terminal with fewer has no room for sentences
ALSO = 4  # cases that a sentence lists


def show(subject: Subject, outcomes: Sequence[Outcome]) -> None:
    """Print the table of a subject, and below it what failed and why."""
    short = short_names(subject, {outcome.case for outcome in outcomes})
    cases = f" in {len(short)} cases: {', '.join(short.values())}" if len(short) > 1 else ""
    say(f"{subject.kind} {subject.name}{cases}", following="  ")
    _show_table([row(each, short) for each in by_check(outcomes)])
    for each in by_check(outcomes):
        _tell(each, short)
    say(summary(outcomes))
    print()


def show_rest(found: Sequence[tuple[Subject, Sequence[Outcome]]]) -> None:
    """After `--fail-fast`: how much of what has no table was not run."""
    rest = [outcomes for _, outcomes in found if outcomes and all(each.result == "not run" for each in outcomes)]
    if rest:
        count = sum(len(by_check(outcomes)) for outcomes in rest)
        say(f"stopped at the first failure: {counted(count, 'more check')} not run")


def by_check(outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
    """The outcomes of each check, in all cases."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.check.name, []).append(outcome)
    return list(found.values())


def worst(outcomes: Sequence[Outcome]) -> Status:
    return min((outcome.result for outcome in outcomes), key=WORST_FIRST.index)


def short_names(subject: Subject, ran: Collection[str]) -> dict[str, str]:
    """A name for every case that ran, by its label: the environment alone, if this tells the cases apart."""
    cases = [case for case in subject.cases if case.label in ran]
    places, labels = [case.place for case in cases], [case.label for case in cases]
    return dict(zip(labels, places if all(places) and len(set(places)) == len(places) else labels, strict=True))


def row(outcomes: Sequence[Outcome], short: Mapping[str, str]) -> tuple[str, str, str, str, str]:
    """Of one check: its name, the worst result, in how many cases, the rule, and the cases in which it did not pass."""
    results = [outcome.result for outcome in outcomes]
    result = worst(outcomes)
    count, total = results.count(result), len(results)
    where = "; ".join(
        ("" if other == result else f"{other}: ")
        + ", ".join(short.get(each.case, each.case) for each in outcomes if each.result == other)
        for other in WORST_FIRST
        if other != "passed" and other in results
    )
    if count == total == len(short) > 1 and where:
        where = "all"
    check = outcomes[0].check
    return check.name, result, str(total) if count == total else f"{count} of {total}", check.demands, where


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many checks passed and how many did not; the numbers add up."""
    counts = Counter(worst(each) for each in by_check(outcomes))
    others = [f"{counts[result]} {words}" for result, words in WORDS.items() if counts[result]]
    if not others:
        return "the check passed" if counts.total() == 1 else f"all {counts.total()} checks passed"
    return f"{counts['passed']} of {counts.total()} checks passed, {', '.join(others)}"


def _show_table(rows: Sequence[tuple[str, str, str, str, str]]) -> None:
    header: tuple[str, ...] = ("check", "result", "cases", "demands", "where")
    kept = [0, 1, 2, 3, 4] if any(each[4] for each in rows) else [0, 1, 2, 3]
    if sys.stdout.isatty() and shutil.get_terminal_size().columns < NARROW:
        kept = [place for place in kept if place != 3]
    if rows:
        show_table([header[place] for place in kept], [[each[place] for place in kept] for each in rows])


def _tell(outcomes: Sequence[Outcome], short: Mapping[str, str]) -> None:
    """What was seen where a check failed or warned; if in several cases, in the first of them."""
    told = [outcome for outcome in outcomes if outcome.why and outcome.result != "not run"]
    if told and not told[0].case:  # of the thing itself, in no case
        for outcome in told:
            say(f"{outcome.result}: {outcome.why}", following="  ")
    elif told:
        others = [short[outcome.case] for outcome in told[1:]]
        more = [*others[:ALSO], *([f"{len(others) - ALSO} more"] if len(others) > ALSO else [])]
        also = f" (also in {', '.join(more)})" if more else ""
        say(f"{told[0].result}: {told[0].case}: {told[0].why}{also}", following="  ")
