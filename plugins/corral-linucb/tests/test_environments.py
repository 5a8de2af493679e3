"""The environments: closed forms and brute force."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from corral_linucb import (
    FosterNested,
    IndependentArms,
    InfiniteNested,
    LinearArms,
    MisspecifiedArms,
    MisspecifiedContexts,
    NestedDimension,
    QuadraticArms,
    QuadraticContexts,
    SharedContext,
)

from corral_core import Array, CorralError, Environment
from corral_core.environments.bandit import chosen
from corral_core.parsing import build

FIXED = [LinearArms(), IndependentArms(), MisspecifiedArms(), QuadraticArms()]
FRESH = [
    NestedDimension(),
    NestedDimension(misspecification=0.2),
    MisspecifiedContexts(),
    FosterNested(dimension=200),
    QuadraticContexts(),
    SharedContext(),
]
MASKED = [attrs.evolve(environment, available=0.3) for environment in FRESH]
FINITE = [*FIXED, *FRESH, *MASKED]
INFINITE = [InfiniteNested(), InfiniteNested(set="ellipsoid")]


def label(environment: Environment) -> str:
    """Its name, and what is not as by default."""
    plain, mine = attrs.asdict(type(environment)()), attrs.asdict(environment)
    return "-".join([environment.name, *(f"{name}={mine[name]}" for name in mine if mine[name] != plain[name])])


def true_means(environment: Environment, instance, observation) -> Array:
    """(rows, arms), for any environment with finite arms."""
    return instance.mean if observation.features is None else environment.means(instance, observation.features)


def some_arm(environment: Environment, observation, rows: int, rng: np.random.Generator) -> Array:
    """An arm that is there, in every row."""
    keys = rng.random((rows, environment.arms))
    return (keys if observation.mask is None else np.where(observation.mask, keys, -1)).argmax(axis=1)


# --- All of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", FINITE, ids=label)
@pytest.mark.parametrize("rows", [1, 7])
def test_shapes_are_those_of_the_problem(environment: Environment, rows: int) -> None:
    """A row alone gives what it gives among others."""
    rng, problem = np.random.default_rng(1), environment.problem
    instance = environment.draw(rows, rng)
    features = (rows, problem.dimension) if problem.shared else (rows, problem.arms, problem.dimension)
    shown = environment.shown(instance)
    assert len(instance) == rows
    play = environment.play(instance, lambda seen: some_arm(environment, seen, rows, rng), rng)
    if problem.changing:
        assert not shown
        assert play.observation.features.shape == features
    else:
        assert shown["features"].shape == features
        assert play.observation.features is None
    if problem.masked:
        assert play.observation.mask.shape == (rows, problem.arms)
    else:
        assert play.observation.mask is None
    assert play.reward.shape == play.regret.shape == (rows,)
    assert play.reward.dtype == play.regret.dtype == np.float64


@pytest.mark.parametrize("environment", FINITE, ids=label)
def test_regret_is_against_the_best_arm_that_is_there(environment: Environment) -> None:
    """Brute force over the arms of 300 rows, at three plays."""
    rng, rows = np.random.default_rng(2), 300
    instance = environment.draw(rows, rng)
    low, high = environment.problem.range
    for _ in range(3):
        observation = environment.observe(instance, rng)
        means = true_means(environment, instance, observation)
        assert ((means >= low - 1e-12) & (means <= high + 1e-12)).all()
        there = [range(environment.arms)] * rows
        if observation.mask is not None:
            there = [np.flatnonzero(mask) for mask in observation.mask]
        best = np.array([max(arms, key=mean.__getitem__) for mean, arms in zip(means, there, strict=True)])
        assert (environment.pay(instance, observation, best, rng)[1] == 0).all()
        action = some_arm(environment, observation, rows, rng)
        regret = environment.pay(instance, observation, action, rng)[1]
        expected = [mean[arm] - mean[other] for mean, arm, other in zip(means, best, action, strict=True)]
        assert regret == pytest.approx(np.array(expected))
        assert (regret >= 0).all()
        assert regret.max() > 0


@pytest.mark.parametrize("environment", FINITE, ids=label)
def test_rewards_are_the_means_plus_the_noise_that_is_said(environment: Environment) -> None:
    """20,000 rewards: mean within 4.5 standard errors, variance within 4.5 of its own; fails by chance in 2e-5."""
    rng, rows = np.random.default_rng(3), 2000
    instance = environment.draw(rows, rng)
    noise = []
    for _ in range(10):
        observation = environment.observe(instance, rng)
        action = some_arm(environment, observation, rows, rng)
        mean = chosen(true_means(environment, instance, observation), action)
        noise.append(environment.pay(instance, observation, action, rng)[0] - mean)
    scaled = np.concatenate(noise) / environment.problem.noise
    assert abs(scaled.mean()) < 4.5 / np.sqrt(scaled.size)
    assert abs(scaled.var() - 1) < 4.5 * np.sqrt(2 / scaled.size)


@pytest.mark.parametrize("environment", [*FINITE, *INFINITE], ids=label)
def test_what_is_drawn_does_not_depend_on_the_action(environment: Environment) -> None:
    """Curves are paired: whatever is played, the next play is the same."""
    seen = []
    for arm in (0, 1):
        rng = np.random.default_rng(4)
        instance = environment.draw(5, rng)
        observation = environment.observe(instance, rng)
        action = np.full(5, arm) if environment.problem.actions == "finite" else 0.1 * arm * instance.theta
        environment.pay(instance, observation, action, rng)
        seen.append(rng.random())
    assert seen[0] == seen[1]


@pytest.mark.parametrize("environment", [*FINITE, *INFINITE], ids=label)
def test_it_can_be_built_from_a_file(environment: Environment) -> None:
    values = attrs.asdict(environment)
    assert build(type(environment), values, "environment") == environment
    with pytest.raises(CorralError, match="noise"):
        build(type(environment), values | {"noise": 0.0}, "environment")
    with pytest.raises(CorralError, match="dimension"):
        build(type(environment), values | {"dimension": 0}, "environment")
