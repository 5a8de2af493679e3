"""What the theorem promises for an experiment, and which precondition fails when one is broken."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from corral_core.experiments.guarantee import Promise, promises
from corral_core.experiments.point import parse_point
from corral_core.metas.theorem import smoothing_needs


def promised(**changes: Any) -> list[Promise]:
    """The guarantees of an experiment that meets every precondition, but for the changes."""
    source: dict[str, Any] = {
        "name": "theory",
        "horizon": 20_000,
        "preset": "theory",
        "environment": {"name": "bernoulli-arms", "arms": 5},
        "meta": {"name": "corral"},
        "bases": [{"name": "ucb"}, {"name": "ucb1"}],
    }
    return promises(parse_point(source | changes))


def promise(**changes: Any) -> Promise:
    (found,) = promised(**changes)
    return found


def failing(found: Promise) -> list[str]:
    return [condition.text for condition in found.conditions if condition.holds is False]


RATE = [{"name": "rate", "gap": 0.5, "c": 1.0}, {"name": "rate", "gap": 0.5, "c": 1.0, "good": 1, "bad": 0}]
TWO_ARMS = {"name": "bernoulli-arms", "means": [0.75, 0.25]}


# --- preconditions ---


@pytest.mark.parametrize("meta", ["corral", "exp3p"])
def test_the_theory_preset_meets_every_precondition_that_can_be_checked(meta: str) -> None:
    found = promise(meta={"name": meta})
    assert failing(found) == []
    assert found.holds
    unknown = [condition.text for condition in found.conditions if condition.holds is None]
    assert len(unknown) == 2 and "contexts" in unknown[0] and "adapted" in unknown[1]
    assert any("restart" in condition.text for condition in found.conditions) == (meta == "corral")


SMOOTHED = "bases are smoothed"
BIAS = "the bias U_j(s)/s is subtracted from the gain"
TEST = "the base test is on"
RESTART = "bases restart when their threshold is halved"


@pytest.mark.parametrize(
    ("changes", "fails"),
    [
        ({"preset": "practice"}, [SMOOTHED, BIAS, TEST, RESTART]),
        ({"preset": "paper"}, [BIAS, TEST, RESTART]),
        ({"options": {"bias": 0.5}}, [BIAS]),
        ({"options": {"base_test": False}}, [TEST]),
        ({"options": {"restart": False}}, [RESTART]),
        ({"options": {"restart": False}, "meta": {"name": "exp3p"}}, []),
    ],
)
def test_an_option_that_is_off_is_the_precondition_that_fails(changes: dict[str, Any], fails: list[str]) -> None:
    found = promise(**changes)
    assert failing(found) == fails
    assert found.holds == (not fails)


def test_delta_must_be_at_most_one_over_the_root_of_the_rounds() -> None:
    """20000 plays are 10000 smoothed rounds: the limit is 0.01."""
    assert failing(promise(delta=0.01)) == []
    assert failing(promise(delta=0.011)) == ["delta = 0.011 is at most 1/sqrt(T) = 0.01"]


@pytest.mark.parametrize(
    ("noise", "low", "high", "scaled"), [(0.5, 0, 1, None), (0.51, 0, 1, "1.02"), (1.0, -1, 1, None), (2.0, -1, 1, "2")]
)
def test_noise_is_measured_in_half_the_reward_range(noise: float, low: float, high: float, scaled: str | None) -> None:
    found = promise(environment={"name": "gaussian-arms", "arms": 5, "noise": noise, "low": low, "high": high})
    expected = [f"the noise, {scaled} in units of half the reward range, is at most 1"] if scaled else []
    assert failing(found) == expected


def test_tails_that_are_heavy_fail() -> None:
    bases = [{"name": "menu", "magnitude": 2.0, "scale": scale} for scale in (1.0, 2.0)]
    found = promise(environment={"name": "student-t-arms", "df": 2.5}, bases=bases)
    assert "the noise is sub-Gaussian" in failing(found)


def test_bounds_below_the_root_of_t_are_too_narrow_for_smoothing() -> None:
    """The base of known regret claims 0.5 s^(1/2), far less than 8 sqrt(t ln(t^2/delta))."""
    found = promise(environment=TWO_ARMS, bases=RATE)
    assert failing(found) == ["literal bounds exceed 8 sqrt(t ln(t^2/delta)) at every t"]


@pytest.mark.parametrize(("alpha", "shown"), [(0.4, "0.4"), (1.0, "none below 1")])
def test_exponents_must_lie_between_one_half_and_one(alpha: float, shown: str) -> None:
    found = promise(environment=TWO_ARMS, bases=[{"name": "rate", "alpha": alpha, "c": 100.0}])
    assert f"exponents of the bounds ({shown}) lie in [1/2, 1)" in failing(found)


def test_only_metas_of_the_theorem_have_a_guarantee() -> None:
    compare = {"alone": "both", "metas": [{"name": "exp3p"}, {"name": "uniform"}], "presets": ["practice"]}
    assert [found.curve for found in promised(compare=compare)] == ["corral", "corral (practice)", "exp3p"]
    plain = {"base_test": False}
    assert promised(meta={"name": "original-corral"}, options=plain, compare={"alone": "none"}) == []


# --- promises ---


def test_the_promise_by_hand() -> None:
    """M = 2, T = 50000 rounds, U = s^(1/2)/2, known: eta = sqrt(2/50000)/0.5 = 0.012649, and
    sqrt(MT) + M/eta + T eta + T c^2 eta = 316.23 + 158.11 + 632.46 + 158.11."""
    found = promise(environment=TWO_ARMS, bases=RATE, horizon=100_000)
    assert found.row == "alpha and c known"
    (only,) = found.cases
    assert len(only.bases) == 2 and only.exponent == 0.5
    assert only.shape == only.literal == pytest.approx(316.2278 + 158.1139 + 632.4555 + 158.1139, rel=1e-6)
    assert found.most == 100_000
    assert "eta = 0.01265" in found.formula


def test_the_promise_of_exp3p_by_hand() -> None:
    """As above with p = T^(-1/3) (c/M)^(2/3) = 0.010772: 316.23 + MTp + 1/p + sqrt(T/p) c."""
    found = promise(environment=TWO_ARMS, bases=RATE, horizon=100_000, meta={"name": "exp3p"})
    p = 50_000 ** (-1 / 3) * 0.25 ** (2 / 3)
    expected = math.sqrt(1e5) + 1e5 * p + 1 / p + math.sqrt(50_000 / p) / 2
    assert found.cases[0].shape == pytest.approx(expected, rel=1e-9)
    assert f"p = {p:.4g}" in found.formula


def test_promises_are_in_raw_reward() -> None:
    """Arms, gap and noise ten times as large: the same problem in other units, so ten times the regret."""
    small = promise(environment={"name": "gaussian-arms", "means": [0.75, 0.25], "noise": 0.5})
    large = promise(environment={"name": "gaussian-arms", "means": [7.5, 2.5], "noise": 5.0, "high": 10.0})
    assert large.most == 10 * small.most
    for one, ten in zip(small.cases, large.cases, strict=True):
        assert (ten.shape, ten.literal) == pytest.approx((10 * one.shape, 10 * one.literal))


def test_the_price_of_misspecification_is_added_as_it_is() -> None:
    """epsilon sqrt(d) T, with T in rounds, is what the promises of two target levels differ by."""
    found = promise(
        environment={"name": "misspecified-contexts", "dimension": 4},
        bases=[{"name": "misspecified-linucb", "epsilon": epsilon} for epsilon in (0.0, 0.1)],
    )
    none, tenth = (each.shape for each in found.cases)
    assert tenth - none == pytest.approx(0.1 * 2 * 10_000)
    assert "the linear terms of U(T)" in found.formula


def test_a_rate_that_was_given_is_the_general_row() -> None:
    found = promise(environment=TWO_ARMS, bases=RATE, horizon=100_000, meta={"name": "corral", "eta": 0.02})
    assert found.row == "general (the rate was given)"
    expected = math.sqrt(1e5) + 2 / 0.02 + 50_000 * 0.02 + 50_000 * 0.25 * 0.02
    assert found.cases[0].shape == pytest.approx(expected)


def test_a_guarantee_is_vacuous_until_the_horizon_is_long() -> None:
    """Literal UCB bounds of five arms promise more than everything at 2000 plays; a regret of s^(1/2)/2 does not."""
    assert promise(horizon=2000).vacuous
    assert not promise(environment=TWO_ARMS, bases=RATE, horizon=100_000).vacuous
    assert promise(environment=TWO_ARMS, bases=RATE, horizon=10).vacuous


def test_the_best_of_the_promises_decides_whether_all_is_vacuous() -> None:
    """A base whose bound promises nothing does not take away what another promises, at a rate that was given."""
    bases = [RATE[0], {"name": "rate", "gap": 0.5, "c": 1e6}]
    found = promise(environment=TWO_ARMS, bases=bases, horizon=100_000, meta={"name": "corral", "eta": 0.02})
    values = sorted(each.literal for each in found.cases)
    assert len(values) == 2 and values[0] < found.most < values[1]
    assert not found.vacuous


def test_what_smoothing_needs() -> None:
    """8 sqrt(t ln(t^2/delta)); erratum S4: at delta = 1e-4 it exceeds t until t is about 1500."""
    needs = smoothing_needs(np.arange(1.0, 2001), 1e-4)
    assert needs[0] == pytest.approx(8 * math.sqrt(4 * math.log(10)))
    assert needs[99] == pytest.approx(80 * math.sqrt(8 * math.log(10)))
    crossing = int(np.flatnonzero(needs < np.arange(1, 2001))[0]) + 1
    assert 1400 <= crossing <= 1600
