"""Run checks, in this process or in workers: the same outcomes in the same order.

A job is one case. If a worker dies in the middle of a check, that check has failed, and a new worker goes on with the
next one.
"""

from __future__ import annotations

import functools
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence

from corral_core.checks.cases import checks_of
from corral_core.checks.names import Subject, subjects_of
from corral_core.checks.plan import Job
from corral_core.checks.rules import Checks, Outcome, Status, why_expected
from corral_core.engines.workers import Died, Staff, Worker

Said = tuple[Status, str]  # a result, and why
Outcomes = Generator[Outcome, None, None]


@functools.cache
def _subjects(name: str) -> list[Subject]:
    return subjects_of(name)


def check_case(
    name: str,
    subject: int,
    number: int,
    checks: Sequence[str],
    expected: Mapping[str, str],
    tell: Callable[[Said], None],
) -> None:
    """In a worker: run these checks on a case, and tell each result as soon as it is known."""
    case = _subjects(name)[subject].cases[number]
    for outcome in Checks(check for check in checks_of(case) if check.name in checks).run(case, expected):
        tell((outcome.result, outcome.why))


def outcomes_of(jobs: Sequence[Job], expected: Mapping[str, str], workers: int = 1) -> Outcomes:
    """The outcomes of these jobs, one per check, in order."""
    if workers > 1 and jobs:
        yield from in_workers(jobs, expected, workers)
    else:
        for job in jobs:
            yield from job.checks.run(job.case, expected)


def in_workers(jobs: Sequence[Job], expected: Mapping[str, str], count: int) -> Outcomes:
    """The outcomes of these jobs, in order, from at most this many workers."""
    crew = _Crew(jobs, expected, min(count, len(jobs)))
    try:
        for number, job in enumerate(jobs):
            for check in job.checks:
                result, why = crew.next_result(number)
                yield Outcome(check, job.case.label, result, why, job.case.place)
    finally:
        crew.stop()


class _Crew:
    """Workers, each with a thread in this process that sends it jobs and receives their results."""

    def __init__(self, jobs: Sequence[Job], expected: Mapping[str, str], size: int) -> None:
        self._jobs, self._expected = jobs, dict(expected)
        self._waiting = deque(range(len(jobs)))
        self._heard: list[queue.SimpleQueue[Said | BaseException]] = [queue.SimpleQueue() for _ in jobs]
        self._staff = Staff()
        for _ in range(size):
            threading.Thread(target=self._attend, daemon=True).start()

    def next_result(self, number: int) -> Said:
        """The next result of a job; waits for it."""
        said = self._heard[number].get()
        if isinstance(said, BaseException):
            raise said
        return said

    def stop(self) -> None:
        """Kill every worker, whatever it is doing."""
        self._staff.stop()

    def _attend(self) -> None:
        worker = None
        while self._waiting and not self._staff.stopped:
            try:
                number = self._waiting.popleft()
            except IndexError:
                break
            try:
                worker = self._do(self._jobs[number], worker, self._heard[number].put)
            except BaseException as raised:
                self._heard[number].put(raised)
                self._staff.dismiss(worker)
                worker = None
        self._staff.dismiss(worker)

    def _do(self, job: Job, worker: Worker | None, put: Callable[[Said], None]) -> Worker | None:
        """Run the checks of a job. Returns the worker, if it is still alive."""
        left, failed = list(job.checks), ""
        while left and not failed and not self._staff.stopped:
            try:
                worker = worker or self._staff.hire()
                names = [check.name for check in left]
                for said in worker.call(check_case, job.name, job.subject, job.number, names, self._expected):
                    if said is not None:  # the last one is what `check_case` returns
                        put(said)
                        del left[0]
            except Died as died:
                self._staff.dismiss(worker)
                worker = None
                if left:
                    check = left.pop(0)
                    put(("failed", f"{check.name}: its worker {died}"))
                    known = why_expected(self._expected, check.name, job.case.label) is not None
                    failed = check.name if check.first and not known else ""
        for _ in left:
            put(("not run", f"because {failed} failed"))
        return worker
