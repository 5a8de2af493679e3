"""Masks, lessons from other bases, new arms and action probabilities of the count-based bases and EXP3."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from corral_mab import EpsilonGreedy, Exp3, Exp3Ix, Ucb, Ucb1

from corral_core import Feedback, Observation, Problem
from corral_core.protocols.problem import NOTHING
from corral_core.selection.setup import given_rows

PROBLEM = Problem(arms=4, noise=0.5, low=0.0, high=1.0, horizon=1000, delta=0.01)
MASKED = attrs.evolve(PROBLEM, masked=True, reward_low=0.0, reward_high=1.0)


def ucb_index(n: int, mean: float, s: int) -> float:
    if n == 0:
        return math.inf
    return mean + 0.5 * math.sqrt((1 + n) / n**2 * (1 + 2 * math.log(4 * math.sqrt(1 + n) / 0.01)))


def ucb1_index(n: int, mean: float, s: int) -> float:
    return math.inf if n == 0 else mean + 0.5 * math.sqrt(2 * math.log(max(s - 1, 1)) / n)


def fresh(base: Any, rows: int) -> Any:
    return base.init(given_rows([base], {}, rows), np.random.default_rng(0))


@pytest.mark.parametrize(("base", "index"), [(Ucb(), ucb_index), (Ucb1(), ucb1_index)], ids=["ucb", "ucb1"])
def test_the_available_arm_with_the_largest_index_is_played(base: Any, index: Any) -> None:
    """200 plays of five rows under random masks against a plain loop; then every policy again, under other masks."""
    rng, rows = np.random.default_rng(1), np.arange(5)
    base = base.resolve(MASKED)
    state = fresh(base, 5)
    pulls, total, kept = np.zeros((5, 4), dtype=int), np.zeros((5, 4)), []
    for s in range(1, 201):
        mask = rng.random((5, 4)) < 0.6
        mask[rows, rng.integers(0, 4, 5)] = True
        policy = base.policy(state, rows)
        mean = np.divide(total, pulls, out=np.zeros((5, 4)), where=pulls > 0)
        values = np.array([[index(pulls[row, k], mean[row, k], s) for k in range(4)] for row in rows])
        kept.append((policy, values))
        arm = base.act(policy, Observation(mask=mask), rng)
        assert (arm == np.where(mask, values, -np.inf).argmax(axis=1)).all()
        reward = rng.random(5)
        base.learn(state, rows, Feedback(Observation(mask=mask), arm, reward), rng)
        pulls[rows, arm] += 1
        total[rows, arm] += reward
    for policy, values in kept:
        mask = rng.random((5, 4)) < 0.5
        mask[rows, rng.integers(0, 4, 5)] = True
        again = base.act(policy, Observation(mask=mask), rng)
        assert (again == np.where(mask, values, -np.inf).argmax(axis=1)).all()


def test_a_policy_among_masked_arms_takes_two_bytes_per_arm() -> None:
    for base in (Ucb(), Ucb1()):
        policies = {masked: base.resolve(attrs.evolve(PROBLEM, masked=masked)) for masked in (False, True)}
        size = {masked: each.policy(fresh(each, 3), np.arange(3)).nbytes for masked, each in policies.items()}
        assert size == {False: 3 * 2, True: 3 * 4 * 2}


def test_no_bound_is_claimed_if_arms_are_masked() -> None:
    bounded = attrs.evolve(MASKED, masked=False)
    for base in (Ucb(), Ucb1(), EpsilonGreedy(), Exp3(), Exp3Ix()):
        assert base.resolve(bounded).bound(0.1) is not None
        assert base.resolve(MASKED).bound(0.1) is None


def test_exp3_among_arms_that_had_no_weight_left() -> None:
    """The losses differ so much that single precision would round all weights of the available arms to zero."""
    base = Exp3().resolve(MASKED)
    state = fresh(base, 1)
    state.loss[:] = [[0.0, 5e4, 5e4 + 1, 6e4]]
    seen = Observation(mask=np.array([[False, True, True, False]]))
    policy = base.policy(state, np.arange(1))
    rate = np.sqrt(np.log(4) / 4)
    share = 1 / (1 + np.exp(-rate))
    assert base.action_probabilities(policy, seen) == pytest.approx(np.array([[0, share, 1 - share, 0]]), abs=2e-3)
    decision = base.act(policy, seen, np.random.default_rng(3))
    assert decision.probability == base.action_probabilities(policy, seen)[0, decision.action]


@pytest.mark.parametrize("base", [Ucb(arms=3), Ucb1(arms=3), EpsilonGreedy(arms=3)], ids=lambda base: base.name)
def test_an_arm_beyond_its_own_is_refused_and_written_nowhere(base: Any) -> None:
    base = base.resolve(PROBLEM)
    state = fresh(base, 2)
    lesson = Feedback(NOTHING, np.array([3]), np.array([1.0]))
    with pytest.raises(ValueError, match="only from its own arms"):
        base.learn(state, np.array([0]), lesson, np.random.default_rng(0))
    assert not state.means.pulls.any()


@pytest.mark.parametrize("base", [Ucb(), Ucb1(), EpsilonGreedy()], ids=lambda base: base.name)
def test_a_new_arm_is_tried_next(base: Any) -> None:
    base, rng, rows = base.resolve(PROBLEM), np.random.default_rng(4), np.arange(3)
    state = fresh(base, 3)
    for play in range(40):
        base.learn(state, rows, Feedback(NOTHING, (rows + play) % 4, rng.random(3)), rng)
    arms = np.zeros((2, 4), dtype=bool)
    arms[:, 2] = True
    base.renew(state, np.array([0, 2]), arms)
    assert state.means.pulls[:, 2].tolist() == [0, 10, 0]
    probability = base.action_probabilities(base.policy(state, rows), NOTHING)
    assert probability.argmax(axis=1)[[0, 2]].tolist() == [2, 2]
    assert (state.means.pulls[:, [0, 1, 3]] == 10).all()
