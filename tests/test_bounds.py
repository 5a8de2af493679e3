"""Regret bounds of every kind, and the paper's table of rates and guarantees."""

from __future__ import annotations

import math

import numpy as np
import pytest
from corral_mab import Rate, SqrtBase
from corral_mab.bases.lower_bounds import mistakes
from hypothesis import given, settings
from hypothesis import strategies as st

from corral_core.bounds import Bound, BoundTable, Term
from corral_core.experiments.guarantee import smoothing_needs
from corral_core.metas.learning_rates import corral_guarantee, corral_rate, exp3p_guarantee, exp3p_rate, target
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
    problem = Problem(arms=arms, noise=noise, low=low, high=high, horizon=len(PLAYS), delta=delta)
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


# --- the paper's table: rates ---


def test_which_row_of_the_table_applies() -> None:
    both, alone, neither = "alpha and c known", "alpha known, c unknown", "neither alpha nor c known"
    row = {
        both: [shaped((2, 0.5)), shaped((2, 0.5), (1, 0.3))],
        alone: [shaped((2, 0.5)), shaped((3, 0.5))],
        neither: [shaped((2, 0.5)), shaped((2, 0.6))],
    }
    for expected, bounds in row.items():
        assert target(bounds).row == expected
    assert (target(row[both]).alpha, target(row[both]).c) == (0.5, 2)
    assert (target(row[alone]).alpha, target(row[alone]).c) == (0.5, None)
    assert (target(row[neither]).alpha, target(row[neither]).c) == (None, None)
    for missing in ([], [None], [shaped((2, 0.5)), None], [shaped((2, 0.5)), shaped((2, 1.0))]):
        assert target(missing).row == neither


def test_constants_that_differ_by_rounding_are_one() -> None:
    assert target([shaped((0.3, 0.5)), shaped((0.1 + 0.2, 0.5))]).row == "alpha and c known"
    assert target([shaped((2, 2 / 3)), shaped((2, 1 - 1 / 3))]).row == "alpha and c known"


@pytest.mark.parametrize(
    ("bounds", "eta", "p"),
    [
        # M = 4, T = 10^6: eta = (4/10^6)^(1/2) / c = 0.002/c; p = 10^-2 4^(-2/3) c^(2/3)
        ([shaped((8, 0.5))] * 4, 0.00025, 0.01 * 4 ** (-2 / 3) * 4),
        ([shaped((8, 0.5))] * 3 + [shaped((1, 0.5))], 0.002, 0.01 * 4 ** (-2 / 3)),
        # alpha = 3/4: eta = 0.002^(3/2); p = 10^(-6/5) 4^(-4/5)
        ([shaped((8, 0.75))] * 3 + [shaped((1, 0.75))], 0.002**1.5, 10**-1.2 * 4**-0.8),
        # T^(-1/2) and T^(-1/3)
        ([None] * 4, 0.001, 0.01),
        # a c so large that p is limited to 1/(2M)
        ([shaped((1e6, 0.5))] * 4, 2e-9, 0.125),
    ],
)
def test_rates_by_hand(bounds: list[Bound | None], eta: float, p: float) -> None:
    assert corral_rate(4, 10**6, target(bounds)) == pytest.approx(eta, rel=1e-12)
    assert exp3p_rate(4, 10**6, target(bounds)) == pytest.approx(p, rel=1e-12)


# --- the paper's table: guarantees ---

BASES_AND_ROUNDS = [(2, 10**4), (8, 10**6), (50, 10**8)]
C_AND_ALPHA = [(1.0, 0.5), (4.0, 0.5), (2.0, 2 / 3), (1.0, 0.9), (10.0, 0.75)]


def test_guarantees_by_hand() -> None:
    """M = 4, T = 10^4, alpha = 1/2, c = 3. CORRAL at eta = 0.02: 200 + 200 + 200 + 1800. EXP3.P at p = 0.01:
    200 + 400 + 100 + 100 * 10 * 3."""
    assert corral_guarantee(4, 10**4, 0.02, Term(3, 0.5)) == pytest.approx(2400)
    assert exp3p_guarantee(4, 10**4, 0.01, Term(3, 0.5)) == pytest.approx(3700)


