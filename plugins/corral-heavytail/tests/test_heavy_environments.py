"""Payoffs follow the laws that they are named after."""

from __future__ import annotations

import numpy as np
import pytest
from corral_heavytail import ParetoArms, PrizeArms, StudentTArms
from corral_kit.linear.fixed_arms import ArmsWithFeatures
from scipy import stats

from corral_core import CorralError
from corral_core.environments.bandit import chosen
from corral_core.parsing import build
from corral_core.protocols.problem import NOTHING


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


@pytest.mark.parametrize(
    ("environment", "most"),
    [(StudentTArms(), 1.0), (ParetoArms(), 1.0), (ParetoArms(arms=1, dimension=1), 1.0), (PrizeArms(weight=3.0), 3.0)],
)
def test_arms_are_linear(environment: ArmsWithFeatures, most: float) -> None:
    """Means are linear, within the range, and regrets are from means."""
    rng = np.random.default_rng(3)
    instance = environment.draw(50, rng)
    assert ((instance.features >= 0) & (instance.features <= 1)).all()
    low, high = environment.problem.range
    assert ((instance.mean >= low) & (instance.mean <= high)).all()
    if environment.arms > environment.dimension:
        for row in range(50):
            theta = np.linalg.lstsq(instance.features[row], instance.mean[row], rcond=None)[0]
            assert instance.features[row] @ theta == pytest.approx(instance.mean[row])
            assert ((theta > -1e-9) & (theta < most + 1e-9)).all()
    action = rng.integers(0, environment.arms, 50)
    _, regret = environment.pay(instance, NOTHING, action, rng)
    assert regret == pytest.approx(instance.mean.max(axis=1) - chosen(instance.mean, action))


def test_noise_is_published_where_it_is_sub_gaussian() -> None:
    assert StudentTArms().problem.noise is ParetoArms().problem.noise is None
    assert PrizeArms(prize=30.0).problem.noise == 15.0


def test_prizes() -> None:
    """What an arm pays beyond the worth of its other features is 0 or the prize, with its probability.

    One arm in 400,000 rows, each with features of its own; the standardised sum is within 4, but once in 15,000.
    """
    environment, rng = PrizeArms(arms=1, dimension=3, prize=10.0, weight=2.0), np.random.default_rng(5)
    instance = environment.draw(400_000, rng)
    reward, _ = environment.pay(instance, NOTHING, np.zeros(400_000, dtype=np.intp), rng)
    share = 2.0 * instance.features[:, 0, 0]
    paid = reward - (instance.mean[:, 0] - share)
    won = paid > 5
    assert paid == pytest.approx(10.0 * won, abs=1e-9)
    chance = share / 10.0
    assert abs((won - chance).sum()) < 4 * np.sqrt((chance * (1 - chance)).sum())


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


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_moments_of_prizes(epsilon: float) -> None:
    """Those of an arm whose first feature is 1, from the two values that it pays."""
    environment, rest = PrizeArms(prize=50.0, weight=2.0), 1.5
    values, chances = np.array([rest, rest + 50.0]), np.array([0.96, 0.04])
    mean = chances @ values
    assert mean == pytest.approx(2.0 + rest)
    assert environment.payoff_moment(epsilon, mean) == pytest.approx(chances @ values ** (1 + epsilon))
    assert environment.noise_moment(epsilon) == pytest.approx(chances @ np.abs(values - mean) ** (1 + epsilon))


@pytest.mark.parametrize("wrong", [1.0, 0.0, -1.0, float("nan"), float("inf"), "3", True, None])
def test_refusals(wrong: object) -> None:
    with pytest.raises(CorralError, match="df"):
        build(StudentTArms, {"df": wrong}, "student-t-arms")
    with pytest.raises(CorralError, match="shape"):
        build(ParetoArms, {"shape": wrong}, "pareto-arms")


@pytest.mark.parametrize("wrong", [1.9, 0.0, -1.0, float("nan"), float("inf"), "3", True, None])
def test_prizes_that_are_none(wrong: object) -> None:
    with pytest.raises(CorralError, match="prize"):
        build(PrizeArms, {"prize": wrong, "weight": 2.0}, "prize-arms")


def test_names_that_are_wrong() -> None:
    with pytest.raises(CorralError, match="did you mean shape"):
        build(ParetoArms, {"shap": 2.0}, "pareto-arms")
