"""Bounds, clips and widths that an experiment gives itself: what they change, and what the theorem says then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corral_mab import EpsilonGreedy, Ucb

from corral_core.bounds import Term
from corral_core.engines.chunks import run_chunk
from corral_core.errors import CorralError
from corral_core.experiments.guarantee import Promise, promises
from corral_core.experiments.point import Point, parse_point
from corral_core.protocols.parameters import kin
from corral_core.protocols.problem import Problem
from corral_core.selection.setup import group_kin


def point(**changes: Any) -> Point:
    source: dict[str, Any] = {
        "name": "given",
        "horizon": 20_000,
        "preset": "theory",
        "environment": {"name": "gaussian-arms", "arms": 5, "low": 0, "high": 2},
        "meta": {"name": "corral"},
        "bases": [{"name": "ucb", "bound": {"c": 4, "alpha": 0.5}}, {"name": "ucb", "bound": [{"c": 4, "alpha": 0.5}]}],
    }
    return parse_point(source | changes)


def promise(**changes: Any) -> Promise:
    (found,) = promises(point(**changes))
    return found


def failing(found: Promise) -> list[str]:
    return [condition.text for condition in found.conditions if condition.holds is False]


# --- bounds ---


def test_a_bound_that_is_given_replaces_the_base_s_own() -> None:
    """4 s^0.5 in raw units is 2 s^0.5 in units of the range, 2: eta = sqrt(2/10,000)/2, and the promise uses it too."""
    found = point()
    corral = found.curves[0]
    told = corral.told(found.problem)
    assert [bound.shape for bound in told.bounds if bound] == [(Term(2.0, 0.5),)] * 2
    assert told.bounds[0] is not None and told.bounds[0](100) == 20
    eta = (2 / 10_000) ** 0.5 / 2
    first, second = found.choices(corral)
    assert first.startswith(f"eta = {eta:.4g} (auto") and "alpha = 0.5 and c = 2 of the bounds' shape" in first
    assert second.startswith("U(s) as given, instead of the bases' own: 4 s^0.5 for ucb(bound=4 s^0.5)")
    assert f"eta = {eta:.4g}" in promises(found)[0].formula


def test_a_base_without_a_bound_passes_with_one_that_is_given() -> None:
    """Bias and base test need bounds, and UCB below scale 1 has none of its own."""
    bases = [{"name": "ucb", "scale": 0.5}, {"name": "ucb"}]
    with pytest.raises(CorralError, match=r"ucb has no regret bound in gaussian-arms.* claim a bound for it"):
        point(bases=bases)
    bases[0]["bound"] = {"c": 1, "alpha": 0.5}
    assert point(bases=bases).curves[0].bases[0].claimed == (Term(1.0, 0.5),)


def test_bases_that_differ_in_what_is_claimed_stay_kin() -> None:
    problem = Problem(arms=2, noise=0.5, low=0, high=1, horizon=100, delta=0.01)
    bases = [base.resolve(problem) for base in (Ucb(), Ucb().claiming((2, 0.5)), Ucb(scale=2.0).claiming((1, 1)))]
    assert kin(bases[0], bases[1]) and [group.tolist() for group in group_kin(bases)] == [[0, 1, 2]]
    assert not kin(bases[0], EpsilonGreedy().claiming((2, 0.5)).resolve(problem))
    assert bases[0].claimed is None and bases[0] != bases[1]


def test_a_base_alone_plays_the_same_whatever_is_claimed_for_it() -> None:
    """The same seed and label, with and without a claim."""
    small = {"horizon": 200, "replicates": 8, "compare": {"alone": "plain"}, "options": {"bias": 0.0}}
    plain = point(bases=[{"name": "ucb"}], **small)
    given = point(bases=[{"name": "ucb", "bound": {"c": 1, "alpha": 0.5}}], **small)
    records = [run_chunk(each, "ucb", 0) for each in (plain, given)]
    np.testing.assert_array_equal(records[0].regret, records[1].regret)


def test_grids_may_contain_bounds() -> None:
    grid = {"bound": [{"c": 1, "alpha": 0.5}, [{"c": 1, "alpha": 0.5}, {"c": 0.5, "alpha": 1}]], "scale": [1.0]}
    found = point(bases=[{"name": "ucb", "grid": grid}])
    assert found.curves[0].labels == ("ucb(bound=1 s^0.5, scale=1)", "ucb(bound=1 s^0.5 + 0.5 s^1, scale=1)")
    assert parse_point(found.source).curves[0].bases == found.curves[0].bases


@pytest.mark.parametrize(
    ("bound", "why"),
    [
        (2, "bound must be like { c = 2, alpha = 0.5 }, or a list of these, not 2"),
        ({"c": 2}, "bound must be like"),
        ({"c": 2, "alpha": 0.5, "d": 1}, "bound must be like"),
        ({"c": "x" * 1000, "alpha": 0.5}, "bound.c must be a number"),
        ({"c": -2, "alpha": 0.5}, "needs c > 0 and 0 < alpha <= 1, not -2 and 0.5"),
        ({"c": 2, "alpha": 1.5}, "needs c > 0 and 0 < alpha <= 1, not 2 and 1.5"),
        ([], "needs at least one term"),
    ],
)
def test_a_bound_that_makes_no_sense_is_refused(bound: Any, why: str) -> None:
    with pytest.raises(CorralError) as refused:
        point(bases=[{"name": "ucb", "bound": bound}])
    assert why in str(refused.value) and "\n" not in str(refused.value) and len(str(refused.value)) < 240


# --- what the theorem says then ---

UNITS = "the meta sees rewards in units of their range"
CUT = "the rewards that the meta sees are cut to [-1, 2]"
OWN = {"bases": [{"name": "ucb"}, {"name": "ucb1"}]}


@pytest.mark.parametrize(
    ("changes", "fails"),
    [
        ({}, []),
        ({"options": {"clip": [-1, 2]}}, []),
        ({"options": {"clip": [0, 1]}}, [CUT]),
        ({"options": {"clip": "none"}}, [CUT]),
        ({"options": {"units": "raw"}}, [UNITS]),
        ({"options": {"test_variance": 1}}, ["v = 1 in the base test is at least 1.5"]),
        ({"options": {"test_variance": 1.6}}, []),
        ({"meta": {"name": "corral", "gamma": 0}}, ["gamma = 0 is 1/T = 0.0001"]),
        ({"meta": {"name": "corral", "gamma": 0.9}}, ["gamma = 0.9 is 1/T = 0.0001"]),
        ({"meta": {"name": "corral", "growth": 2}}, ["growth = 2 is exp(1/ln T) = 1.115"]),
        ({"meta": {"name": "corral", "growth": 0.5}}, ["growth = 0.5 is exp(1/ln T) = 1.115"]),
        ({"meta": {"name": "corral", "gamma": "1/T", "growth": "exp(1/ln(T))"}}, []),
        ({"meta": {"name": "corral", "loss_factor": 3.0}}, ["loss_factor = 3 is 1 or 2"]),
        ({"meta": {"name": "corral", "loss_factor": 2.0}}, []),
        ({"meta": {"name": "exp3p", "eta": 1, "p": 0.02}}, ["eta = 1 is p/(1 + beta) = 0.0198"]),
        ({"meta": {"name": "exp3p", "beta": 0.5, "p": 0.02}}, ["beta = 0.5 is p/2 = 0.01"]),
    ],
)
def test_what_departs_from_the_theorem_fails(changes: dict[str, Any], fails: list[str]) -> None:
    found = promise(**OWN, **changes)
    assert failing(found) == fails
    assert found.holds == (not fails)


def test_promises_in_raw_units_are_in_raw_reward() -> None:
    """At the same eta the bound 4 s^0.5 counts as it is, not in units of the range."""
    eta = 0.01
    found = promise(options={"units": "raw"}, meta={"name": "corral", "eta": eta})
    assert found.cases[0].shape == pytest.approx((2 * 1e4) ** 0.5 + 2 / eta + 1e4 * eta + 1e4 * 16 * eta)


def test_a_formula_without_a_value_at_huge_horizons_has_no_order() -> None:
    from corral_core.experiments.guarantee import orders

    found = point(meta={"name": "corral", "eta": "T^3 / T^3.5"})
    assert orders(found, found.curves[0]) == ()
    found = point(meta={"name": "corral", "eta": "(M/T)^0.5"})
    assert orders(found, found.curves[0]) == (0.5,)
    found = point(meta={"name": "corral", "eta": "horizon^(-2/3)"})
    assert orders(found, found.curves[0]) == (0.667,)
