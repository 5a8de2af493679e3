"""Claims are read strictly, and those of registered experiments fit them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corral_core.errors import CorralError
from corral_core.experiments.claims import check, stated
from corral_core.experiments.experiment import load_experiment
from corral_core.experiments.point import parse_point
from corral_core.experiments.source import read, sweep
from corral_core.registry.names import get_registry
from corral_core.selection.options import PRESETS

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
        ({"exponent": {"a": 1}, "at": "x = 1"}, "`at` is not allowed here; inside `either`, set it per test"),
        ({"either": [{"less": ["a", "b"]}]}, "at least two tests"),
        (
            {"either": [{"less": ["a", "b"]}, {"exponent": {"a": 1}}]},
            "either may only contain less, wider, at_least or at_most",
        ),
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
        ({"quick": {"sweep": [1]}}, "sweep changes the values of a sweep, but the experiment has none"),
        ({"band": "wide"}, "band must be a number"),
        ({"band": 0}, "band must be a number of standard deviations above 0, at most 100"),
    ],
)
def test_what_surrounds_claims_is_checked(source: dict[str, Any], words: str) -> None:
    with pytest.raises(CorralError, match=words):
        stated({"name": "made", **source})


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ({"less": ["a", "bb"]}, "claim refers to an unknown curve 'bb'; did you mean b"),
        ({"less": ["a", "b"], "at": "x = 1"}, "claim refers to an unknown point 'x = 1'"),
        ({"exponent": {"a": 0.5}}, "needs a sweep of at least three horizons"),
        ({"either": [{"less": ["a", "b"]}, {"less": ["a", "d"]}]}, "claim refers to an unknown curve 'd'"),
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
    plain = load_experiment(written(tmp_path, "")).points[0].source
    with_claims = written(tmp_path, claims, 'open = ["the arms"]\nquick = { replicates = 2 }\nband = 0.3\n')
    assert load_experiment(with_claims).points[0].source == plain
    quick = load_experiment(with_claims, quick=True)
    points, found = quick.points, quick.stated
    assert (points[0].replicates, found.open, found.claims[0].of) == (2, ("the arms",), "Figure 1")
    assert found.band == 0.3 and load_experiment("quickstart").stated.band == 1.0
    assert load_experiment(with_claims).points[0].replicates == 6


def test_a_curve_that_is_not_there_is_refused_when_loading(tmp_path: Path) -> None:
    file = written(tmp_path, '\n[[claims]]\nof = "x"\nsays = "y"\nless = ["ucb", "epsilon-gredy"]\n')
    with pytest.raises(
        CorralError, match="claim refers to an unknown curve 'epsilon-gredy'; did you mean epsilon-greedy"
    ):
        load_experiment(file)


REGISTERED = [entry.name for entry in get_registry().entries("experiment")]


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
@pytest.mark.parametrize("name", REGISTERED)
def test_registered_claims_fit_their_experiments(name: str, quick: bool) -> None:
    experiment = load_experiment(name, quick=quick)  # refuses curves and points that are not there
    if experiment.stated.claims:
        assert experiment.stated.open and experiment.stated.quick, (
            "what the paper leaves open, and what --quick changes"
        )
    assert all(parse_point(point.source).source == point.source for point in experiment.points)


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
    claims = [claim for name in REGISTERED for claim in stated(read(name).table).claims if claim.of == item]
    assert claims
    if item not in ("Figure 2", "Figure 2, footnote", "Theorem 5.3"):  # of which all claims are readings
        assert not all(claim.reading for claim in claims)


def test_theorems_are_tried_with_all_that_they_assume() -> None:
    """An exponent in the paper's words is that of a meta with bias, base test and restarts, or of Foster et al."""
    tried = [
        point.curve(curve)
        for name in REGISTERED
        for experiment in [load_experiment(name)]
        for claim in experiment.stated.claims
        if claim.test.kind == "exponent" and not claim.reading
        for point in experiment.points
        for curve in claim.test.curves
    ]
    metas = [curve for curve in tried if curve.meta is not None]
    assert {curve.options for curve in metas} == {PRESETS["theory"]}
    assert {curve.name for curve in tried if curve.meta is None} == {"modcb"}


def test_the_number_of_the_first_lower_bound() -> None:
    experiment = load_experiment("lower-bound-sqrt")
    s = np.arange(1, experiment.points[0].horizon + 1)
    bound = (np.sqrt(1 / 24) / (np.sqrt(s + 2) * np.log(s + 2))).sum() / 4
    limits = [limit for claim in experiment.stated.claims for limit in claim.test.limits]
    assert limits == [pytest.approx(bound, rel=1e-4)] * 4


def test_sweep_leaves_the_words_out() -> None:
    assert sweep({"name": "made", "claims": [], "open": [], "quick": {}, "band": 0.3, "horizon": 3}) == [
        {"name": "made", "horizon": 3}
    ]
