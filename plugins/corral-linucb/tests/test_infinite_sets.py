"""The ball and the ellipsoids: best values, rewards, and actions outside."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from corral_linucb import InfiniteNested

from corral_core import CorralError

INFINITE = [InfiniteNested(), InfiniteNested(set="ellipsoid")]


@pytest.mark.parametrize("environment", INFINITE, ids=["ball", "ellipsoid"])
def test_the_best_action_of_an_infinite_set(environment: InfiniteNested) -> None:
    """x = M M theta/||M theta|| attains ||M theta||; 5,000 random actions on the boundary stay below it."""
    environment, rng = attrs.evolve(environment, dimension=4, relevant=2), np.random.default_rng(18)
    instance = environment.draw(6, rng)
    observation = environment.observe(instance, rng)
    axes = np.ones((6, 4)) if observation.features is None else observation.features
    scaled = axes * instance.theta
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    best = axes * scaled / length
    assert environment.pay(instance, observation, best, rng)[1] == pytest.approx(np.zeros(6), abs=1e-12)
    assert environment.pay(instance, observation, -best, rng)[1] == pytest.approx(2 * length[:, 0])
    least = np.full(6, np.inf)
    for _ in range(5000):
        direction = rng.standard_normal((6, 4))
        action = axes * direction / np.linalg.norm(direction, axis=1, keepdims=True)
        regret = environment.pay(instance, observation, action, rng)[1]
        assert regret == pytest.approx(length[:, 0] - (action * instance.theta).sum(axis=1))
        least = np.minimum(least, regret)
    assert (least > 0).all()
    assert least.max() < 0.05


@pytest.mark.parametrize("rows", [1, 5])
def test_what_infinite_sets_show(rows: int) -> None:
    rng = np.random.default_rng(19)
    for environment in INFINITE:
        instance, problem = environment.draw(rows, rng), environment.problem
        play = environment.play(instance, lambda seen, theta=instance.theta: 0.4 * theta, rng)
        assert problem.actions == environment.set
        assert problem.changing == (environment.set == "ellipsoid")
        assert (problem.arms, problem.dimension, problem.range) == (None, 64, (-1, 1))
        assert play.reward.shape == play.regret.shape == (rows,)
    axes = [environment.observe(instance, rng).features for _ in range(2)]
    assert axes[0].shape == (rows, 64)
    assert ((axes[0] >= 0.5) & (axes[0] <= 1)).all()
    assert (axes[0] != axes[1]).all()
    assert INFINITE[0].observe(instance, rng).features is None


@pytest.mark.parametrize("environment", INFINITE, ids=["ball", "ellipsoid"])
def test_rewards_of_infinite_sets(environment: InfiniteNested) -> None:
    """20,000 rewards of one action a row: mean and variance within 4.5 standard errors, 2e-5."""
    rng = np.random.default_rng(20)
    instance = environment.draw(20_000, rng)
    observation = environment.observe(instance, rng)
    scaled = (environment.pay(instance, observation, 0.4 * instance.theta, rng)[0] - 0.4) / environment.noise
    assert abs(scaled.mean()) < 4.5 / np.sqrt(20_000)
    assert abs(scaled.var() - 1) < 4.5 * np.sqrt(2 / 20_000)


@pytest.mark.parametrize("environment", INFINITE, ids=["ball", "ellipsoid"])
def test_actions_outside_the_set_are_named(environment: InfiniteNested) -> None:
    rng = np.random.default_rng(21)
    instance = environment.draw(3, rng)
    observation = environment.observe(instance, rng)
    axes = np.ones((3, 64)) if observation.features is None else observation.features
    edge = np.zeros((3, 64))
    edge[:, 1] = axes[:, 1]
    environment.pay(instance, observation, edge * (1 + 1e-10), rng)
    for wrong, message in [
        (edge * np.array([[1.0], [1 + 1e-6], [1.0]]), r"row 1 .*norm at most 1.*, not 1\.000001"),
        (edge * 1e200, "row 0 .*norm at most 1"),
        (edge + np.array([[0.0], [0.0], [np.nan]]), "row 2 .*not nan"),
    ]:
        with pytest.raises(CorralError, match=message):
            environment.pay(instance, observation, wrong, rng)
