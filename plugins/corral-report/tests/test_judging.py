"""Claims are judged from intervals: they agree, disagree, or are undecided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from corral_report.judging import Judgement, judge

from corral_core.analysis.statistics import Interval, difference, exponent, mean_interval
from corral_core.experiments.claims import stated
from corral_core.rows import Array
from corral_core.runs.description import CurveDescription, PointDescription
from corral_core.runs.results import Result
from corral_core.runs.standard_errors import Moments

ZIGZAG = np.tile([-1.0, 1.0], 20)  # forty replicates, mean 0


def result(
    curve: str, final: Any, at: str = "", horizon: int = 100, known: bool = True, wanted: int | None = None
) -> Result:
    described = CurveDescription(curve, (curve,), None, "plain", (), ())
    point = PointDescription("made", "", at, horizon, wanted or len(final), 1, len(final), (described,), {})
    values: Array = np.asarray(final, dtype=np.float64)
    moments = Moments()
    moments.add(values[:, np.newaxis])
    one = np.ones((1, 1))
    return Result(
        point,
        described,
        np.array([horizon]),
        moments if known else None,
        moments,
        moments,
        moments,
        one,
        one,
        values,
        0.0,
    )


def judged(test: Mapping[str, Any], results: Sequence[Result]) -> Judgement:
    (claim,) = stated({"name": "made", "claims": [{"of": "Figure 1", "says": "so", **test}]}).claims
    return judge(claim, results)


def interval(found: Judgement, place: int = 0) -> Interval:
    measured = found.findings[place].interval
    assert measured is not None
    return measured


@pytest.mark.parametrize(("above", "verdict"), [(3.0, "agrees"), (-3.0, "disagrees"), (0.1, "undecided")])
def test_less(above: float, verdict: str) -> None:
    luck = np.linspace(0, 500, 40)
    found = judged({"less": ["a", "b"]}, [result("a", luck), result("b", luck + above + ZIGZAG)])
    assert found.verdict == verdict
    assert interval(found).estimate == pytest.approx(above)  # paired: the common luck cancels


def test_a_chain_holds_if_every_link_does() -> None:
    rise = [result(name, 10 * place + ZIGZAG * place) for place, name in enumerate("abc", 1)]
    assert judged({"less": ["a", "b", "c"]}, rise).verdict == "agrees"
    assert judged({"less": ["a", "c", "b"]}, rise).verdict == "disagrees"


def test_every_point_counts_unless_one_is_named() -> None:
    both = [
        result(name, value + place * ZIGZAG, at)
        for at, pair in (("x = 1", (1, 9)), ("x = 2", (9, 1)))
        for place, (name, value) in enumerate(zip("ab", pair, strict=True))
    ]
    assert judged({"less": ["a", "b"]}, both).verdict == "disagrees"
    assert judged({"less": ["a", "b"], "at": "x = 1"}, both).verdict == "agrees"
    assert judged({"either": [{"less": ["a", "b"], "at": at} for at in ("x = 1", "x = 2")]}, both).verdict == "agrees"
    wrong = [{"less": ["b", "a"], "at": "x = 1"}, {"less": ["a", "b"], "at": "x = 2"}]
    assert judged({"either": wrong}, both).verdict == "disagrees"


def test_either_is_undecided_where_one_part_cannot_and_no_other_holds() -> None:
    near = [result("a", ZIGZAG), result("b", 0.1 - ZIGZAG), result("c", 9 + ZIGZAG)]
    assert judged({"either": [{"less": ["a", "b"]}, {"less": ["c", "a"]}]}, near).verdict == "undecided"


@pytest.mark.parametrize(("wide", "verdict"), [(5.0, "agrees"), (0.2, "disagrees"), (1.0, "undecided")])
def test_wider(wide: float, verdict: str) -> None:
    """Other draws, seed 1: with ratios of 5 the chance of another verdict is below 1e-6; with 1 it is 5%."""
    first, second = np.random.default_rng(1).standard_normal((2, 60))
    found = judged({"wider": ["a", "b"]}, [result("a", 100 + wide * first), result("b", second)])
    assert found.verdict == verdict


def test_wider_is_the_jackknife_by_hand() -> None:
    first, second = np.random.default_rng(2).exponential(size=(2, 12))

    def pseudo(values: Array) -> Array:
        left = [np.delete(values, place).std(ddof=1) for place in range(len(values))]
        return np.asarray(len(values) * values.std(ddof=1) - (len(values) - 1) * np.asarray(left))

    found = interval(judged({"wider": ["a", "b"]}, [result("a", first), result("b", second)]))
    each = pseudo(first) - pseudo(second)
    half = 2.200985160082949 * each.std(ddof=1) / np.sqrt(12)  # the 0.975 quantile of t with 11 degrees of freedom
    assert (found.low, found.high) == pytest.approx((each.mean() - half, each.mean() + half))
    assert found.estimate == pytest.approx(first.std(ddof=1) - second.std(ddof=1))


@pytest.mark.parametrize(("limit", "least", "most"), [(5, "agrees", "disagrees"), (15, "disagrees", "agrees")])
def test_at_least_and_at_most(limit: float, least: str, most: str) -> None:
    found = [result("a", 10 + ZIGZAG)]
    assert judged({"at_least": {"a": limit}}, found).verdict == least
    assert judged({"at_most": {"a": limit}}, found).verdict == most
    assert judged({"at_most": {"a": 10.1}}, found).verdict == "undecided"
    assert judged({"at_least": {"a": 9.9}}, found).verdict == "undecided"


@pytest.mark.parametrize(
    ("power", "noise", "verdict"),
    [(0.5, 0.01, "agrees"), (0.6, 0.01, "agrees"), (0.8, 0.01, "disagrees"), (0.62, 0.9, "undecided")],
)
def test_an_exponent_may_exceed_by_one_logarithm(power: float, noise: float, verdict: str) -> None:
    """At 1,000 to 16,000 plays a logarithm is worth 1/ln(4,000) = 0.1206."""
    horizons = (1000, 4000, 16000)
    luck = np.random.default_rng(3).uniform(-1, 1, (3, 40))
    found = [
        result("a", size**power * (1 + noise * each), f"horizon = {size}", size)
        for size, each in zip(horizons, luck, strict=True)
    ]
    made = judged({"exponent": {"a": 0.5}}, found)
    assert made.verdict == verdict
    assert made.findings[0].wanted == "at most 0.5, plus 0.12 for a logarithm"


@pytest.mark.parametrize("test", [{"less": ["a", "b"]}, {"wider": ["a", "b"]}, {"at_least": {"a": 0.0}}])
def test_one_replicate_tells_nothing(test: dict[str, Any]) -> None:
    assert judged(test, [result("a", [1.0]), result("b", [2.0])]).verdict == "undecided"


def test_two_replicates_have_no_wider_one() -> None:
    found = judged({"wider": ["a", "b"]}, [result("a", [1.0, 9.0]), result("b", [2.0, 2.1])])
    assert found.verdict == "undecided" and "needs 3 replicates, but there are 2" in found.findings[0].what


@pytest.mark.parametrize("kind", ["less", "wider"])
@pytest.mark.parametrize("curves", [["a", "b"], ["b", "a"]])
def test_what_is_equal_is_neither_less_nor_wider(kind: str, curves: list[str]) -> None:
    for final in (ZIGZAG, np.full(40, 7.0)):
        assert judged({kind: curves}, [result("a", final), result("b", final)]).verdict == "disagrees"


def test_a_limit_that_is_met_exactly_is_met() -> None:
    found = [result("a", np.full(40, 7.0))]
    assert judged({"at_least": {"a": 7}}, found).verdict == judged({"at_most": {"a": 7}}, found).verdict == "agrees"


@pytest.mark.parametrize(
    ("test", "results", "words"),
    [
        ({"less": ["a", "b"]}, [result("a", ZIGZAG)], "there are no results of b; run the whole experiment"),
        ({"less": ["a", "b"]}, [], "there are no results of b"),
        ({"less": ["a", "b"], "at": "x = 1"}, [result("a", ZIGZAG)], "there are no results of b, x = 1"),
        (
            {"at_least": {"a": 1}},
            [result("a", ZIGZAG, known=False)],
            "the regret of a, but this environment does not report regret",
        ),
        ({"at_most": {"a": 99}}, [result("a", ZIGZAG, wanted=50)], "there are 40 of 50 replicates of a"),
        ({"at_most": {"a": 99}}, [result("a", [1.0, np.nan])], "some replicates are infinite or NaN"),
        ({"exponent": {"a": 0.5}}, [], "needs 3 horizons, but there are 0"),
        (
            {"exponent": {"a": 0.5}},
            [result("a", 0 * ZIGZAG, f"horizon = {size}", size) for size in (10, 20, 40)],
            "means above zero, but the mean at 10 is 0",
        ),
        (
            {"exponent": {"a": 0.5}},  # a resample of zeros alone has a chance of 1/8 each time
            [result("a", [0.0, 0.0, 9.0], f"horizon = {size}", size) for size in (10, 20, 40)],
            "means clearly above zero",
        ),
        (
            {"exponent": {"a": 0.5}},
            [result("a" if size < 40 else "b", ZIGZAG + 9, f"horizon = {size}", size) for size in (10, 20, 40)],
            "no results of a, horizon = 40",
        ),
    ],
)
def test_what_cannot_be_measured_is_undecided(test: dict[str, Any], results: list[Result], words: str) -> None:
    found = judged(test, results)
    assert found.verdict == "undecided"
    assert words in found.findings[0].what and found.findings[0].interval is None


def test_what_can_be_measured_counts_beside_what_cannot() -> None:
    found = [result("a", 1 + 0 * ZIGZAG), result("b", 9 + ZIGZAG), result("c", ZIGZAG, known=False)]
    assert judged({"either": [{"less": ["a", "c"]}, {"less": ["a", "b"]}]}, found).verdict == "agrees"
    assert judged({"less": ["b", "a", "c"]}, found).verdict == "disagrees"
    assert judged({"less": ["a", "b", "c"]}, found).verdict == "undecided"


def test_the_numbers_of_a_claim_hold_together() -> None:
    """k of them have intervals at 1 - 0.05/k."""
    rise = [result(name, 10 * place + ZIGZAG * place) for place, name in enumerate("abc", 1)]
    chain = judged({"less": ["a", "b", "c"]}, rise)
    assert interval(chain) == difference(rise[1].final, rise[0].final, paired=True, level=0.975)
    assert interval(judged({"at_least": {"a": 1}}, rise)) == mean_interval(rise[0].final)
    either = judged({"either": [{"at_least": {"a": 1, "b": 1}}, {"wider": ["a", "b"]}, {"less": ["a", "b"]}]}, rise)
    assert {interval(either, place).level for place in range(4)} == {0.9875}


def test_exponents_of_a_claim_hold_together() -> None:
    sizes = (1000, 4000, 16000)
    found = [
        result(name, size**0.5 * (9 + place * ZIGZAG), f"horizon = {size}", size)
        for size in sizes
        for place, name in enumerate("ab", 1)
    ]
    made = judged({"exponent": {"a": 0.5, "b": 0.5}}, found)
    alone = exponent(sizes, [each.final for each in found if each.curve.name == "b"], level=0.975, samples=4000)
    assert interval(made, 1) == alone


def test_either_over_noise_agrees_seldom() -> None:
    """Ten points without a difference, 400 times, seed 4: 2.5% of the claims should agree, and 22% without Bonferroni.

    More than 20 of 400 have a chance of 0.14%.
    """
    points = [f"x = {number}" for number in range(10)]
    test = {"either": [{"less": ["a", "b"], "at": at} for at in points]}
    agreed = 0
    for noise in np.random.default_rng(4).standard_normal((400, 10, 2, 12)):
        found = [
            result(name, noise[place, curve], at) for place, at in enumerate(points) for curve, name in enumerate("ab")
        ]
        agreed += judged(test, found).holds is True
    assert agreed <= 20
