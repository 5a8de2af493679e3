"""Backward induction compared with loops over states and actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corral_core.environments.finite_mdp import Model
from corral_core.environments.planning import backward, expected, following
from corral_core.rows import Array

ROWS, STATES, ACTIONS, STAGES = 3, 4, 3, 5


def drawn(seed: int = 1) -> tuple[Array, Array]:
    """Rewards, and transitions whose last state is the end of the episode."""
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.ones(STATES + 1), size=(ROWS, STATES, ACTIONS))
    return rng.random((ROWS, STATES, ACTIONS)), transition[..., :STATES]


def by_hand(reward: Array, transition: Array, policy: Array | None = None) -> Array:
    values = np.zeros((ROWS, STAGES, STATES, ACTIONS))
    for row in range(ROWS):
        value = [0.0] * STATES
        for stage in reversed(range(STAGES)):
            for state in range(STATES):
                for action in range(ACTIONS):
                    onward = sum(p * v for p, v in zip(transition[row, state, action], value, strict=True))
                    values[row, stage, state, action] = reward[row, state, action] + onward
            at = values[row, stage]
            if policy is None:
                value = [max(at[state]) for state in range(STATES)]
            else:
                value = [sum(policy[row, stage, state] * at[state]) for state in range(STATES)]
    return values


def test_optimal_values_are_those_of_loops() -> None:
    reward, transition = drawn()
    found = backward(expected(reward, transition), rows=ROWS, states=STATES, stages=STAGES)
    np.testing.assert_allclose(found, by_hand(reward, transition), rtol=1e-13)


def test_values_of_a_policy_are_those_of_loops() -> None:
    reward, transition = drawn()
    policy = np.random.default_rng(2).dirichlet(np.ones(ACTIONS), size=(ROWS, STAGES, STATES))
    found = backward(expected(reward, transition), rows=ROWS, states=STATES, stages=STAGES, worth=following(policy))
    np.testing.assert_allclose(found, by_hand(reward, transition, policy), rtol=1e-13)


def test_no_policy_is_better_than_the_best() -> None:
    """Of all deterministic policies of a small MDP, 2^6, exactly valued."""
    rng = np.random.default_rng(3)
    reward, transition = rng.random((1, 3, 2)), rng.dirichlet(np.ones(3), size=(1, 3, 2))
    backup = expected(reward, transition)
    best = backward(backup, rows=1, states=3, stages=2).max(axis=3)[0, 0]
    values = []
    for number in range(2**6):
        table = np.array([number >> bit & 1 for bit in range(6)]).reshape(1, 2, 3)
        policy = np.eye(2)[table]
        action_values = backward(backup, rows=1, states=3, stages=2, worth=following(policy))
        values.append((policy * action_values).sum(axis=3)[0, 0])
    np.testing.assert_allclose(np.max(values, axis=0), best, rtol=1e-13)


@pytest.mark.parametrize("states", [1, 3, 8, 9, 17])
def test_equal_actions_have_equal_values(states: int) -> None:
    """To the last bit, wherever they stand: ties are drawn among values that are exactly equal."""
    rng = np.random.default_rng(4)
    row = rng.dirichlet(np.ones(states))
    transition = np.broadcast_to(row, (5, states, 7, states))
    reward = np.full((5, states, 7), 0.1)
    for spread in (transition, transition.copy()):
        values = backward(expected(reward, spread), rows=5, states=states, stages=6)
        assert (values == values[:, :, :1, :1]).all()


def test_a_model_with_outcomes_is_the_dense_one() -> None:
    """Outcomes in any order, doubled, with rewards and ends of their own, at stages that differ."""
    rng = np.random.default_rng(5)
    outcomes = 6
    probability = rng.dirichlet(np.ones(outcomes), size=(ROWS, STAGES, STATES, ACTIONS))
    to = rng.integers(STATES, size=probability.shape)
    reward, ends = rng.random(probability.shape), rng.random(probability.shape) < 0.3
    model = Model.of(probability, reward, STAGES, following=to, ends=ends)
    value: Array = np.zeros((ROWS, STATES))
    for stage in reversed(range(STAGES)):
        values = np.zeros((ROWS, STATES, ACTIONS))
        for at in np.ndindex(ROWS, STATES, ACTIONS):
            place: Any = (at[0], stage, *at[1:])
            for k in range(outcomes):
                onward = 0.0 if ends[place][k] else value[at[0], to[place][k]]
                values[at] += probability[place][k] * (reward[place][k] + onward)
        np.testing.assert_allclose(model.optimal[:, stage], values, rtol=1e-12)
        value = values.max(axis=2)
