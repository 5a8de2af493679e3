"""Fixed arms: what their means have to do with their features."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from corral_linucb import IndependentArms, LinearArms, MisspecifiedArms

from corral_core import Array, CorralError
from corral_core.environments.bandit import chosen


def test_linear_arms_are_linear() -> None:
    """Least squares finds a theta in the unit cube that explains all 50 means of every row."""
    environment = LinearArms(dimension=3)
    instance = environment.draw(40, np.random.default_rng(5))
    assert environment.problem.range == (0, 3)
    assert ((instance.features >= 0) & (instance.features <= 1)).all()
    for features, mean in zip(instance.features, instance.mean, strict=True):
        theta, residual, _, _ = np.linalg.lstsq(features, mean, rcond=None)
        assert residual[0] < 1e-20
        assert ((theta > -1e-9) & (theta < 1 + 1e-9)).all()


def test_features_of_independent_arms_say_nothing() -> None:
    """The same features as linear-arms from the same seed, and no correlation with means that are U[0, 10].

    The correlation of 100,000 pairs, and the mean, within 4.5 standard errors: fails by chance in 2e-5.
    """
    environment = IndependentArms()
    instance = environment.draw(2000, np.random.default_rng(6))
    assert environment.problem.range == (0, 10)
    assert (instance.features == LinearArms().draw(2000, np.random.default_rng(6)).features).all()
    mean = instance.mean.ravel()
    assert abs(np.corrcoef(instance.features[:, :, 0].ravel(), mean)[0, 1]) < 4.5 / np.sqrt(mean.size)
    assert abs(mean.mean() - 5) < 4.5 * 10 / np.sqrt(12 * mean.size)
    assert mean.min() < 0.1
    assert mean.max() > 9.9
    with pytest.raises(CorralError, match="low must be less than high"):
        IndependentArms(low=2.0, high=1.0)


def linear_part(environment: MisspecifiedArms, rows: int, seed: int) -> tuple[Array, Array]:
    """What the arms would pay without deviation, and (mean - (1 - eps) linear)/eps: h."""
    linear = attrs.evolve(environment, misspecification=0.0).draw(rows, np.random.default_rng(seed)).mean
    mean = environment.draw(rows, np.random.default_rng(seed)).mean
    return linear, (mean - (1 - environment.misspecification) * linear) / environment.misspecification


@pytest.mark.parametrize("deviation", ["uniform", "rademacher", "adversarial"])
def test_misspecified_arms_deviate_by_at_most_eps(deviation) -> None:
    """Linear without deviation, h as named; its mean over 50,000 arms within 4.5 standard errors: 1e-5."""
    environment = MisspecifiedArms(misspecification=0.3, deviation=deviation)
    instance = attrs.evolve(environment, misspecification=0.0).draw(20, np.random.default_rng(7))
    assert np.linalg.norm(instance.features, axis=2) == pytest.approx(np.ones((20, 50)))
    for features, mean in zip(instance.features, instance.mean, strict=True):
        theta, residual, _, _ = np.linalg.lstsq(features, mean, rcond=None)
        assert residual[0] < 1e-20
        assert np.linalg.norm(theta) == pytest.approx(1)
    _, h = linear_part(environment, 1000, 7)
    assert (abs(h) < 1 + 1e-12).all()
    if deviation == "uniform":
        assert abs(h.mean()) < 4.5 / np.sqrt(3 * h.size)
        assert h.std() == pytest.approx(1 / np.sqrt(3), rel=0.02)
    else:
        assert abs(h) == pytest.approx(np.ones(h.shape))
    if deviation == "rademacher":
        assert abs(h.mean()) < 4.5 / np.sqrt(h.size)


@pytest.mark.parametrize("arms", [1, 2, 7, 50])
def test_the_adversary_hurts_the_linear_optimum(arms: int) -> None:
    """It gets -1, half of the arms +1, and with eps = .5 it is the best arm in few rows.

    The other arms are raised alike: how often, within 5 standard errors of all 7 arms at once (1e-5).
    """
    environment = MisspecifiedArms(arms=arms, misspecification=0.5, deviation="adversarial")
    linear, h = linear_part(environment, 4000, 8)
    optimum = linear.argmax(axis=1)
    assert chosen(h, optimum) == pytest.approx(-np.ones(4000))
    assert ((h > 0).sum(axis=1) == arms // 2).all()
    if arms == 7:
        often = (h > 0).mean(axis=0)  # an arm is not the optimum in 6 rows of 7, and then raised in 3 of 6
        assert abs(often - 3 / 7).max() < 5 * np.sqrt(3 / 7 * 4 / 7 / 4000)
    if arms == 50:
        mean = environment.draw(4000, np.random.default_rng(8)).mean
        assert (mean.argmax(axis=1) == optimum).mean() < 0.01
        assert (mean.max(axis=1) - chosen(mean, optimum)).mean() > 0.5
