"""A base whose regret grows faster than its bound says is warned of, and only such a base."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from corral_mab import BernoulliArms, Rate

from corral_core.bounds import Bound, Term
from corral_core.checks import cases_of, check_all
from corral_core.checks.rules import Outcome, judged, out_of_date
from corral_core.checks.slopes import SLOPES, _slope
from corral_core.checks.worlds import Small
from corral_core.errors import CorralError

sys.path.insert(0, str(Path(__file__).parent))
from sound_bases import SoundAndBounded, SoundAndRare

NAME = "regret-grows-as-stated"
TWO_ARMS = BernoulliArms(means=(0.9, 0.1))


def found(base: Any, world: Any) -> list[Outcome]:
    return [outcome for outcome in check_all(cases_of(base, within=[world])) if outcome.check.name == NAME]


class StatesItEverywhere(SoundAndBounded):
    """Plays arms without looking at contexts, and claims its bound also where contexts change."""

    def bound(self, delta: float) -> Bound | None:
        return Bound(lambda s: 3 * np.sqrt(s), (Term(3.0, 0.5),))


@pytest.mark.parametrize("shows", ["changing", "shared"])
def test_a_bound_that_holds_only_without_contexts_is_noticed(shows: Any) -> None:
    (outcome,) = found(StatesItEverywhere, Small(shows=shows))
    assert outcome.result == "warning"
    assert outcome.why.startswith(f"{NAME}: from 400 to 1600 plays its regret grows like s^1.0")
    assert outcome.why.endswith("but its bound says s^0.50; `bound` must return None where it does not hold")


def test_the_same_base_is_not_blamed_where_its_bound_holds() -> None:
    assert [outcome.result for outcome in found(StatesItEverywhere, Small())] == ["passed"]
    assert found(SoundAndBounded, Small(shows="changing")) == []  # it states nothing there


@attrs.frozen
class Modest(Rate):
    """Has the regret gap c s^alpha, and states another exponent."""

    stated = 0.1

    def bound(self, delta: float) -> Bound:
        return Bound(lambda s: s**self.stated, (Term(1.0, self.stated),))


def test_an_exponent_that_is_known_exactly() -> None:
    """`rate` has the regret gap c s^alpha, up to its first plays: it states alpha = 1/2 and passes.

    From 400 to 1600 plays the slope is ln(R(1600)/R(400))/ln 4 with R(T) = sum over t <= T of min(1, t^(-1/2)/2).
    """
    assert [outcome.result for outcome in found(Rate(gap=0.8), TWO_ARMS)] == ["passed"]
    (outcome,) = found(Modest(gap=0.8), TWO_ARMS)
    plays = [np.minimum(1, np.arange(1, last + 1) ** -0.5 / 2).sum() for last in (400, 1600)]
    slope = np.log(plays[1] / plays[0]) / np.log(4)
    assert outcome.result == "warning"
    told = outcome.why.split()
    measured, error = float(told[told.index("like") + 1][2:]), float(told[told.index("error") + 1].strip("),"))
    assert abs(measured - slope) < 4.5 * (error + 0.005)  # by chance above this with a probability below 1e-5


def test_a_linear_term_claims_nothing() -> None:
    class Linear(Rate):
        def bound(self, delta: float) -> Bound:
            return Bound(lambda s: s, (Term(1.0, 0.5), Term(0.1, 1.0)))

    assert found(Linear(), Small()) == []
    assert found(SoundAndRare, Small()) == []


def test_a_regret_below_the_stated_shape_contradicts_nothing() -> None:
    """One that begins slowly may have a large constant: 0.8 * 2 * 1600 is the most that can be lost."""

    class Generous(Rate):
        def bound(self, delta: float) -> Bound:
            return Bound(lambda s: 100 * np.sqrt(s), (Term(100.0, 0.5),))

    always_wrong = Generous(good=1, bad=1)
    assert [outcome.result for outcome in found(always_wrong, TWO_ARMS)] == ["passed"]


def test_no_regret_contradicts_nothing() -> None:
    assert [outcome.result for outcome in found(Modest(good=0, bad=0), TWO_ARMS)] == ["passed"]


def test_one_that_refuses_long_horizons_is_not_measured() -> None:
    class Short(Modest):
        def resolve(self, problem: Any) -> Any:
            if (problem.horizon or 0) > 300:
                raise CorralError("rate: at most 300 plays")
            return super().resolve(problem)

    assert [outcome.result for outcome in found(Short(good=1), TWO_ARMS)] == ["passed"]


def test_a_warning_can_be_expected() -> None:
    expected = {NAME: "a toy"}
    outcomes = [judged(outcome, expected) for outcome in found(Modest(gap=0.8), TWO_ARMS)]
    assert [outcome.result for outcome in outcomes] == ["expected"]
    assert out_of_date(outcomes, expected) == []


def test_slope_and_error_by_hand() -> None:
    """With a regret of T^0.7 in every row the slope is 0.7; the error is that of relative regrets."""
    slope, error = _slope(np.full(4, 100**0.7), np.full(4, 400**0.7))
    assert (round(slope, 12), error) == (0.7, 0)
    before, after = np.array([1.0, 3.0]), np.array([6.0, 2.0])
    slope, error = _slope(before, after)
    assert slope == pytest.approx(0.5)
    # differences 1.5 - 0.5 and 0.5 - 1.5: their standard deviation is sqrt(2), of their mean 1
    assert error == pytest.approx(1 / np.log(4))


def test_nothing_is_measured_where_regret_is_unknown() -> None:
    class Silent(Small):
        @property
        def problem(self) -> Any:
            return attrs.evolve(super().problem, regret=False)

    (case,) = cases_of(StatesItEverywhere, within=[Silent()])
    (check,) = SLOPES
    assert not check.applies_to(case)
