"""The table of `corral check`: results, cases and environments, and counts that add up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from corral_core.checks import cases_of, check_all
from corral_core.checks.names import Subject
from corral_core.checks.rules import Outcome
from corral_core.checks.worlds import Small
from corral_core.cli.check.table import by_check, row, short_names, show, summary, worst

sys.path.insert(0, str(Path(__file__).parents[2] / "checks"))
from sound_bases import SoundAndRare


class Dislikes(SoundAndRare):
    """Plays with one arm too many if features change; cannot start if a context is shared."""

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        action = super().act(policy, observation, rng)
        features = observation.features
        if features is not None and features.ndim == 2:
            raise ValueError("no shared contexts, please")
        return action

    def learn(self, state: Any, rows: Any, feedback: Any, rng: Any) -> None:
        super().learn(state, rows, feedback, rng)
        if feedback.observation.features is not None:
            feedback.reward[:] = 0.0


@pytest.fixture(scope="module")
def found() -> tuple[Subject, list[Outcome]]:
    cases = cases_of(Dislikes, within=[Small(), Small(shows="changing"), Small(shows="shared")])
    return Subject("base", "dislikes", cases), list(check_all(cases))


def of(outcomes: list[Outcome], check: str) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.check.name == check]


def test_a_row_says_in_which_environment_a_check_failed_or_was_not_run(found: Any) -> None:
    subject, outcomes = found
    short = short_names(subject, {outcome.case for outcome in outcomes})
    assert list(short.values()) == ["plain arms", "changing features", "a shared context"]
    name, worst, cases, rule, where = row(of(outcomes, "arguments-are-left-alone"), short)
    assert (name, worst, cases) == ("arguments-are-left-alone", "failed", "1 of 3")
    assert where == "changing features; not run: a shared context"
    assert rule == "`act` and `learn` write into nothing but the state."
    assert row(of(outcomes, "fits-or-refuses"), short)[1:3] == ("passed", "3")
    assert row(of(outcomes, "no-rows"), short)[4] == "a shared context"


def test_two_settings_in_one_environment_are_told_apart() -> None:
    cases = cases_of(Dislikes(), within=[Small()]) + cases_of(Dislikes(epsilon=0.6), within=[Small()])
    labels = [case.label for case in cases]
    assert labels == ["sound-and-rare in plain arms", "sound-and-rare(epsilon=0.6) in plain arms"]
    assert short_names(Subject("base", "x", cases), labels) == dict(zip(labels, labels, strict=True))


def test_what_is_shown(found: Any, capsys: pytest.CaptureFixture[str]) -> None:
    subject, outcomes = found
    show(subject, outcomes)
    title, header, *_ = lines = capsys.readouterr().out.splitlines()
    assert title == "base dislikes in 3 cases: plain arms, changing features, a shared context"
    assert header.split() == ["check", "result", "cases", "demands", "where"]
    (failed,) = [line for line in lines if line.startswith("failed: ") and "arguments-are-left-alone" in line]
    assert failed.startswith("failed: sound-and-rare in changing features: arguments-are-left-alone: learn wrote into")
    assert lines[-2] == summary(outcomes)


def test_a_failure_in_several_cases_names_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    class Everywhere(Dislikes):
        """Writes into its rewards wherever it plays."""

        def learn(self, state: Any, rows: Any, feedback: Any, rng: Any) -> None:
            super().learn(state, rows, feedback, rng)
            feedback.reward[:] = 0.0

    cases = cases_of(Everywhere, within=[Small(), Small(shows="fixed"), Small(shows="changing")])
    show(Subject("base", "everywhere", cases), of(list(check_all(cases)), "arguments-are-left-alone"))
    _, _, line, failed, last, _ = capsys.readouterr().out.splitlines()
    assert line.split()[:3] == ["arguments-are-left-alone", "failed", "3"] and line.split()[-1] == "all"
    assert failed.endswith(" (also in fixed arms with features, changing features)")
    assert last == "0 of 1 checks passed, 1 failed"


def test_the_numbers_of_a_summary_add_up(found: Any) -> None:
    _, outcomes = found
    results = [worst(each) for each in by_check(outcomes)]
    passed, failed, skipped = (results.count(each) for each in ("passed", "failed", "not run"))
    assert passed + failed + skipped == len(results) == len({outcome.check.name for outcome in outcomes})
    assert min(passed, failed, skipped) > 0
    assert summary(outcomes) == f"{passed} of {len(results)} checks passed, {failed} failed, {skipped} not run"
    assert summary(of(outcomes, "fits-or-refuses")) == "the check passed"
