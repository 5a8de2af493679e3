"""Which checks run on which cases."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import attrs

from corral_core.checks.cases import Case, check_name, checks_of
from corral_core.checks.names import Subject
from corral_core.checks.rules import Check, Checks, Outcome
from corral_core.errors import CorralError

LISTED = 8  # cases in a message


@attrs.frozen
class Job:
    """The checks of one case, in order. The first three fields say where a worker finds the case."""

    name: str  # as the user wrote it
    subject: int  # its number among the subjects of this name
    number: int  # of the case
    case: Case
    checks: Checks

    def not_run(self, check: Check, why: str) -> Outcome:
        return Outcome(check, self.case.label, "not run", why, self.case.place)


def jobs_of(name: str, number: int, subject: Subject, only: Collection[str] = (), within: str = "") -> list[Job]:
    """The jobs of a subject: the checks named in `only` (default: all) on cases whose label contains `within`."""
    jobs = []
    for place, case in enumerate(subject.cases):
        if within.casefold() in case.label.casefold():
            asked = (check for check in checks_of(case) if not only or check.name in only)
            jobs.append(Job(name, number, place, case, Checks(check for check in asked if check.applies_to(case))))
    return [job for job in jobs if job.checks]


def check_selection(subjects: Sequence[Subject], jobs: Sequence[Job], only: Collection[str], within: str) -> None:
    """Raise an error if the user selected checks or cases and nothing is left."""
    for name in only:
        check_name(name)
    labels = [case.label for subject in subjects for case in subject.cases]
    if within and not any(within.casefold() in label.casefold() for label in labels):
        more = f" and {len(labels) - LISTED} more" if len(labels) > LISTED else ""
        raise CorralError(f"no case contains {within[:80]!r}; there are {', '.join(labels[:LISTED])}{more}")
    if only and not jobs:
        raise CorralError(f"{' and '.join(only)}: no such check applies to what is checked here")
