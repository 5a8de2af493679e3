"""Drawing bases in proportion to weights."""

from __future__ import annotations

import math

import attrs
import mpmath
import numpy as np
import pytest

from corral_core.errors import CorralError
from corral_core.metas.learning_rates import rate_of
from corral_core.metas.sampling import among, draw
from corral_core.protocols.meta import MetaProblem

BELOW_ONE = 1 - 2.0**-53  # the largest number that a generator returns


class Fixed:
    """A generator that always returns the same number."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self, size: int) -> np.ndarray:
        return np.full(size, self.number)


def p_value(counts: np.ndarray, expected: np.ndarray) -> float:
    """Of Pearson's chi-square test."""
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(mpmath.gammainc((len(counts) - 1) / 2, statistic / 2, mpmath.inf, regularized=True))


@pytest.mark.parametrize("weights", [[0.1, 0.2, 0.3, 0.4], [0.5, 0.5], [2.0, 1.0, 7.0], [0.9, 0.05, 0.02, 0.02, 0.01]])
def test_bases_are_drawn_in_proportion_to_their_weights(weights: list[float]) -> None:
    """Chi-square with 10^5 draws: a right sampler fails with probability 1e-6 a case, were the seed not fixed."""
    rows, share = 100_000, np.array(weights) / sum(weights)
    chosen, probability = draw(np.tile(np.array(weights)[:, None], rows), np.random.default_rng(1))
    assert p_value(np.bincount(chosen, minlength=len(share)), rows * share) > 1e-6
    np.testing.assert_allclose(probability, share[chosen], rtol=1e-15)


def test_every_row_is_drawn_from_its_own_weights() -> None:
    """Chi-square over all rows of two kinds; fails with probability 2e-6 for a right sampler."""
    weights = np.tile(np.array([[0.8, 0.1], [0.1, 0.3], [0.1, 0.6]]), 50_000)
    chosen, _ = draw(weights, np.random.default_rng(2))
    for kind in (0, 1):
        counts = np.bincount(chosen[kind::2], minlength=3)
        assert p_value(counts, 50_000 * weights[:, kind]) > 1e-6


@pytest.mark.parametrize("uniform", [0.0, 1e-300, 0.25, 0.5, BELOW_ONE])
def test_a_base_without_weight_is_never_drawn(uniform: float) -> None:
    """At the ends of the generator's range too, wherever the zeros stand and however the weights round."""
    rng = np.random.default_rng(3)
    weights = rng.random((6, 2000)) * 10 ** rng.uniform(-9, 9, 2000)
    weights[rng.random((6, 2000)) < 0.5] = 0.0
    weights[rng.integers(0, 6, 2000), np.arange(2000)] = rng.random(2000) + 1e-6
    chosen, probability = draw(weights, Fixed(uniform))  # type: ignore[arg-type]
    assert (weights[chosen, np.arange(2000)] > 0).all()
    assert (probability > 0).all() and (probability <= 1).all()


def test_the_inverse_of_the_distribution_function_is_exact() -> None:
    """Halves and quarters: u just below a step draws the base before it, u at the step the one after."""
    weights = np.array([[0.25], [0.25], [0.5]])
    steps = [(0.0, 0), (math.nextafter(0.25, 0), 0), (0.25, 1), (math.nextafter(0.5, 0), 1), (0.5, 2), (BELOW_ONE, 2)]
    assert [draw(weights, Fixed(u))[0].item() for u, _ in steps] == [base for _, base in steps]  # type: ignore[arg-type]


def test_among_keeps_the_weights_of_active_bases_in_proportion() -> None:
    weights = np.array([[0.2, 0.2], [0.3, 0.3], [0.5, 0.5]])
    active = np.array([[True, True], [False, True], [True, True]])
    kept = among(active, weights)
    np.testing.assert_allclose(kept, [[2 / 7, 0.2], [0, 0.3], [5 / 7, 0.5]], rtol=1e-15)
    assert kept[1, 0] == 0
    assert weights[1, 0] == 0.3  # what it was handed is left as it was


def test_among_falls_back_on_equal_shares_where_no_active_base_has_weight() -> None:
    """A meta that is sure of a base which is dropped."""
    active = np.array([[False, True], [True, True], [True, True]])
    np.testing.assert_array_equal(
        among(active, np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])), [[0, 1], [0.5, 0], [0.5, 0]]
    )


def test_rates() -> None:
    problem = MetaProblem(bases=8, horizon=400, delta=0.01, plays=800)
    assert rate_of("auto", problem, "eta") is None
    assert rate_of("20/sqrt(T)", problem, "eta") == 1.0
    assert rate_of("horizon / T / M^(1/3)", problem, "eta") == 1.0
    assert rate_of("horizon", attrs.evolve(problem, plays=None), "eta") == 400
    assert rate_of(0.5, problem, "eta") == 0.5
    assert rate_of(0, problem, "gamma", zero=True) == 0
    with pytest.raises(CorralError, match='eta must be a number, "auto" or a formula like "20/sqrt\\(T\\)", not "x"'):
        rate_of("x", problem, "eta")
    with pytest.raises(CorralError, match="eta must be positive and finite, not -2"):
        rate_of(-2, problem, "eta")
    with pytest.raises(CorralError) as refused:
        rate_of("T" * 10**6, problem, "eta")
    assert (
        str(refused.value).endswith('...": it has 1,000,000 characters, more than 200')
        and len(str(refused.value)) < 240
    )


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.int64, np.float16, np.float32])
@pytest.mark.parametrize("rows", [1, 127, 128, 512])
def test_weights_of_any_type(kind: type, rows: int) -> None:
    """What is active may be handed over as it is, for a uniform choice."""
    weights = np.ones((5, rows), kind)
    found, probability = draw(weights, np.random.default_rng(1))
    wanted, _ = draw(weights.astype(np.float64), np.random.default_rng(1))
    assert (found == wanted).all() and probability.dtype == np.float64 and (probability == 0.2).all()
