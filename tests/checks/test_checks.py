"""Every check has a twin that breaks exactly its rule, and the sound ones break none.

Also tests `checks/abilities.py`, `checks/cases.py`, `checks/contests.py`, `checks/environments.py`,
`checks/experiments.py`, `checks/guarantees.py`, `checks/metas.py`, `checks/plays.py`, `checks/policies.py`,
`checks/regrets.py`, `checks/rows.py`, `checks/rules.py`, `checks/saving.py`, `checks/states.py`, `checks/trial.py` and
`checks/worlds.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from corral_core.checks import CHECKS, cases_of, check_all, checks_of
from corral_core.checks.cases import ExperimentCase, expectations
from corral_core.checks.contests import MetaCase
from corral_core.checks.environments import EnvironmentCase
from corral_core.checks.rules import Outcome, judged, out_of_date
from corral_core.checks.trial import BaseCase
from corral_core.checks.worlds import Small
from corral_core.errors import CorralError
from corral_core.protocols.meta import Meta

sys.path.insert(0, str(Path(__file__).parent))
import broken_bases
import broken_environments
import broken_metas

EXPERIMENTS = {"loads", "asks-a-question", "plays"}  # each is broken by a test below
TWINS = (broken_bases, broken_environments, broken_metas)
KINDS = {broken_bases: BaseCase, broken_environments: EnvironmentCase, broken_metas: MetaCase}
WORLDS = [Small(), Small(masked=True)]  # bases without masks refuse the second


@pytest.mark.parametrize("cls", [cls for module in TWINS for cls in module.SOUND], ids=lambda cls: cls.name)
def test_sound_ones_break_no_rule(cls: type[Any]) -> None:
    outcomes = list(check_all(cases_of(cls)))
    assert [outcome for outcome in outcomes if outcome.result != "passed"] == []


@pytest.mark.parametrize(
    ("cls", "rule"), [pair for module in TWINS for pair in module.BROKEN.items()], ids=lambda value: str(value)[-50:]
)
def test_broken_ones_break_exactly_one(cls: type[Any], rule: str) -> None:
    """Twins that draw from unseeded generators are missed with a probability below 1e-9."""
    outcomes = list(check_all(cases_of(cls, within=WORLDS)))
    broken = [outcome for outcome in outcomes if outcome.result in ("failed", "warning")]
    assert {outcome.check.name for outcome in broken} == {rule}
    assert all(outcome.why.startswith(f"{rule}: ") and len(outcome.why) > len(rule) + 10 for outcome in broken)
    assert all((outcome.result == "warning") == outcome.check.warns for outcome in broken)


@pytest.mark.parametrize("module", TWINS, ids=lambda module: module.__name__)
def test_every_check_has_its_twin_and_is_asked_of_something_sound(module: Any) -> None:
    checks = CHECKS[KINDS[module]]
    names = {check.name for check in checks}
    assert set(module.BROKEN.values()) == names
    cases = [case for cls in module.SOUND for case in cases_of(cls, within=WORLDS)]
    asked = {check.name for case in cases for check in checks_of(case) if check.applies_to(case)}
    assert names == asked
    assert {check.name for check in CHECKS[ExperimentCase]} == EXPERIMENTS


def test_names_are_unique_and_rules_are_one_sentence() -> None:
    for checks in CHECKS.values():
        assert len({check.name for check in checks}) == len(checks)
        for check in checks:
            assert check.demands.endswith(".") and "\n" not in check.demands and len(check.demands) < 130


# --- Experiments ----------------------------------------------------------------------------------------------------

EXPERIMENT = """
question = "Which?"
horizon = 50
replicates = 2
[environment]
name = "bernoulli-arms"
[meta]
name = "uniform"
[[bases]]
name = "ucb"
"""


def experiment(folder: Path, text: str) -> list[tuple[str, str]]:
    file = folder / "experiment.toml"
    file.write_text(text, encoding="utf-8")
    outcomes = check_all([ExperimentCase(str(file))])
    return [(outcome.check.name, outcome.why) for outcome in outcomes if outcome.result == "failed"]


def test_a_sound_experiment_breaks_no_rule(tmp_path: Path) -> None:
    assert experiment(tmp_path, EXPERIMENT) == []


def test_an_experiment_that_does_not_load(tmp_path: Path) -> None:
    ((check, why),) = experiment(tmp_path, EXPERIMENT.replace("ucb", "ucbb"))
    assert check == "loads"
    assert why == "loads: there is no base ucbb; did you mean ucb or ucb1 or linucb?"


def test_an_experiment_that_asks_nothing(tmp_path: Path) -> None:
    ((check, _),) = experiment(tmp_path, EXPERIMENT.replace('question = "Which?"', ""))
    assert check == "asks-a-question"


def test_an_experiment_that_fails_when_it_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from corral_mab import Ucb

    def learn(*arguments: object) -> None:
        raise ZeroDivisionError("nothing was played")

    monkeypatch.setattr(Ucb, "learn", learn)
    ((check, why),) = experiment(tmp_path, EXPERIMENT)
    assert check == "plays"
    assert "ZeroDivisionError: nothing was played" in why


# --- What can be checked --------------------------------------------------------------------------------------------


def test_a_thing_that_cannot_be_checked() -> None:
    with pytest.raises(CorralError, match="only a base, environment or meta, or a class of one, can be checked, not 3"):
        cases_of(3)
    with pytest.raises(CorralError, match="int is not a class derived from Base or Environment or Meta"):
        cases_of(int)


def test_a_class_that_cannot_be_made_says_so() -> None:
    @attrs.frozen
    class Demanding(broken_metas.Sound):
        """Wants something."""

        def __attrs_post_init__(self) -> None:
            raise ValueError("rate must be given")

    with pytest.raises(
        CorralError, match=r"Demanding cannot be created \(rate must be given\); say in `examples` what to try"
    ):
        cases_of(Demanding)


def test_a_base_that_fits_nowhere_says_so() -> None:
    class Picky(broken_bases.Sound):
        """Lives nowhere."""

        def resolve(self, problem: Any) -> Any:
            raise CorralError("picky lives nowhere")

    with pytest.raises(CorralError, match=r"sound fits no environment in which to check it \(picky lives nowhere\)"):
        cases_of(Picky)


def test_a_base_is_checked_within_what_is_given() -> None:
    (case,) = cases_of(broken_bases.Sound, within=[broken_environments.Sound(arms=4)])
    assert case.label == "sound in sound(arms=4)"


# --- Expected failures ----------------------------------------------------------------------------------------------


def found(expected: dict[str, str], cls: type[Meta] = broken_metas.SaysWhatItIs) -> list[Outcome]:
    return [judged(outcome, expectations(expected)) for outcome in check_all(cases_of(cls), expected)]


def test_expected_failures_are_no_failures() -> None:
    expected = {"says-what-it-is": "we call it so"}
    outcomes = found(expected)
    assert {outcome.check.name for outcome in outcomes if outcome.result == "expected"} == {"says-what-it-is"}
    assert {outcome.result for outcome in outcomes} == {"expected", "passed"}
    assert out_of_date(outcomes, expected) == []


def test_an_expected_failure_that_never_comes_is_out_of_date() -> None:
    expected = {"single-row": "it cannot", "says-what-it-is": "so it is"}
    (sentence,) = out_of_date(found(expected), expected)
    assert sentence == "single-row was expected to fail but fails in no case: it cannot"


def test_a_first_check_that_is_expected_to_fail_stops_nobody() -> None:
    results = {
        outcome.check.name: outcome.result
        for outcome in found({"no-global-randomness": "known"}, broken_metas.NoGlobalRandomness)
    }
    assert results["no-global-randomness"] == "expected"
    assert "not run" not in results.values()


def test_an_expected_failure_must_name_a_check() -> None:
    with pytest.raises(CorralError, match="there is no check 'single-rows'; did you mean single-row"):
        expectations({"single-rows": "it cannot"})


def test_an_expectation_may_be_about_some_cases() -> None:
    expected = {"says-what-it-is in without bounds": "we call it so"}
    outcomes = [outcome for outcome in found(expected) if outcome.check.name == "says-what-it-is"]
    assert {outcome.case.rpartition(" over ")[2]: outcome.result for outcome in outcomes} == {
        "bases with bounds": "failed",
        "bases without bounds": "expected",
    }
    assert out_of_date(outcomes, expected) == []
    (sentence,) = out_of_date(outcomes, {"says-what-it-is in Atlantis": "it sank"})
    assert sentence == "says-what-it-is in Atlantis was expected to fail but fails in no case: it sank"
