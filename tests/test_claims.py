"""Claims are read strictly, and judged from intervals: agreement, disagreement, and neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corral_core.claims import Judgement, check, judge, stated
from corral_core.errors import CorralError
from corral_core.experiment import load, load_stated, parse, sweep
from corral_core.registry import get_registry
from corral_core.results import Moments, Result
from corral_core.rows import Array
from corral_core.settings import Line, Setting

ZIGZAG = np.tile([-1.0, 1.0], 20)  # forty replicates, mean 0
POINTS = [("", 100, ["a", "b", "c"])]
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


def result(curve: str, final: Any, at: str = "", horizon: int = 100, known: bool = True) -> Result:
    line = Line(curve, (curve,), None, "plain", (), ())
    setting = Setting("made", "", at, horizon, len(final), 1, len(final), 1, (line,), {})
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


# --- Judging ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("above", "verdict"), [(3.0, "agrees"), (-3.0, "disagrees"), (0.1, "cannot be told")])
def test_less(above: float, verdict: str) -> None:
    luck = np.linspace(0, 500, 40)
    found = judged({"less": ["a", "b"]}, [result("a", luck), result("b", luck + above + ZIGZAG)])
    assert found.verdict == verdict
    assert found.findings[0].interval.estimate == pytest.approx(above)  # paired: the common luck cancels


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

    interval = judged({"wider": ["a", "b"]}, [result("a", first), result("b", second)]).findings[0].interval
    each = pseudo(first) - pseudo(second)
    half = 2.200985160082949 * each.std(ddof=1) / np.sqrt(12)  # the 0.975 quantile of t with 11 degrees of freedom
    assert (interval.low, interval.high) == pytest.approx((each.mean() - half, each.mean() + half))


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


def test_regrets_that_are_missing_or_unknown_are_said() -> None:
    with pytest.raises(CorralError, match="there are no results of b; run the experiment to its end"):
        judged({"less": ["a", "b"]}, [result("a", ZIGZAG)])
    with pytest.raises(CorralError, match="the regret of a, which nobody knows"):
        judged({"at_least": {"a": 1}}, [result("a", ZIGZAG, known=False)])


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
        check(found, POINTS, "experiment made")


def written(folder: Path, claims: str, head: str = "") -> str:
    file = folder / "small.toml"
    file.write_text(head + SMALL + claims, encoding="utf-8")
    return str(file)


def test_claims_are_no_part_of_what_is_played(tmp_path: Path) -> None:
    claims = '\n[[claims]]\nof = "Figure 1"\nsays = "so"\nless = ["ucb", "epsilon-greedy"]\n'
    plain = load(written(tmp_path, ""))[0].source
    with_claims = written(tmp_path, claims, 'open = ["the arms"]\nquick = { replicates = 2 }\n')
    assert load(with_claims)[0].source == plain
    points, found = load_stated(with_claims, quick=True)
    assert (points[0].replicates, found.open, found.claims[0].of) == (2, ("the arms",), "Figure 1")
    assert load_stated(with_claims)[0][0].replicates == 6


def test_a_curve_that_is_not_there_is_refused_when_loading(tmp_path: Path) -> None:
    file = written(tmp_path, '\n[[claims]]\nof = "x"\nsays = "y"\nless = ["ucb", "epsilon-gredy"]\n')
    with pytest.raises(CorralError, match="a claim names 'epsilon-gredy', no curve; did you mean epsilon-greedy"):
        load(file)


REGISTERED = [entry.name for entry in get_registry().entries("experiment")]


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("name", REGISTERED)
def test_registered_claims_fit_their_experiments(name: str, quick: bool) -> None:
    points, found = load_stated(name, quick)  # refuses curves and points that are not there
    if found.claims:
        assert found.open and found.quick, "say what the paper leaves open, and what --quick changes"
    assert all(parse(point.source).source == point.source for point in points)


def test_registered_claims_are_many() -> None:
    claims = [claim for name in REGISTERED for claim in load_stated(name)[1].claims]
    items = " ".join(claim.of for claim in claims)
    for item in (
        "Figure 1, left",
        "Figure 1, right",
        "Figure 2",
        "Table 1",
        "Theorem 5.2",
        "Theorem 5.3",
        "Theorem 6.1",
    ):
        assert item in items


def test_the_number_of_the_first_lower_bound() -> None:
    points, found = load_stated("lower-bound-sqrt")
    s = np.arange(1, points[0].horizon + 1)
    bound = (np.sqrt(1 / 24) / (np.sqrt(s + 2) * np.log(s + 2))).sum() / 4
    limits = [limit for claim in found.claims for limit in claim.test.limits]
    assert limits == [pytest.approx(bound, rel=1e-4)] * 4


def test_sweep_leaves_the_words_out() -> None:
    assert sweep({"name": "made", "claims": [], "open": [], "quick": {}, "horizon": 3}) == [
        {"name": "made", "horizon": 3}
    ]
