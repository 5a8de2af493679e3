"""What bases of generalised linear models can do besides playing: masks, the plays of others, action probabilities."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from corral_glm import SupCbGlm, UcbGlm

from corral_core import Array, Base, Feedback, Observation, Problem
from corral_core.protocols.problem import NOTHING, action_of
from corral_core.selection.setup import given_rows

ROWS, ARMS, D = 4, 5, 3
MASKED = Problem(arms=ARMS, dimension=D, changing=True, masked=True, noise=0.5, low=0, high=1, horizon=200, delta=0.02)
FIXED = attrs.evolve(MASKED, changing=False, masked=False)
EVERYONE = np.arange(ROWS)
BASES = [UcbGlm(switching=0.2), UcbGlm(link="square", switching=0.2), SupCbGlm(initial=6, scale=0.05)]


def begin(base: Base, problem: Problem, shown: dict[str, Array] | None = None) -> tuple[Any, Any]:
    fitted: Any = base.resolve(problem)
    return fitted, fitted.init(given_rows([fitted], shown or {}, ROWS), np.random.default_rng(1))


def available(rng: np.random.Generator) -> Array:
    mask = rng.random((ROWS, ARMS)) < 0.5
    mask[EVERYONE, rng.integers(0, ARMS, ROWS)] = True
    return mask


@pytest.mark.parametrize("base", BASES, ids=str)
@pytest.mark.parametrize("garbage", [np.nan, np.inf, 1e308])
def test_features_of_unavailable_arms_may_be_anything(base: Base, garbage: float) -> None:
    """Twins that see other features of the unavailable arms play and learn the same, and only available arms."""
    (fitted, state), (_, other) = begin(base, MASKED), begin(base, MASKED)
    rng = np.random.default_rng(2)
    for play in range(30):
        features, mask, reward = rng.standard_normal((ROWS, ARMS, D)) / 2, available(rng), rng.random(ROWS)
        decisions = []
        for each, shown in ((state, features), (other, np.where(mask[:, :, None], features, garbage))):
            seen, coins = Observation(shown, mask), np.random.default_rng(play)
            decisions.append(fitted.act(fitted.policy(each, EVERYONE), seen, coins))
            fitted.learn(each, EVERYONE, Feedback(seen, decisions[-1], reward), coins)
        one, two = map(action_of, decisions)
        assert (one == two).all()
        assert mask[EVERYONE, one].all()
    for name, array in state.to_arrays().items():
        assert np.array_equal(array, other.to_arrays()[name]), name


@pytest.mark.parametrize("problem", [MASKED, FIXED], ids=["masked", "fixed"])
def test_the_plays_of_others_are_fitted_as_its_own(problem: Problem) -> None:
    """theta is the root of sum (y - mu(<x, theta>)) x = lambda theta over all plays, whoever chose them."""
    rng = np.random.default_rng(3)
    arms = rng.standard_normal((ROWS, ARMS, D)) / 2
    fitted, state = begin(UcbGlm(switching=1e-6), problem, {} if problem.changing else {"features": arms})
    played, paid = [], []
    for number in range(40):
        features = rng.standard_normal((ROWS, ARMS, D)) / 2 if problem.changing else arms
        seen = Observation(features, np.ones((ROWS, ARMS), dtype=bool)) if problem.changing else NOTHING
        own = fitted.act(fitted.policy(state, EVERYONE), seen, rng)
        action = rng.integers(0, ARMS, ROWS) if number % 2 else own
        reward = (rng.random(ROWS) < 0.5).astype(float)
        fitted.learn(state, EVERYONE, Feedback(seen, action, reward), rng)
        played.append(features[EVERYONE, action])
        paid.append(reward)
    x, y, theta = np.stack(played, axis=1), np.stack(paid, axis=1), state.estimates.theta[:, 0]
    mean = 1 / (1 + np.exp(-np.einsum("nti,ni->nt", x, theta)))
    np.testing.assert_allclose(np.einsum("nti,nt->ni", x, y - mean), fitted.penalty * theta, atol=1e-6)


def test_levels_do_not_learn_from_others() -> None:
    assert not SupCbGlm.learns_from_others


@pytest.mark.parametrize("problem", [MASKED, FIXED], ids=["masked", "fixed"])
def test_supcb_glm_draws_the_first_plays_uniformly_and_is_certain_later(problem: Problem) -> None:
    rng = np.random.default_rng(4)
    features, mask = rng.standard_normal((ROWS, ARMS, D)) / 2, available(rng)
    fitted, state = begin(BASES[2], problem, {} if problem.changing else {"features": features})
    seen = Observation(features, mask) if problem.masked else NOTHING
    there = mask if problem.masked else np.ones_like(mask)
    for play in range(12):
        policy = fitted.policy(state, EVERYONE)
        found, decision = fitted.action_probabilities(policy, seen), fitted.act(policy, seen, rng)
        if play < 6:
            np.testing.assert_allclose(found, there / there.sum(axis=1, keepdims=True), rtol=1e-15)
        else:
            assert (found[EVERYONE, decision.action] == 1).all() and (found.sum(axis=1) == 1).all()
        fitted.learn(state, EVERYONE, Feedback(seen, decision, rng.random(ROWS)), rng)


def test_bounds_hold_under_masks_as_without() -> None:
    for base in (UcbGlm(), SupCbGlm()):
        masked, unmasked = (base.resolve(each).bound(0.02) for each in (MASKED, FIXED))
        assert masked(100) == unmasked(100)
    assert SupCbGlm(scale=0.99).resolve(MASKED).bound(0.02) is None
