"""What the theorem promises for an experiment, and which precondition fails when one is broken.

Also tests `metas/theorem.py`.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from corral_mab import Ucb

from corral_core.bounds import Bound
from corral_core.errors import CorralError
from corral_core.experiments.guarantee import Promise, orders, promises
from corral_core.experiments.point import Point, parse_point
from corral_core.metas.theorem import smoothing_needs
from corral_core.metas.uniform import Uniform
from corral_core.protocols.meta import Condition, Guarantee, Meta, MetaProblem


def source(**changes: Any) -> dict[str, Any]:
    """An experiment that meets every precondition, but for the changes."""
    found: dict[str, Any] = {
        "name": "theory",
        "horizon": 20_000,
        "preset": "theory",
        "environment": {"name": "bernoulli-arms", "arms": 5},
        "meta": {"name": "corral"},
        "bases": [{"name": "ucb"}, {"name": "ucb1"}],
    }
    return found | changes


def promised(**changes: Any) -> list[Promise]:
    return promises(parse_point(source(**changes)))


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


SHARED = "every base learns only from its own plays"
SMOOTHED = "bases are smoothed"
BIAS = "the bias U_j(s)/s is subtracted from the gain"
TEST = "the base test is on"
RESTART = "bases restart when the meta asks for it"
LITERAL = "bias and base test use literal bounds"


@pytest.mark.parametrize(
    ("changes", "fails"),
    [
        ({"preset": "practice"}, [SMOOTHED, BIAS, TEST, RESTART]),
        ({"preset": "practice", "options": {"share": True}}, [SHARED, SMOOTHED, BIAS, TEST, RESTART]),
        ({"preset": "paper"}, [BIAS, TEST, RESTART]),
        ({"options": {"bias": 0.5}}, [BIAS]),
        ({"options": {"base_test": False}}, [TEST]),
        ({"options": {"restart": False}}, [RESTART]),
        ({"options": {"restart": False}, "meta": {"name": "exp3p"}}, []),
        ({"options": {"bound": "shape"}}, [LITERAL]),
        ({"options": {"bound": "shape"}, "meta": {"name": "exp3p"}}, [LITERAL]),
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


@pytest.mark.parametrize("meta", ["corral", "exp3p"])
def test_a_delta_of_its_own_is_named_with_its_base(meta: str) -> None:
    """At delta = 0.9 UCB hardly explores, and its regret is linear, but its bound is that of delta = 1/20,000."""
    found = promise(meta={"name": meta}, bases=[{"name": "ucb", "delta": 0.9}, {"name": "ucb1"}])
    assert failing(found) == ["bases play with the delta of their bounds, 5e-05 (ucb: 0.9)"]
    wide = promise(bases=[{"name": "ucb", "delta": 1e-9}, {"name": "ucb"}])
    assert failing(wide) == ["bases play with the delta of their bounds, 5e-05 (ucb(delta=1e-09): 1e-09)"]
    assert failing(promise(bases=[{"name": "ucb", "delta": 5e-05}, {"name": "ucb1"}])) == []


ADAPTED = "some base is adapted: its bound holds in this environment"


@pytest.mark.parametrize(
    ("own", "text"),
    [
        ({"noise": 0.1}, "noise 0.1 instead of 0.5"),
        ({"high": 0.6}, "high 0.6 instead of 1"),
        ({"low": 0.3}, "low 0.3 instead of 0"),
        ({"noise": 0.7, "low": -1, "high": 2}, None),
    ],
)
def test_a_base_that_assumes_a_milder_problem_is_not_adapted(own: dict[str, float], text: str | None) -> None:
    """One such base is named; if there is no other, the condition fails."""
    mild = {"name": "ucb", **own}
    several = promise(bases=[{"name": "ucb"}, mild]).conditions[-1]
    alone = promise(bases=[mild]).conditions[-1]
    label = f"ucb({', '.join(f'{name}={value}' for name, value in own.items())})"
    assert several == Condition(f"{ADAPTED} (not {label}: {text})" if text else ADAPTED, None)
    assert alone == Condition(f"{ADAPTED} (not ucb: {text})" if text else ADAPTED, False if text else None)


@pytest.mark.parametrize(
    ("mild", "environment", "text"),
    [
        ({"name": "ucb", "changing": False}, {"name": "lipschitz"}, "changing false instead of true"),
        (
            {"name": "epsilon-greedy", "bounded": True},
            {"name": "gaussian-arms", "means": [0.2, 0.8], "noise": 0.4},
            "all rewards in [0, 1]",
        ),
    ],
)
def test_a_base_that_is_told_what_is_not_true_is_not_adapted(mild: Any, environment: Any, text: str) -> None:
    """Contexts that change, and rewards without limits, which nobody but the user denied."""
    found = promise(bases=[mild], environment=environment).conditions[-1]
    assert found == Condition(f"{ADAPTED} (not {mild['name']}: {text})", False)


def test_the_preset_theory_is_only_named_if_it_has_what_is_missing() -> None:
    assert promise(preset="paper").off
    assert promise(options={"bound": "shape"}).off
    assert not promise(delta=0.011).off
    assert not promise().off


def test_a_bound_that_is_claimed_is_assumed_whatever_the_delta() -> None:
    bases = [{"name": "ucb", "delta": 0.9, "bound": {"c": 500, "alpha": 0.5}}, {"name": "ucb1"}]
    found = promise(bases=bases)
    assert failing(found) == []
    assert Condition("the bounds that the experiment claims hold (ucb)", None) in found.conditions


def test_bases_without_a_bound_are_named() -> None:
    bases = [{"name": "ucb", "scale": scale} for scale in (0.5, 0.6, 0.7, 0.8, 0.9)] + [{"name": "ucb1"}]
    found = promise(preset="paper", bases=bases)
    (text,) = (each for each in failing(found) if "every base" in each)
    assert text.startswith("every base has a bound (ucb(scale=0.5), ucb(scale=0.6), ") and text.endswith(", 1 more)")


def test_a_reward_beyond_the_clip_fails() -> None:
    """Bernoulli rewards of arms whose means span [0.45, 0.5] reach from -9 to 11 in units of that range."""
    found = parse_point(source())
    narrow = attrs.evolve(found.problem, low=0.45, high=0.5)
    texts = [failing(each) for each in promises(attrs.evolve(found, problem=narrow))]
    assert texts[0][0] == "rewards lie in [0.4, 0.55], so that cutting them keeps their means"
    unknown = attrs.evolve(found.problem, reward_low=None, reward_high=None)
    (promise,) = promises(attrs.evolve(found, problem=unknown))
    assert Condition("rewards lie in [-1, 2], so that cutting them keeps their means", None) in promise.conditions


def test_raw_rewards_that_are_cut_to_the_range_of_scaled_ones_fail() -> None:
    environment = {"name": "gaussian-arms", "arms": 5, "low": 0, "high": 10}
    options = {"units": "raw", "clip": [-1, 2]}
    found = promise(environment=environment, options=options, bases=[{"name": "ucb"}, {"name": "ucb1"}])
    assert failing(found) == [
        "the meta sees rewards in units of their range",
        "the rewards that the meta sees are cut to [-1, 2]",
        "rewards lie in [-1, 2], so that cutting them keeps their means",
    ]


def test_arms_that_are_replaced_fail() -> None:
    found = parse_point(source())
    (promise,) = promises(attrs.evolve(found, problem=attrs.evolve(found.problem, renewable=True)))
    assert failing(promise) == ["arms are never replaced by new ones"]


@attrs.frozen
class Growing(Ucb):
    """Its literal bound is t^1.2 after 100 plays: a regret per play that grows."""

    def bound(self, delta: float) -> Bound | None:
        found = super().bound(delta)
        return found and Bound(lambda s: found.literal(s) + np.maximum(s - 100, 0) ** 1.2, found.shape)


def test_a_regret_per_play_that_grows_fails() -> None:
    found = parse_point(source(horizon=10_000_000))
    curve = found.curves[0]
    curve = attrs.evolve(curve, bases=(Growing().resolve(found.problem), curve.bases[1]))
    (promise,) = promises(attrs.evolve(found, curves=(curve,)))
    assert failing(promise) == ["U(t)/t never grows"]


def test_overwriting_p_is_assumed_to_do_no_harm() -> None:
    found = promise(meta={"name": "corral", "mixing": "overwrite"})
    assert failing(found) == []
    assert Condition("overwriting p by the sampling distribution keeps the regret", None) in found.conditions


# --- metas ---


def test_which_metas_state_a_guarantee() -> None:
    metas = [{"name": "exp3p"}, {"name": "uniform"}, {"name": "original-corral"}]
    found = promised(compare={"alone": "both", "metas": metas, "presets": ["practice"]})
    assert [each.curve for each in found] == ["corral", "corral (practice)", "exp3p", "original-corral"]
    assert {each.source for each in found[:3]} == {"Theorem 4.11 of Pacchiano et al. 2020"}
    assert found[3].source == "the main theorem of Agarwal et al. 2017"


@pytest.mark.parametrize(
    ("changes", "fails"),
    [
        ({}, []),
        ({"options": {"restart": False}}, [RESTART]),
        ({"meta": {"mixing": "overwrite"}}, ["p is kept separate from the sampling distribution"]),
        ({"meta": {"gamma": 0.5}}, ["gamma = 0.5 is 1/T = 5e-05"]),
        ({"meta": {"growth": 1.0}}, ["growth = 1 is exp(1/ln T) = 1.106"]),
        ({"meta": {"loss_factor": 3.0}}, ["loss_factor = 3 is 1 or 2"]),
    ],
)
def test_the_guarantee_of_the_original(changes: dict[str, Any], fails: list[str]) -> None:
    """One play per round, so T = 20,000; whether bases are stable cannot be checked."""
    changed = {**changes, "meta": {"name": "original-corral", **changes.get("meta", {})}}
    found = promise(bases=[{"name": "exp3"}, {"name": "exp3-ix"}], **changed)
    assert failing(found) == fails
    assert any("stable" in condition.text and condition.holds is None for condition in found.conditions)


def test_the_promise_of_the_original_by_hand() -> None:
    """M = 2, T = 100,000, c = 1/2, eta = 0.01: M/eta + T eta + T c^2 eta = 200 + 1000 + 250."""
    meta = {"name": "original-corral", "eta": 0.01}
    found = promise(environment=TWO_ARMS, bases=RATE, horizon=100_000, meta=meta)
    assert found.cases[0].shape == pytest.approx(1450)


class Pledge(Uniform):
    """A meta of somebody else: it needs an option that nothing here knows by name."""

    def guarantee(self, told: MetaProblem) -> Guarantee | None:
        return Guarantee(
            source="the pledge", formula="T^(3/4)", order=lambda term, rounds: rounds**0.75, requires={"copies": 7}
        )


class Confused(Uniform):
    def guarantee(self, told: MetaProblem) -> Guarantee | None:
        raise ZeroDivisionError("oops")


def with_meta(meta: Meta, **changes: Any) -> Point:
    found = parse_point(source(**changes))
    curve = found.curves[0]
    return attrs.evolve(found, curves=(attrs.evolve(curve, meta=meta),))


def test_any_meta_can_state_a_guarantee() -> None:
    found = with_meta(Pledge())
    (promise,) = promises(found)
    assert (promise.source, promise.formula, promise.row) == ("the pledge", "T^(3/4)", "")
    assert failing(promise) == ["the option copies is 7"]
    assert promise.cases[0].shape == 10_000**0.75
    assert not any("every base has a bound" in condition.text for condition in promise.conditions)
    assert orders(found, found.curves[0]) == (0.75,)


def test_a_guarantee_that_raises_is_named_and_ends_no_run() -> None:
    found = with_meta(Confused())
    with pytest.raises(
        CorralError, match=r"uniform: guarantee raised ZeroDivisionError: oops \(test_guarantee.py, line"
    ):
        promises(found)
    assert orders(found, found.curves[0]) == ()


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
