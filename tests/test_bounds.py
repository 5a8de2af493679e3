"""Regret bounds of every kind."""

from __future__ import annotations

import math

import numpy as np
import pytest
from corral_mab import Rate, SqrtBase
from corral_mab.bases.lower_bounds import mistakes
from hypothesis import given, settings
from hypothesis import strategies as st

from corral_core.bounds import Bound, BoundTable, Term
from corral_core.protocols.base import Base
from corral_core.protocols.problem import Problem
from corral_core.registry.names import get_registry
from corral_core.rows import Array

some = settings(max_examples=60, deadline=None, derandomize=True, database=None)
PLAYS = np.arange(1, 100_001, dtype=np.float64)
BASES = [entry.name for entry in get_registry().entries("base") if entry.plugin == "corral-mab"]
constants = st.floats(1e-3, 1e3)
exponents = st.floats(0.05, 1.0)
terms = st.lists(st.builds(Term, constants, exponents), min_size=1, max_size=4)


def shaped(*terms: tuple[float, float]) -> Bound:
    """A bound that is its own shape."""
    return Bound(lambda s: sum(c * s**alpha for c, alpha in terms), tuple(Term(*term) for term in terms))


def fitted(name: str, arms: int, noise: float, low: float, high: float, delta: float) -> Base:
    """A registered base in a problem like this, or in the one it was made for."""
    problem = Problem(
        arms=arms,
        noise=noise,
        low=low,
        high=high,
        reward_low=low,
        reward_high=high,
        horizon=len(PLAYS),
        delta=delta,
    )
    if name.startswith("lower-bound"):
        made = get_registry().load("environment", name.removesuffix("-base"))().problem
        problem = Problem(
            made.environment, arms=made.arms, noise=made.noise, low=0, high=2, horizon=10_000, delta=delta
        )
    base: Base = get_registry().load("base", name)().resolve(problem)
    return base


def assert_sublinear(u: Array) -> None:
    """Positive, finite, concave, and so U(t)/t decreasing; up to rounding."""
    assert np.isfinite(u).all() and (u > 0).all()
    assert (np.diff(u) >= 0).all()
    assert (np.diff(u, 2) <= 1e-14 * u[2:]).all()
    average = u / PLAYS
    assert (np.diff(average) <= 1e-15 * average[1:]).all()


# --- the bounds of bases ---


def test_every_base_of_corral_mab_is_looked_at() -> None:
    assert {"ucb", "ucb1", "epsilon-greedy", "exp3", "exp3-ix", "rate"} <= set(BASES)
    assert len(BASES) >= 8


@pytest.mark.parametrize("name", BASES)
@settings(some, max_examples=8)
@given(
    arms=st.integers(2, 50),
    noise=st.floats(0.05, 5),
    low=st.floats(-5, 0),
    span=st.floats(0.1, 10),
    delta=st.floats(1e-6, 0.5),
)
def test_bounds_are_positive_finite_and_concave(
    name: str, arms: int, noise: float, low: float, span: float, delta: float
) -> None:
    bound = fitted(name, arms, noise, low, low + span, delta).bound(delta)
    assert bound is not None
    assert_sublinear(bound(PLAYS))
    if bound.leading is not None:
        assert_sublinear(bound(PLAYS, "shape"))


@pytest.mark.parametrize("name", BASES)
def test_a_smaller_delta_never_lowers_a_bound(name: str) -> None:
    base = fitted(name, 5, 0.5, 0, 1, 0.01)
    careless, careful = base.bound(0.1), base.bound(1e-6)
    assert careless is not None and careful is not None
    assert (careful(PLAYS) >= careless(PLAYS)).all()


def test_literal_bounds_by_hand() -> None:
    """At s = 100 and delta = 0.01, with K = 2 arms of noise 1/2 in [0, 1]; spec, B1, B6 and B7."""

    def literal(name: str, arms: int = 2) -> float:
        bound = fitted(name, arms, 0.5, 0, 1, 0.01).bound(0.01)
        assert bound is not None
        return float(bound(100))

    assert literal("ucb") == pytest.approx(4 * math.sqrt(200 * math.log(40_000)) + 6)
    assert literal("ucb1") == literal("ucb")
    assert literal("epsilon-greedy") == pytest.approx(160 * math.sqrt(math.log(100)))
    assert literal("epsilon-greedy", 5) == pytest.approx(20 * (20 * math.log(100)) ** (1 / 3) * 100 ** (2 / 3))
    ln2 = math.log(2)
    exp3 = 4 * math.sqrt(200 * ln2) + (2 * math.sqrt(200 / ln2) + 1) * math.log(200)
    assert literal("exp3") == literal("exp3-ix") == pytest.approx(exp3)
    assert literal("rate") == pytest.approx(10)
    assert literal("lower-bound-sqrt-base") == pytest.approx(20 / math.sqrt(24))
    assert literal("lower-bound-unknown-rate-base") == pytest.approx(100 / math.sqrt(10_000))


