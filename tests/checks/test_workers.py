"""Checks in worker processes: the same outcomes in the same order, and a worker that dies is one failure."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from corral_core.checks.names import subjects_of
from corral_core.checks.plan import Job, jobs_of
from corral_core.checks.rules import Outcome
from corral_core.checks.workers import outcomes_of
from corral_core.engines.workers import Worker

SOURCE = """
import os, signal
import attrs
from corral_core import Uniform


@attrs.frozen
class Fatal(Uniform):
    'Kills its process if there is a single base.'

    name = "fatal"

    def choose(self, state, active, rng):
        if len(active) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().choose(state, active, rng)


@attrs.frozen
class FatalAtOnce(Uniform):
    'Ends its process in the first check.'

    name = "fatal-at-once"

    def update(self, state, chosen, probability, gain, active):
        os._exit(3)
"""


@pytest.fixture
def jobs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "fatal_metas.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "fatal_metas", raising=False)
    return "fatal_metas"


def jobs(name: str) -> list[Job]:
    return [job for number, subject in enumerate(subjects_of(name)) for job in jobs_of(name, number, subject)]


def plain(outcomes: list[Outcome]) -> list[tuple[str, str, str, str, str]]:
    return [(each.check.name, each.case, each.environment, each.result, each.why) for each in outcomes]


def test_workers_change_nothing() -> None:
    several = jobs("core")
    assert len(several) > 4
    assert plain(list(outcomes_of(several, {}, 3))) == plain(list(outcomes_of(several, {}, 1)))


def test_a_worker_that_is_killed_is_one_failure(jobs_in: str) -> None:
    """The checks after it run in another worker."""
    several = jobs(f"{jobs_in}:Fatal")
    outcomes = list(outcomes_of(several, {}, 2))
    assert [outcome.check.name for outcome in outcomes] == [check.name for job in several for check in job.checks]
    bad = [outcome for outcome in outcomes if outcome.result != "passed"]
    assert [(outcome.result, outcome.why) for outcome in bad] == [
        ("failed", "single-base: its worker was killed by SIGKILL, perhaps out of memory")
    ] * len(several)


def test_a_worker_that_ends_in_a_first_check(jobs_in: str) -> None:
    one, *_ = several = jobs(f"{jobs_in}:FatalAtOnce")
    outcomes = list(outcomes_of(several[:1], {}, 2))
    assert outcomes[0].why == "draws-have-rows-first: its worker ended with exit code 3"
    assert {(each.result, each.why) for each in outcomes[1:]} == {("not run", "because draws-have-rows-first failed")}
    assert len(outcomes) == len(one.checks)
    known = list(outcomes_of(several[:1], {"draws-have-rows-first": "it ends"}, 2))
    assert known[1].why == "shapes: its worker ended with exit code 3"


def test_one_who_stops_listening_leaves_no_worker_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    hired: list[Worker] = []

    def hire() -> Worker:
        hired.append(Worker())
        return hired[-1]

    monkeypatch.setattr("corral_core.engines.workers.hire", hire)
    running = outcomes_of(jobs("core"), {}, 2)
    next(running)
    running.close()
    assert hired
    assert {worker._process.wait(10) for worker in hired} == {-signal.SIGKILL}