@pytest.mark.parametrize(("bases", "rounds"), BASES_AND_ROUNDS)
@pytest.mark.parametrize(("c", "alpha"), C_AND_ALPHA)
def test_corral_at_its_rates_has_the_regret_of_the_table(bases: int, rounds: int, c: float, alpha: float) -> None:
    """Known: sqrt(MT) + M^a T^(1-a) + M^(1-a) T^a c. Unknown: c^(1/a) for c. Both up to a factor 2, for c >= 1."""
    slow, fast = bases**alpha * rounds ** (1 - alpha), bases ** (1 - alpha) * rounds**alpha
    root = math.sqrt(bases * rounds)
    term, same, other = Term(c, alpha), shaped((c, alpha)), shaped((c + 1, alpha))
    known = corral_guarantee(bases, rounds, corral_rate(bases, rounds, target([same, same])), term)
    assert known == pytest.approx(root + slow / c + 2 * fast * c, rel=1e-9)
    assert 0.5 <= known / (root + slow + fast * c) <= 2
    unknown = corral_guarantee(bases, rounds, corral_rate(bases, rounds, target([same, other])), term)
    assert unknown == pytest.approx(root + slow + fast * (1 + c ** (1 / alpha)), rel=1e-9)
    assert 0.5 <= unknown / (root + slow + fast * c ** (1 / alpha)) <= 2


@pytest.mark.parametrize(("bases", "rounds"), BASES_AND_ROUNDS)
@pytest.mark.parametrize(("c", "alpha"), C_AND_ALPHA)
def test_exp3p_at_its_rates_has_the_regret_of_the_table(bases: int, rounds: int, c: float, alpha: float) -> None:
    """Known: sqrt(MT) + M^((1-a)/(2-a)) T^(1/(2-a)) c^(1/(2-a)). Unknown: c for the last factor."""
    order = bases ** ((1 - alpha) / (2 - alpha)) * rounds ** (1 / (2 - alpha))
    root, power = math.sqrt(bases * rounds), c ** (1 / (2 - alpha))
    term, same, other = Term(c, alpha), shaped((c, alpha)), shaped((c + 1, alpha))
    for bounds, factor, table in [([same, same], 2 * power, power), ([same, other], 1 + c, c)]:
        p = exp3p_rate(bases, rounds, target(bounds))
        if p == 0.5 / bases:
            continue  # limited: the table's rate cannot be had
        found = exp3p_guarantee(bases, rounds, p, term)
        assert found == pytest.approx(root + factor * order + 1 / p, rel=1e-9)
        assert 0.5 <= found / (root + order * table) <= 3


@pytest.mark.parametrize(("bases", "rounds"), BASES_AND_ROUNDS)
@pytest.mark.parametrize(("c", "alpha"), C_AND_ALPHA)
def test_no_other_rate_would_promise_much_less(bases: int, rounds: int, c: float, alpha: float) -> None:
    """The auto rate makes M/eta equal to the base's term, one of which any other rate makes larger: factor 3."""
    term, bounds = Term(c, alpha), [shaped((c, alpha))] * 2
    best = min(corral_guarantee(bases, rounds, eta, term) for eta in np.geomspace(1e-9, 10, 500))
    assert corral_guarantee(bases, rounds, corral_rate(bases, rounds, target(bounds)), term) <= 3 * best
    best = min(exp3p_guarantee(bases, rounds, p, term) for p in np.geomspace(1e-9, 0.5 / bases, 500))
    assert exp3p_guarantee(bases, rounds, exp3p_rate(bases, rounds, target(bounds)), term) <= 3 * best


def test_what_smoothing_needs() -> None:
    """8 sqrt(t ln(t^2/delta)); erratum S4: at delta = 1e-4 it exceeds t until t is about 1500."""
    needs = smoothing_needs(np.arange(1.0, 2001), 1e-4)
    assert needs[0] == pytest.approx(8 * math.sqrt(4 * math.log(10)))
    assert needs[99] == pytest.approx(80 * math.sqrt(8 * math.log(10)))
    crossing = int(np.flatnonzero(needs < np.arange(1, 2001))[0]) + 1
    assert 1400 <= crossing <= 1600


def test_a_tiny_bound_does_not_make_the_rate_explode() -> None:
    tiny = Bound(lambda s: 1e-9 * s**0.5, (Term(1e-9, 0.5),))
    assert corral_rate(2, 10_000, target([tiny, tiny])) == 1.0
