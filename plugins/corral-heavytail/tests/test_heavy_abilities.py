"""What MENU and TOFU can do besides playing: masks, the plays of others, action probabilities."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from corral_heavytail import Menu, Tofu

from corral_core import Array, Base, CorralError, Feedback, Observation, Problem
from corral_core.protocols.problem import NOTHING
from corral_core.selection.setup import given_rows

ROWS, ARMS, D = 3, 4, 2
FIXED = Problem("the market", arms=ARMS, dimension=D, noise=0.5, low=-1, high=1, horizon=300, delta=0.02)
MASKED = attrs.evolve(FIXED, changing=True, masked=True)
EVERYONE = np.arange(ROWS)


def begin(base: Base, problem: Problem, shown: dict[str, Array] | None = None) -> tuple[Any, Any]:
    fitted: Any = base.resolve(problem)
    return fitted, fitted.init(given_rows([fitted], shown or {}, ROWS), np.random.default_rng(1))


def estimated(base: Any, x: Array, y: Array) -> Array:
    """TOFU's estimate from all plays of one row, by the formulas of its docstring."""
    plays, order = len(y), 1 + base.epsilon
    values, basis = np.linalg.eigh(base.penalty * np.eye(D) + x.T @ x)
    half = basis @ np.diag(values**-0.5) @ basis.T
    level = (base.moment / np.log(2 * base.horizon / base.delta)) ** (1 / order)
    level *= plays ** ((1 - base.epsilon) / (2 * order))
    w = half @ x.T
    kept = np.where(np.abs(w * y) <= level, w * y, 0.0)
    return np.asarray(half @ kept.sum(axis=1))


@pytest.mark.parametrize("problem", [MASKED, FIXED], ids=["masked", "fixed"])
def test_the_plays_of_others_are_truncated_as_its_own(problem: Problem) -> None:
    """Own plays and others': the estimate reads all of them, and its level counts all of them."""
    rng = np.random.default_rng(2)
    arms = rng.standard_normal((ROWS, ARMS, D)) / 2
    base = Tofu(epsilon=0.5, moment=0.3, switching=0.0)
    fitted, state = begin(base, problem, {} if problem.changing else {"features": arms})
    played, paid = [], []
    for number in range(50):
        features = rng.standard_normal((ROWS, ARMS, D)) / 2 if problem.changing else arms
        seen = Observation(features, np.ones((ROWS, ARMS), dtype=bool)) if problem.changing else NOTHING
        own = fitted.act(fitted.policy(state, EVERYONE), seen, rng)
        action = rng.integers(0, ARMS, ROWS) if number % 2 else own
        reward = rng.standard_t(2, ROWS)
        fitted.learn(state, EVERYONE, Feedback(seen, action, reward), rng)
        played.append(features[EVERYONE, action])
        paid.append(reward)
    x, y, found = np.stack(played, axis=1), np.stack(paid, axis=1), fitted.estimate(state, EVERYONE)
    for row in range(ROWS):
        np.testing.assert_allclose(found[row], estimated(fitted, x[row], y[row]), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("garbage", [np.nan, np.inf, 1e308])
def test_tofu_never_looks_at_unavailable_arms(garbage: float) -> None:
    (fitted, state), (_, other) = begin(Tofu(moment=1.0), MASKED), begin(Tofu(moment=1.0), MASKED)
    rng = np.random.default_rng(3)
    for _ in range(30):
        features, reward, mask = rng.standard_normal((ROWS, ARMS, D)), rng.standard_normal(ROWS), np.ones((ROWS, ARMS))
        mask = rng.permuted(mask * (np.arange(ARMS) < 2), axis=1).astype(bool)
        actions = []
        for each, shown in ((state, features), (other, np.where(mask[:, :, None], features, garbage))):
            seen = Observation(shown, mask)
            policy = fitted.policy(each, EVERYONE)
            actions.append(fitted.act(policy, seen, rng))
            assert (fitted.action_probabilities(policy, seen)[EVERYONE, actions[-1]] == 1).all()
            fitted.learn(each, EVERYONE, Feedback(seen, actions[-1], reward), rng)
        assert (actions[0] == actions[1]).all() and mask[EVERYONE, actions[0]].all()
    assert fitted.bound(0.02)(100) == Tofu(moment=1.0).resolve(FIXED).bound(0.02)(100)


def test_menu_plays_its_own_epochs() -> None:
    with pytest.raises(CorralError, match="menu needs every arm at every play; the market masks some"):
        Menu(moment=1.0).resolve(attrs.evolve(FIXED, masked=True))
    assert not Menu.learns_from_others
    shown = {"features": np.random.default_rng(4).standard_normal((ROWS, ARMS, D))}
    fitted, state = begin(Menu(moment=1.0, repeats=3), FIXED, shown)
    policy = fitted.policy(state, EVERYONE)
    assert (fitted.action_probabilities(policy, NOTHING) == (np.arange(ARMS) == policy.arm[:, None])).all()
