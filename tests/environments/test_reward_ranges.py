"""The range of rewards that environments publish, for every registered environment that has one."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from corral_core.protocols.problem import Problem
from corral_core.registry.names import get_registry

ENTRIES = [entry.qualified for entry in get_registry().entries("environment")]


@pytest.mark.parametrize("name", ENTRIES)
def test_rewards_lie_in_the_range_that_the_problem_states(name: str) -> None:
    """Of every example, 40 plays of 200 rows with random actions."""
    for environment in get_registry().load("environment", name).examples():
        problem = environment.problem
        if problem.reward_low is None:
            assert problem.reward_high is None
            continue
        luck, choices = np.random.default_rng(1), np.random.default_rng(2)
        instance = environment.draw(200, luck)
        for _ in range(40):
            play = environment.play(instance, lambda seen: choices.integers(0, problem.arms, 200), luck)  # noqa: B023
            assert play.reward.min() >= problem.reward_low and play.reward.max() <= problem.reward_high


def test_which_environments_state_a_range() -> None:
    stated = [
        name
        for name in ENTRIES
        if all(made.problem.reward_low is not None for made in get_registry().load("environment", name).examples())
    ]
    assert {"corral-mab:bernoulli-arms", "corral-mab:lower-bound-sqrt", "corral-tabular:riverswim"} <= set(stated)
    assert "corral-mab:gaussian-arms" not in stated


def test_what_lies_within() -> None:
    problem = Problem(reward_low=0.0, reward_high=1.0)
    assert problem.pays_within(0, 1) and problem.pays_within(-1, 2)
    assert not problem.pays_within(0.3, 1) and not problem.pays_within(0, 0.7)
    assert not attrs.evolve(problem, reward_high=None).pays_within(-9, 9)
