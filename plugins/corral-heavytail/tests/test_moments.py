"""Moments against numerical integration and scipy's laws, and the bounds against what they bound."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from corral_heavytail import ParetoArms, StudentTArms
from corral_heavytail.moments import (
    pareto_moment,
    pareto_noise_moment,
    student_t_moment,
    student_t_payoff_moment,
)
from scipy import stats

from corral_core import Array, CorralError


def expected(law: stats.rv_continuous, function: Callable[[Array], Array], kink: float) -> float:
    """E f(X) by Gauss's rule, between points whose distances to the kink of f and to the end of the law double."""
    steps = 2.0 ** np.arange(-30, 400)
    least, most = np.clip(law.support(), -1e100, 1e100)
    points = np.concatenate([[least, kink, most], *(end + sign * steps for end in (least, kink) for sign in (-1, 1))])
    points = np.unique(points[(points >= least) & (points <= most)])
    nodes, weights = np.polynomial.legendre.leggauss(10)
    half = np.diff(points)[:, None] / 2
    x = points[:-1, None] + half * (1 + nodes)
    return float((half * weights * function(x) * law.pdf(x)).sum())


@pytest.mark.parametrize(
    ("df", "order"), [(3.0, 2.0), (3.0, 1.5), (1.5, 1.2), (2.0, 1.0), (30.0, 2.0), (1.1, 1.0), (2.2, 2.0)]
)
def test_student_t(df: float, order: float) -> None:
    truth = expected(stats.t(df), lambda x: abs(x) ** order, 0.0)
    assert student_t_moment(order, df) == pytest.approx(truth, rel=1e-5)
    assert student_t_moment(order, df, scale=3.0) == pytest.approx(3**order * truth, rel=1e-5)


@pytest.mark.parametrize(("df", "order"), [(3.0, 2.0), (3.0, 1.5), (1.8, 1.4)])
@pytest.mark.parametrize("mean", [0.0, 1.0, -5.0])
def test_student_t_payoff(df: float, order: float, mean: float) -> None:
    """A bound, the number itself at order 2, and at most twice as much else."""
    truth = expected(stats.t(df), lambda x: abs(mean + x) ** order, -mean)
    found = student_t_payoff_moment(order, df, mean)
    assert truth * (1 - 1e-6) <= found <= 2 * truth
    if order == 2:
        assert found == pytest.approx(mean**2 + 3, rel=1e-9)


@pytest.mark.parametrize(("shape", "order"), [(2.0, 1.5), (3.0, 2.0), (1.5, 1.4), (1.2, 1.1), (50.0, 2.0)])
def test_pareto(shape: float, order: float) -> None:
    mean, least = 3.1, 3.1 * (shape - 1) / shape
    law = stats.pareto(shape, scale=least)
    assert law.mean() == pytest.approx(mean)
    truth = expected(law, lambda x: x**order, mean)
    assert pareto_moment(order, shape, mean) == pytest.approx(truth, rel=1e-5)
    noise = expected(law, lambda x: abs(x - mean) ** order, mean)
    assert noise * (1 - 1e-6) <= pareto_noise_moment(order, shape, mean) <= 1.4 * noise


@pytest.mark.parametrize("shape", [1.2, 2.0])
def test_moments_at_the_edge_of_existence(shape: float) -> None:
    """As the order nears the shape (or the degrees of freedom), (shape - order) E y^order tends to its limit."""
    gap = 1e-9
    order, scale = shape - gap, 3.0 * (shape - 1) / shape
    assert gap * pareto_moment(order, shape, 3.0) == pytest.approx(shape * scale**shape, rel=1e-6)
    assert gap * pareto_noise_moment(order, shape, 3.0) == pytest.approx(shape * scale**shape, rel=1e-6)
    tail = 2 * shape ** (shape / 2) * math.gamma((shape + 1) / 2) / (math.sqrt(math.pi) * math.gamma(shape / 2))
    assert gap * student_t_moment(order, shape) == pytest.approx(tail, rel=1e-6)


def test_the_sources_moments() -> None:
    """Settings S1 to S4 of the paper: c = 3, and b = 7.72 and 54.37 at best means of 3.10 and 11.39 (rounded)."""
    assert StudentTArms().noise_moment(1.0) == pytest.approx(3)
    assert ParetoArms().payoff_moment(0.5, 3.10) == pytest.approx(7.72, abs=0.01)
    assert ParetoArms().payoff_moment(0.5, 11.39) == pytest.approx(54.37, abs=0.04)


def test_root_moments_grow_with_their_order() -> None:
    """Why one magnitude holds for every smaller epsilon (Lyapunov)."""
    orders = np.linspace(1.05, 1.45, 9)
    roots = [pareto_moment(order, 1.5, 2.0) ** (1 / order) for order in orders]
    assert (np.diff(roots) > 0).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: student_t_moment(2.0, 2.0), "only has moments of orders below 2, not of 2"),
        (lambda: pareto_moment(1.5, 1.2, 1.0), "only has moments of orders below 1.2, not of 1.5"),
        (lambda: pareto_noise_moment(1.5, 1.5, 1.0), "only has moments of orders below 1.5"),
        (lambda: student_t_moment(math.nan, 3.0), "must be positive, not nan"),
        (lambda: student_t_moment(1.5, math.nan), "only has moments of orders below nan, not of 1.5"),
        (lambda: student_t_moment(0.0, 3.0), "must be positive, not 0"),
        (lambda: pareto_moment(1.5, 2.0, 1e300), "too large for a floating-point number"),
        (lambda: student_t_moment(1.5, 1e308), "too large for a floating-point number"),
        (lambda: student_t_moment(1.5, 2.0, math.inf), "scale must be a finite number of at least 0, not inf"),
        (lambda: student_t_moment(1.5, 2.0, -1.0), "scale must be a finite number of at least 0, not -1"),
        (lambda: student_t_payoff_moment(1.5, 2.0, math.nan), "mean| must be a finite number"),
        (lambda: pareto_moment(1.5, 2.0, -1.0), "mean must be a finite number of at least 0, not -1"),
        (lambda: pareto_noise_moment(1.5, 2.0, math.nan), "mean must be a finite number of at least 0, not nan"),
        (lambda: pareto_moment(0.5, 0.8, 1.0), "shape 0.8 has no mean; the shape must be above 1"),
    ],
)
def test_refusals(call: object, sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        call()  # type: ignore[operator]


def test_nothing_deviates_from_nothing() -> None:
    assert pareto_noise_moment(1.5, 2.0, 0.0) == 0
    assert pareto_moment(1.5, 2.0, 0.0) == 0
