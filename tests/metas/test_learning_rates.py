"""The paper's table: learning rates, and the regret that they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corral_core.bounds import Bound, Term
from corral_core.metas.corral import corral_order, corral_rate
from corral_core.metas.exp3p import exp3p_order, exp3p_rate
from corral_core.metas.learning_rates import target


def shaped(*terms: tuple[float, float]) -> Bound:
    """A bound that is its own shape."""
    return Bound(lambda s: sum(c * s**alpha for c, alpha in terms), tuple(Term(*term) for term in terms))


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
    assert corral_order(4, 10**4, 0.02, Term(3, 0.5)) == pytest.approx(2400)
    assert exp3p_order(4, 10**4, 0.01, Term(3, 0.5)) == pytest.approx(3700)


@pytest.mark.parametrize(("bases", "rounds"), BASES_AND_ROUNDS)
@pytest.mark.parametrize(("c", "alpha"), C_AND_ALPHA)
def test_corral_at_its_rates_has_the_regret_of_the_table(bases: int, rounds: int, c: float, alpha: float) -> None:
    """Known: sqrt(MT) + M^a T^(1-a) + M^(1-a) T^a c. Unknown: c^(1/a) for c. Both up to a factor 2, for c >= 1."""
    slow, fast = bases**alpha * rounds ** (1 - alpha), bases ** (1 - alpha) * rounds**alpha
    root = math.sqrt(bases * rounds)
    term, same, other = Term(c, alpha), shaped((c, alpha)), shaped((c + 1, alpha))
    known = corral_order(bases, rounds, corral_rate(bases, rounds, target([same, same])), term)
    assert known == pytest.approx(root + slow / c + 2 * fast * c, rel=1e-9)
    assert 0.5 <= known / (root + slow + fast * c) <= 2
    unknown = corral_order(bases, rounds, corral_rate(bases, rounds, target([same, other])), term)
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
        found = exp3p_order(bases, rounds, p, term)
        assert found == pytest.approx(root + factor * order + 1 / p, rel=1e-9)
        assert 0.5 <= found / (root + order * table) <= 3


@pytest.mark.parametrize(("bases", "rounds"), BASES_AND_ROUNDS)
@pytest.mark.parametrize(("c", "alpha"), C_AND_ALPHA)
def test_no_other_rate_would_promise_much_less(bases: int, rounds: int, c: float, alpha: float) -> None:
    """The auto rate makes M/eta equal to the base's term, one of which any other rate makes larger: factor 3."""
    term, bounds = Term(c, alpha), [shaped((c, alpha))] * 2
    best = min(corral_order(bases, rounds, eta, term) for eta in np.geomspace(1e-9, 10, 500))
    assert corral_order(bases, rounds, corral_rate(bases, rounds, target(bounds)), term) <= 3 * best
    best = min(exp3p_order(bases, rounds, p, term) for p in np.geomspace(1e-9, 0.5 / bases, 500))
    assert exp3p_order(bases, rounds, exp3p_rate(bases, rounds, target(bounds)), term) <= 3 * best


def test_a_tiny_bound_does_not_make_the_rate_explode() -> None:
    tiny = Bound(lambda s: 1e-9 * s**0.5, (Term(1e-9, 0.5),))
    assert corral_rate(2, 10_000, target([tiny, tiny])) == 1.0
