"""Claims are read strictly, and judged from intervals: agreement, disagreement, and neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corral_report.judging import Judgement, judge

from corral_core.analysis.statistics import Interval, difference, exponent, mean_interval
from corral_core.errors import CorralError
from corral_core.experiments.claims import check, stated
from corral_core.experiments.experiment import load_experiment
from corral_core.experiments.point import parse_point
from corral_core.experiments.source import read, sweep
from corral_core.registry.names import get_registry
from corral_core.rows import Array
from corral_core.runs.description import CurveDescription, PointDescription
from corral_core.runs.results import Result
from corral_core.runs.standard_errors import Moments
from corral_core.selection.options import PRESETS

ZIGZAG = np.tile([-1.0, 1.0], 20)  # forty replicates, mean 0
CHECKPOINTS = [("", 100, ["a", "b", "c"])]
SMALL = """
name = "small"
question = "Which?"
horizon = 60
replicates = 6

[environment]
name = "bernoulli-arms"
means = [0.9, 0.1]

[[bases]]
name = "ucb"

[[bases]]
name = "epsilon-greedy"
"""


def result(
    curve: str, final: Any, at: str = "", horizon: int = 100, known: bool = True, wanted: int | None = None
) -> Result:
    line = CurveDescription(curve, (curve,), None, "plain", (), ())
    setting = PointDescription("made", "", at, horizon, wanted or len(final), 1, len(final), (line,), {})
    values: Array = np.asarray(final, dtype=np.float64)
    moments = Moments()
    moments.add(values[:, np.newaxis])
    one = np.ones((1, 1))
    return Result(
        setting, line, np.array([horizon]), moments if known else None, moments, moments, one, one, values, 0.0
    )


def judged(test: Mapping[str, Any], results: Sequence[Result]) -> Judgement:
    (claim,) = stated({"name": "made", "claims": [{"of": "Figure 1", "says": "so", **test}]}).claims
    return judge(claim, results)


def interval(found: Judgement, place: int = 0) -> Interval:
    measured = found.findings[place].interval
    assert measured is not None
    return measured


# --- Judging ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("above", "verdict"), [(3.0, "agrees"), (-3.0, "disagrees"), (0.1, "cannot be told")])
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


def test_either_cannot_be_told_where_one_part_cannot_and_no_other_holds() -> None:
    near = [result("a", ZIGZAG), result("b", 0.1 - ZIGZAG), result("c", 9 + ZIGZAG)]
    assert judged({"either": [{"less": ["a", "b"]}, {"less": ["c", "a"]}]}, near).verdict == "cannot be told"


@pytest.mark.parametrize(("wide", "verdict"), [(5.0, "agrees"), (0.2, "disagrees"), (1.0, "cannot be told")])
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
    assert judged({"at_most": {"a": 10.1}}, found).verdict == "cannot be told"
    assert judged({"at_least": {"a": 9.9}}, found).verdict == "cannot be told"


@pytest.mark.parametrize(
    ("power", "noise", "verdict"),
    [(0.5, 0.01, "agrees"), (0.6, 0.01, "agrees"), (0.8, 0.01, "disagrees"), (0.62, 0.9, "cannot be told")],
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
    assert made.findings[0].wanted == "at most 0.5, and 0.12 for a logarithm"


@pytest.mark.parametrize("test", [{"less": ["a", "b"]}, {"wider": ["a", "b"]}, {"at_least": {"a": 0.0}}])
def test_one_replicate_tells_nothing(test: dict[str, Any]) -> None:
    assert judged(test, [result("a", [1.0]), result("b", [2.0])]).verdict == "cannot be told"


def test_two_replicates_have_no_wider_one() -> None:
    found = judged({"wider": ["a", "b"]}, [result("a", [1.0, 9.0]), result("b", [2.0, 2.1])])
    assert found.verdict == "cannot be told" and "needs 3 replicates, and there are 2" in found.findings[0].what


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
        ({"less": ["a", "b"]}, [result("a", ZIGZAG)], "there are no results of b; run the experiment to its end"),
        ({"less": ["a", "b"]}, [], "there are no results of b"),
        ({"less": ["a", "b"], "at": "x = 1"}, [result("a", ZIGZAG)], "there are no results of b, x = 1"),
        ({"at_least": {"a": 1}}, [result("a", ZIGZAG, known=False)], "the regret of a, which nobody knows"),
        ({"at_most": {"a": 99}}, [result("a", ZIGZAG, wanted=50)], "there are 40 of 50 replicates of a"),
        ({"at_most": {"a": 99}}, [result("a", [1.0, np.nan])], "some replicates came to none"),
        ({"exponent": {"a": 0.5}}, [], "needs 3 horizons, and there are 0"),
        (
            {"exponent": {"a": 0.5}},
            [result("a", 0 * ZIGZAG, f"horizon = {size}", size) for size in (10, 20, 40)],
            "means above zero, and the mean at 10 is 0",
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
def test_what_cannot_be_measured_cannot_be_told(test: dict[str, Any], results: list[Result], words: str) -> None:
    found = judged(test, results)
    assert found.verdict == "cannot be told"
    assert words in found.findings[0].what and found.findings[0].interval is None


def test_what_can_be_measured_counts_beside_what_cannot() -> None:
    found = [result("a", 1 + 0 * ZIGZAG), result("b", 9 + ZIGZAG), result("c", ZIGZAG, known=False)]
    assert judged({"either": [{"less": ["a", "c"]}, {"less": ["a", "b"]}]}, found).verdict == "agrees"
    assert judged({"less": ["b", "a", "c"]}, found).verdict == "disagrees"
    assert judged({"less": ["a", "b", "c"]}, found).verdict == "cannot be told"


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


# --- Reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"less": ["a", "b"], "wider": ["a", "b"]}, "needs exactly one of less, wider"),
        ({}, "needs exactly one of less, wider"),
        ({"lesss": ["a", "b"]}, "has no 'lesss'; did you mean less"),
        ({"less": ["a"]}, "less must name two curves or more, each once"),
        ({"less": ["a", "a"]}, "less must name two curves or more, each once"),
        ({"wider": ["a", "b", "c"]}, "wider must name two curves, each once"),
        ({"exponent": {"a": "half"}}, "exponent: a must be a number"),
        ({"at_least": {"a": float("nan")}}, "at_least: a must be finite"),
        ({"at_most": 3}, "must be a table of numbers by curve"),
        ({"exponent": {"a": 1}, "at": "x = 1"}, "takes no at"),
        ({"either": [{"less": ["a", "b"]}]}, "at least two tests"),
        ({"either": [{"less": ["a", "b"]}, {"exponent": {"a": 1}}]}, "takes tests that are made at a point"),
        ({"less": ["a", "b"], "reading": "yes"}, "reading must be true or false"),
    ],
)
def test_what_makes_no_claim_is_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(CorralError, match=words):
        stated({"name": "made", "claims": [{"of": "Figure 1", "says": "so", **table}]})


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"claims": {"of": "x"}}, "claims must be a list of tables"),
        ({"claims": [{"says": "so", "less": ["a", "b"]}]}, "needs of"),
        ({"open": "everything"}, "open must be a list"),
        ({"quick": 3}, "quick must be a table"),
        ({"quick": {"replicate": 3}}, "has no 'replicate'; did you mean replicates"),
        ({"quick": {"sweep": [1]}}, "there is none"),
        ({"band": "wide"}, "band must be a number"),
        ({"band": 0}, "band must be a positive number of standard deviations"),
    ],
)
def test_what_surrounds_claims_is_checked(source: dict[str, Any], words: str) -> None:
    with pytest.raises(CorralError, match=words):
        stated({"name": "made", **source})


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ({"less": ["a", "bb"]}, "a claim names 'bb', no curve; did you mean b"),
        ({"less": ["a", "b"], "at": "x = 1"}, "a claim is made at 'x = 1', no swept point"),
        ({"exponent": {"a": 0.5}}, "needs a sweep of at least three horizons"),
        ({"either": [{"less": ["a", "b"]}, {"less": ["a", "d"]}]}, "a claim names 'd', no curve"),
    ],
)
def test_curves_and_points_must_be_there(test: dict[str, Any], words: str) -> None:
    found = stated({"name": "made", "claims": [{"of": "Figure 1", "says": "so", **test}]})
    with pytest.raises(CorralError, match=words):
        check(found, CHECKPOINTS, "experiment made")


def written(folder: Path, claims: str, head: str = "") -> str:
    file = folder / "small.toml"
    file.write_text(head + SMALL + claims, encoding="utf-8")
    return str(file)


def test_claims_are_no_part_of_what_is_played(tmp_path: Path) -> None:
    claims = '\n[[claims]]\nof = "Figure 1"\nsays = "so"\nless = ["ucb", "epsilon-greedy"]\n'
    plain = load_experiment(written(tmp_path, ""))[0].source
    with_claims = written(tmp_path, claims, 'open = ["the arms"]\nquick = { replicates = 2 }\nband = 0.3\n')
    assert load_experiment(with_claims).points[0].source == plain
    points, found = load_experiment(with_claims, quick=True)
    assert (points[0].replicates, found.open, found.claims[0].of) == (2, ("the arms",), "Figure 1")
    assert found.band == 0.3 and load_experiment("quickstart")[1].band == 1.0
    assert load_experiment(with_claims)[0][0].replicates == 6


def test_a_curve_that_is_not_there_is_refused_when_loading(tmp_path: Path) -> None:
    file = written(tmp_path, '\n[[claims]]\nof = "x"\nsays = "y"\nless = ["ucb", "epsilon-gredy"]\n')
    with pytest.raises(CorralError, match="a claim names 'epsilon-gredy', no curve; did you mean epsilon-greedy"):
        load_experiment(file)


REGISTERED = [entry.name for entry in get_registry().entries("experiment")]


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("name", REGISTERED)
def test_registered_claims_fit_their_experiments(name: str, quick: bool) -> None:
    points, found = load_experiment(name, quick)  # refuses curves and points that are not there
    if found.claims:
        assert found.open and found.quick, "say what the paper leaves open, and what --quick changes"
    assert all(parse_point(point.source).source == point.source for point in points)


ITEMS = [
    "Figure 1, left",
    "Figure 1, right",
    "Figure 2",
    "Figure 2, footnote",
    *(f"Table 1, {row} row, {meta}" for row in ("top", "middle", "bottom") for meta in ("CORRAL", "EXP3.P")),
    "Theorem 5.2",
    "Theorem 5.3",
    "Theorem 6.1, contexts",
    "Theorem 6.1, fixed arms",
    "Theorem 6.3",
    "Theorem 6.6",
    "Figure 3",
    "Unknown dimension, finite sets, Foster et al.",
    "Unknown dimension, finite sets, EXP3.P",
    "Unknown dimension, finite sets, CORRAL",
    "Unknown dimension, infinite sets, EXP3.P",
    "Unknown dimension, infinite sets, CORRAL",
    "Unknown dimension and misspecification, EXP3.P",
    "Unknown dimension and misspecification, CORRAL",
]


@pytest.mark.parametrize("item", ITEMS)
def test_the_item_of_the_paper_has_a_claim(item: str) -> None:
    claims = [claim for name in REGISTERED for claim in stated(read(name)).claims if claim.of == item]
    assert claims
    if item not in ("Figure 2", "Figure 2, footnote", "Theorem 5.3"):  # of which all claims are readings
        assert not all(claim.reading for claim in claims)


def test_theorems_are_tried_with_all_that_they_assume() -> None:
    """An exponent in the paper's words is that of a meta with bias, base test and restarts, or of Foster et al."""
    tried = [
        point.curve(curve)
        for name in REGISTERED
        for points, found in [load_experiment(name)]
        for claim in found.claims
        if claim.test.kind == "exponent" and not claim.reading
        for point in points
        for curve in claim.test.curves
    ]
    metas = [curve for curve in tried if curve.meta is not None]
    assert {curve.options for curve in metas} == {PRESETS["theory"]}
    assert {curve.name for curve in tried if curve.meta is None} == {"modcb"}


def test_the_number_of_the_first_lower_bound() -> None:
    points, found = load_experiment("lower-bound-sqrt")
    s = np.arange(1, points[0].horizon + 1)
    bound = (np.sqrt(1 / 24) / (np.sqrt(s + 2) * np.log(s + 2))).sum() / 4
    limits = [limit for claim in found.claims for limit in claim.test.limits]
    assert limits == [pytest.approx(bound, rel=1e-4)] * 4


def test_sweep_leaves_the_words_out() -> None:
    assert sweep({"name": "made", "claims": [], "open": [], "quick": {}, "band": 0.3, "horizon": 3}) == [
        {"name": "made", "horizon": 3}
    ]
