"""EXP3.P against a plain twin, and against the theorem of its source."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from corral_core.bounds import Bound, Term
from corral_core.errors import CorralError
from corral_core.metas.exp3p import Exp3P
from corral_core.metas.uniform import Uniform
from corral_core.protocols.meta import Meta, MetaProblem
from corral_core.rows import Array


def told(bases: int, horizon: int, *terms: Term | None, gains: tuple[float, float] = (0.0, 1.0)) -> MetaProblem:
    bounds = tuple(term and Bound(lambda s: s, (term,)) for term in terms)
    return MetaProblem(bases=bases, horizon=horizon, delta=0.01, gains=gains, bounds=bounds)


def everyone(bases: int, rows: int) -> Array:
    return np.ones((bases, rows), dtype=bool)


@pytest.mark.parametrize("gains", [(0.0, 1.0), (-1.0, 1.0)])
@pytest.mark.parametrize(
    ("given", "beta", "eta"),
    [
        ({}, 0.04, 0.08 / 1.04),
        ({"beta": 0.01}, 0.01, 0.08 / 1.01),
        ({"eta": 1}, 0.04, 1.0),
        ({"eta": "M/T", "beta": "2/T"}, 2 / 300, 5 / 300),
    ],
)
def test_the_twin_agrees(gains: tuple[float, float], given: dict[str, Any], beta: float, eta: float) -> None:
    """300 rounds of the formula in loops: beta = p/2 and eta = p/(1 + beta); gains of (-1, 1) count as (g + 1)/2."""
    bases, rows, horizon, p = 5, 3, 300, 0.08
    meta = Exp3P(p=p, **given)
    state, active = meta.init(rows, told(bases, horizon, gains=gains)), everyone(bases, rows)
    rng = np.random.default_rng(1)
    estimates = [[0.0] * bases for _ in range(rows)]
    twin = [[1 / bases] * bases for _ in range(rows)]
    for _ in range(horizon):
        chosen, probability = meta.choose(state, active, rng)
        gain = rng.uniform(*gains, rows) * np.linspace(0, 1, bases)[chosen]
        assert meta.update(state, chosen, probability, gain, active) is None
        for row in range(rows):
            for base in range(bases):
                played = (gain[row] - gains[0]) / (gains[1] - gains[0]) if base == chosen[row] else 0.0
                estimates[row][base] += (played + beta) / twin[row][base]
            weights = [math.exp(eta * (each - max(estimates[row]))) for each in estimates[row]]
            twin[row] = [(1 - bases * p) * weight / sum(weights) + p for weight in weights]
        np.testing.assert_allclose(meta.probabilities(state), np.array(twin).T, rtol=1e-11)
        np.testing.assert_allclose(state.sampled.sum(axis=0), 1, atol=1e-14)
        assert state.sampled.min() >= p * (1 - 1e-15)


def test_one_update_by_hand() -> None:
    """p = 1/4 and two bases: eta = 2/9, G = (1 + 1/8)/(1/2), (1/8)/(1/2), so P_0 = 1/2 softmax(4/9) + 1/4."""
    meta = Exp3P(p=0.25)
    state = meta.init(1, told(2, 100))
    meta.update(state, np.array([0]), np.array([0.5]), np.array([1.0]), everyone(2, 1))
    expected = 0.5 / (1 + math.exp(-4 / 9)) + 0.25
    np.testing.assert_allclose(state.sampled[:, 0], [expected, 1 - expected], rtol=1e-14)


def test_estimates_do_not_overflow() -> None:
    meta = Exp3P(p=0.25)
    state = meta.init(1, told(2, 100))
    state.gains[:] = [[1e300], [0.0]]
    meta.update(state, np.array([0]), np.array([0.5]), np.array([1.0]), everyone(2, 1))
    np.testing.assert_allclose(state.sampled[:, 0], [0.75, 0.25], rtol=1e-14)


def test_a_dropped_base_has_probability_zero_and_the_others_keep_their_floor() -> None:
    bases, rows, p = 4, 100, 0.1
    meta = Exp3P(p=p)
    state, active, rng = meta.init(rows, told(bases, 500)), everyone(bases, rows), np.random.default_rng(2)
    active[1, ::2] = False
    chosen, probability = meta.choose(state, active, rng)
    np.testing.assert_allclose(state.sampled[[0, 2, 3], ::2], 1 / 3, rtol=1e-14)
    for _ in range(200):
        meta.update(state, chosen, probability, (chosen == 3).astype(float), active)
        assert (state.sampled[~active] == 0).all()
        assert state.sampled[active].min() >= p * (1 - 1e-15)
        np.testing.assert_allclose(state.sampled.sum(axis=0), 1, atol=1e-14)
        chosen, probability = meta.choose(state, active, rng)
        assert active[chosen, np.arange(rows)].all()
    assert state.sampled[0].max() < 1.01 * p  # the floor is all that keeps a bad base alive


# --- rates ---


@pytest.mark.parametrize(
    ("terms", "p", "row"),
    [
        # M = 8, T = 10^6. The paper: T^(-(1-a)/(2-a)) M^(-1/(2-a)) c^(1/(2-a)); a = 1/2: 1/100 * 1/4 * c^(2/3)
        ([Term(8.0, 0.5)] * 8, 0.01, "alpha and c known"),
        ([Term(8.0, 0.5)] * 7 + [Term(1.0, 0.5)], 0.0025, "alpha known, c unknown"),
        # a = 4/5: 10^-1 * 8^(-5/6) = 0.1 * 2^-2.5
        ([Term(8.0, 0.8)] * 7 + [Term(1.0, 0.8)], 0.1 * 2**-2.5, "alpha known, c unknown"),
        # T^(-1/3)
        ([Term(8.0, 0.5)] * 7 + [None], 0.01, "neither alpha nor c known"),
        ([Term(8.0, 0.5)] * 7 + [Term(8.0, 0.7)], 0.01, "neither alpha nor c known"),
        # limited to 1/(2M)
        ([Term(1e6, 0.5)] * 8, 0.0625, "alpha and c known"),
    ],
)
def test_auto_takes_the_rate_of_the_papers_table(terms: list[Term | None], p: float, row: str) -> None:
    problem = told(8, 10**6, *terms)
    assert Exp3P().rate(problem) == pytest.approx(p, rel=1e-12)
    assert Exp3P().init(2, problem).floor == pytest.approx(p, rel=1e-12)
    (choice,) = Exp3P().choices(problem)
    assert f"p = {p:.4g}" in choice and f"'{row}'" in choice


def test_a_rate_that_is_given_is_used_up_to_one_half_of_a_share() -> None:
    assert Exp3P(p="20/sqrt(T)").rate(told(4, 10**6)) == pytest.approx(0.02, rel=1e-14)
    assert Exp3P(p=0.125).rate(told(4, 100)) == 0.125
    assert Exp3P(p=0.125).choices(told(4, 100)) == ["p = 0.125 (given)"]
    with pytest.raises(CorralError, match=r"p must be at most 1/\(2M\) = 0\.125 with M = 4, not 0\.126"):
        Exp3P(p=0.126).init(1, told(4, 100))


@pytest.mark.parametrize("given", ["slow", "1/N", 0, -0.1, math.nan])
def test_a_rate_that_makes_no_sense_is_refused(given: float | str) -> None:
    with pytest.raises(CorralError) as refused:
        Exp3P(p=given).init(1, told(4, 100))
    assert str(refused.value).startswith("p must be") and "\n" not in str(refused.value)


def test_alpha_and_c_that_are_given_replace_those_of_the_bounds() -> None:
    """M = 8, T = 10^6, alpha = 4/5, c = 1/2: (T^(-1/5) c/M)^(5/6) = 10^-1 16^(-5/6)."""
    problem = told(8, 10**6, *[Term(8.0, 0.5)] * 8)
    meta = Exp3P(alpha=0.8, c=0.5)
    assert meta.rate(problem) == pytest.approx(0.1 * 16 ** (-5 / 6), rel=1e-12)
    (choice,) = meta.choices(problem)
    assert choice.endswith("row 'alpha and c known', with alpha = 0.8 and c = 0.5 as given)")
    assert Exp3P(p=0.01, eta=1, beta="1/T").choices(problem) == [
        "p = 0.01 (given)",
        "eta = 1 (given)",
        "beta = 1e-06 (given)",
    ]
    with pytest.raises(CorralError, match="exp3p: beta must be at most 1, not 2"):
        Exp3P(beta=2).init(1, problem)


# --- regret ---


def regret(meta: Meta, means: Array, horizon: int, rows: int, seed: int) -> Array:
    """The pseudo-regret of a meta whose bases are Bernoulli arms, one a row."""
    rng = np.random.default_rng(seed)
    state, active = meta.init(rows, told(len(means), horizon)), everyone(len(means), rows)
    lost = np.zeros(rows)
    for _ in range(horizon):
        chosen, probability = meta.choose(state, active, rng)
        paid = rng.random(rows) < means[chosen]
        meta.update(state, chosen, probability, paid.astype(float), active)
        lost += means.max() - means[chosen]
    return lost


def test_regret_is_within_the_theorem_and_a_third_of_uniform_play() -> None:
    """Bubeck and Cesa-Bianchi 2012, proof of Theorem 3.3: with probability 1 - delta the regret is at most
    beta n K + gamma n + (1 + beta) eta K n + ln(K/delta)/beta + ln K/eta; here delta = 1e-6 a row, sixteen rows.

    Pseudo-regret differs from that of realised rewards by less than 7 sqrt(n) but with probability e^(-7^2/2) = 2e-11.
    """
    means, horizon, p = np.array([0.2, 0.4, 0.6, 0.8]), 10_000, 0.02
    beta, gamma, eta = p / 2, 4 * p, p / (1 + p / 2)
    theorem = horizon * (4 * beta + gamma + (1 + beta) * eta * 4) + math.log(4 / 1e-6) / beta + math.log(4) / eta
    lost = regret(Exp3P(p=p), means, horizon, rows=16, seed=3)
    assert lost.max() <= theorem + 7 * math.sqrt(horizon)
    assert lost.mean() < regret(Uniform(), means, horizon, rows=16, seed=3).mean() / 3