@pytest.mark.parametrize(("c", "alpha"), [(1.0, 0.5), (3.0, 0.5), (0.2, 0.7), (1.0, 0.9), (0.5, 1.0)])
def test_the_base_of_known_regret_keeps_its_bound_and_nearly_meets_it(c: float, alpha: float) -> None:
    """Its expected regret is the sum of min(1, c alpha t^(alpha - 1)) gaps."""
    expected = 0.3 * np.minimum(1, c * alpha * PLAYS ** (alpha - 1)).cumsum()
    bound = Rate(c=c, alpha=alpha, gap=0.3, arms=2).bound(0.01)(PLAYS)
    assert (expected <= bound * (1 + 1e-12)).all()
    assert expected[-1] >= 0.9 * bound[-1]


def test_the_base_that_errs_ever_more_rarely_keeps_its_bound() -> None:
    assert (0.25 * mistakes(PLAYS).cumsum() <= SqrtBase().bound(0.01)(PLAYS)).all()


# --- shapes ---


@some
@given(terms)
def test_shapes_are_positive_finite_and_concave(shape: list[Term]) -> None:
    assert_sublinear(shaped(*shape)(PLAYS, "shape"))


@some
@given(constants, exponents)
def test_lemma_b1(c: float, beta: float) -> None:
    """U(l) <= sum_{t <= l} U(t)/t <= U(l)/beta for U = c t^beta."""
    u = shaped((c, beta))(PLAYS, "shape")
    sums = np.cumsum(u / PLAYS)
    assert (u <= sums * (1 + 1e-10)).all()
    assert (sums <= u / beta * (1 + 1e-10)).all()


@some
@given(terms, st.floats(0.01, 100))
def test_other_units(shape: list[Term], factor: float) -> None:
    bound = Bound(lambda s: 7 * np.sqrt(s) + 1, tuple(shape))
    scaled = bound.scaled(factor)
    for mode in ("literal", "shape"):
        np.testing.assert_allclose(scaled(PLAYS[:50], mode), factor * bound(PLAYS[:50], mode), rtol=1e-13)
    assert [term.alpha for term in scaled.shape] == [term.alpha for term in shape]


def test_the_leading_term_is_the_largest_below_linear() -> None:
    assert shaped((3, 0.5), (2, 0.5), (9, 0.4)).leading == Term(3, 0.5)
    assert shaped((3, 0.5), (0.1, 0.7), (5, 1.0)).leading == Term(0.1, 0.7)
    assert shaped((3, 0.5), (0.0, 0.7)).leading == Term(3, 0.5)
    assert shaped((5, 1.0)).leading is None
    assert Bound(np.sqrt, ()).leading is None


def test_one_number_of_plays_has_one_bound() -> None:
    bound = shaped((3, 0.5), (2, 1.0))
    assert bound(4).shape == bound(4, "shape").shape == ()
    assert float(bound(4)) == float(bound(4, "shape")) == 14


# --- tables of them ---


@pytest.mark.parametrize("mode", ["literal", "shape"])
def test_a_table_is_its_bounds_however_far_it_grows(mode: str) -> None:
    bounds = [shaped((2, 0.5)), Bound(lambda s: s + np.log(s), (Term(3, 0.8),)), shaped((1, 0.3), (4, 1.0))]
    table, rng = BoundTable(bounds, mode), np.random.default_rng(1)
    for most in (1, 5, 1022, 1023, 1024, 1025, 10, 5000, 9999, 10_000, 30_000, 2):
        base, plays = rng.integers(0, 3, 40), rng.integers(1, most + 1, 40)
        plays[0] = most
        expected = [float(bounds[number](s, mode)) for number, s in zip(base, plays, strict=True)]
        np.testing.assert_allclose(table(base, plays), expected, rtol=1e-14)


def test_a_table_grows_by_doubling() -> None:
    """Every play one further than the last: evaluating the bounds at each would cost the square of the plays."""
    asked = []

    def literal(s: Array) -> Array:
        asked.append(len(s))
        return np.sqrt(s)

    table = BoundTable([Bound(literal, ())])
    for plays in range(1, 5000):
        table(np.array([0]), np.array([plays]))
    assert len(asked) <= 5 and sum(asked) <= 20_000


def test_constant_bounds_are_bounds() -> None:
    bounds = [Bound(lambda s: 5.0, ()), shaped((1, 0.5))]  # type: ignore[arg-type,return-value]
    assert BoundTable(bounds)(np.array([0, 1]), np.array([9, 9])).tolist() == [5.0, 3.0]
    assert BoundTable(bounds, "shape")(np.array([0, 1]), np.array([9, 9])).tolist() == [0.0, 3.0]
