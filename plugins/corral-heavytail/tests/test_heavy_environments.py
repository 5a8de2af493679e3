"""Payoffs follow the laws that they are named after."""

from __future__ import annotations

import numpy as np
import pytest
from corral_heavytail.environments.pareto import ParetoArms
from corral_heavytail.environments.student_t import LinearTails, StudentTArms
from scipy import stats

from corral_core.environments import chosen
from corral_core.errors import CorralError
from corral_core.parsing import build
from corral_core.protocols import NOTHING


@pytest.mark.parametrize("df", [1.5, 3.0, 100.0])
def test_student_t(df: float) -> None:
    """Kolmogorov and Smirnov at 1e-4, each, with 20,000 payoffs."""
    noise = StudentTArms(df=df, scale=2.0).payoff(np.full(20_000, 3.0), np.random.default_rng(1)) - 3.0
    assert stats.kstest(noise / 2.0, stats.t(df).cdf).pvalue > 1e-4


@pytest.mark.parametrize("shape", [1.1, 2.0, 30.0])
def test_pareto(shape: float) -> None:
    """Kolmogorov and Smirnov at 1e-4, each, with 20,000 payoffs; none is below the least that can be paid."""
    paid = ParetoArms(shape=shape).payoff(np.full(20_000, 3.0), np.random.default_rng(2))
    least = 3.0 * (shape - 1) / shape
    assert (paid >= least).all()
    assert stats.kstest(paid, stats.pareto(shape, scale=least).cdf).pvalue > 1e-4
    assert stats.pareto(shape, scale=least).mean() == pytest.approx(3.0)


@pytest.mark.parametrize("environment", [StudentTArms(), ParetoArms(), ParetoArms(arms=1, dimension=1)])
def test_arms_are_linear(environment: LinearTails) -> None:
    """Means are linear, within the range, and regrets are from means; no noise is published."""
    rng = np.random.default_rng(3)
    instance = environment.draw(50, rng)
    assert ((instance.features >= 0) & (instance.features <= 1)).all()
    low, high = environment.problem.range
    assert ((instance.mean >= low) & (instance.mean <= high)).all()
    if environment.arms > environment.dimension:
        for row in range(50):
            theta = np.linalg.lstsq(instance.features[row], instance.mean[row], rcond=None)[0]
            assert instance.features[row] @ theta == pytest.approx(instance.mean[row])
            assert ((theta > -1e-9) & (theta < 1 + 1e-9)).all()
    action = rng.integers(0, environment.arms, 50)
    _, regret = environment.pay(instance, NOTHING, action, rng)
    assert regret == pytest.approx(instance.mean.max(axis=1) - chosen(instance.mean, action))
    assert environment.problem.noise is None


def test_cutting_keeps_the_order_of_arms() -> None:
    """What a meta-algorithm sees: of two means the larger one stays the larger, for both laws, after the cut.

    200,000 payoffs of each mean; the means of what is left differ by more than 20 standard errors.
    """
    rng = np.random.default_rng(4)
    for environment in (StudentTArms(df=1.5), ParetoArms(shape=1.2)):
        low, high = environment.problem.range
        worse, better = (
            np.clip((environment.payoff(np.full(200_000, mean), rng) - low) / (high - low), -1, 2)
            for mean in (2.5, 3.5)
        )
        assert better.mean() - worse.mean() > 20 * (better.std() + worse.std()) / 200_000**0.5


@pytest.mark.parametrize("wrong", [1.0, 0.0, -1.0, float("nan"), float("inf"), "3", True, None])
def test_refusals(wrong: object) -> None:
    with pytest.raises(CorralError, match="df"):
        build(StudentTArms, {"df": wrong}, "student-t-arms")
    with pytest.raises(CorralError, match="shape"):
        build(ParetoArms, {"shape": wrong}, "pareto-arms")


def test_names_that_are_wrong() -> None:
    with pytest.raises(CorralError, match="did you mean shape"):
        build(ParetoArms, {"shap": 2.0}, "pareto-arms")
