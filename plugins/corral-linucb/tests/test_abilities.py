"""What linear bases can do besides playing: masks, the plays of others, renewed arms, action probabilities, bounds."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from corral_kit.linear.packing import unpacked
from corral_linucb import DisjointLinUcb, GOptimal, LinUcb, MisspecifiedLinUcb, ModCb, QuadraticLinUcb, SupLinUcb

from corral_core import Array, Base, CorralError, Feedback, Observation, Problem
from corral_core.protocols.problem import NOTHING, action_of
from corral_core.selection.setup import given_rows

ROWS, ARMS, D = 4, 5, 3
FIXED = Problem("the shop", arms=ARMS, dimension=D, noise=0.4, low=-1, high=1, horizon=100, delta=0.02)
CHANGING = attrs.evolve(FIXED, changing=True)
MASKED = attrs.evolve(CHANGING, masked=True)
EVERYONE = np.arange(ROWS)
BASES = [
    LinUcb(),
    LinUcb(dimension=2, switching=0.5),
    MisspecifiedLinUcb(epsilon=0.2),
    QuadraticLinUcb(linear=True),
    DisjointLinUcb(),
    DisjointLinUcb(switching=0.5),
    SupLinUcb(),
    ModCb(),
]


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
    for play in range(40):
        features, mask, reward = rng.standard_normal((ROWS, ARMS, D)) / 2, available(rng), rng.standard_normal(ROWS)
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


@pytest.mark.parametrize("base", [LinUcb(), LinUcb(switching=0.5), DisjointLinUcb(), DisjointLinUcb(switching=0.5)])
def test_an_old_policy_plays_the_best_of_any_subset(base: Any) -> None:
    """Under every one of the 31 masks, compared with a loop over the available arms."""
    fitted, state = begin(base, MASKED)
    rng, kept = np.random.default_rng(3), []
    for _ in range(30):
        features, mask = rng.standard_normal((ROWS, ARMS, D)) / 2, available(rng)
        policy = fitted.policy(state, EVERYONE)
        kept.append((policy, features))
        action = fitted.act(policy, Observation(features, mask), rng)
        fitted.learn(state, EVERYONE, Feedback(Observation(features, mask), action, rng.standard_normal(ROWS)), rng)
    for policy, features in kept[::7]:
        inverse, disjoint = unpacked(policy.inverse), policy.theta.ndim == 3
        for subset in range(1, 2**ARMS):
            mask = np.broadcast_to((subset >> np.arange(ARMS)) & 1 == 1, (ROWS, ARMS))
            action = fitted.act(policy, Observation(features, mask.copy()), rng)
            for row in range(ROWS):
                index = {}
                for arm in np.flatnonzero(mask[row]):
                    at, x = (row, arm) if disjoint else (row,), features[row, arm]
                    index[arm] = x @ policy.theta[at] + policy.radius[at] * np.sqrt(x @ inverse[at] @ x)
                assert index[action[row]] >= max(index.values()) - 1e-5


def lessons(rng: np.random.Generator, plays: int) -> list[Feedback]:
    """Plays that another base chose, with bare actions."""
    return [
        Feedback(
            Observation(rng.standard_normal((ROWS, ARMS, D)) / 2, np.ones((ROWS, ARMS), dtype=bool)),
            rng.integers(0, ARMS, ROWS),
            rng.standard_normal(ROWS),
        )
        for _ in range(plays)
    ]


def test_the_plays_of_others_are_part_of_the_regression() -> None:
    """Own plays and others', in any order: theta solves the normal equations of all of them."""
    fitted, state = begin(LinUcb(), MASKED)
    rng = np.random.default_rng(4)
    gram, response = np.tile(np.eye(D), (ROWS, 1, 1)), np.zeros((ROWS, D))
    for number, lesson in enumerate(lessons(rng, 60)):
        told = lesson
        if number % 3 == 0:
            told = lesson.replace(decision=fitted.act(fitted.policy(state, EVERYONE), lesson.observation, rng))
        fitted.learn(state, EVERYONE, told, rng)
        x = told.observation.features[EVERYONE, told.action]
        gram += x[:, :, None] * x[:, None, :]
        response += x * told.reward[:, None]
    assert (state.ridge.plays == 60).all()
    np.testing.assert_allclose(state.ridge.theta, np.linalg.solve(gram, response[:, :, None])[:, :, 0], rtol=1e-9)


@pytest.mark.parametrize("base", [SupLinUcb(), ModCb(), GOptimal()], ids=str)
def test_bases_that_need_their_own_plays_do_not_share(base: Base) -> None:
    assert not base.learns_from_others


@pytest.mark.parametrize("switching", [0.0, 0.5])
@pytest.mark.parametrize("problem", [MASKED, CHANGING, FIXED], ids=["masked", "changing", "fixed"])
def test_a_renewed_arm_was_never_played(switching: float, problem: Problem) -> None:
    """The twin skips the plays of the arms that are renewed later; without switching its policy is the same too."""
    rng = np.random.default_rng(5)
    shown = {"features": rng.standard_normal((ROWS, ARMS, D)) / 2}
    given = {} if problem.changing else shown
    fitted, state = begin(DisjointLinUcb(switching=switching), attrs.evolve(problem, renewable=True), given)
    twin, other = begin(DisjointLinUcb(), problem, given)
    gone = np.array([[0, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=bool)
    rows = np.array([3, 0, 2])
    every = np.zeros((ROWS, ARMS), dtype=bool)
    every[rows] = gone
    for lesson in lessons(rng, 70):
        fitted.learn(state, EVERYONE, lesson, rng)
        stays = np.flatnonzero(~every[EVERYONE, lesson.action])
        twin.learn(other, stays, lesson.take(stays), rng)
    fitted.policy(state, EVERYONE)
    fitted.renew(state, rows, gone)
    for name, array in state.ridge.to_arrays().items():
        assert np.array_equal(array, other.ridge.to_arrays()[name]), name
    if switching:
        assert fitted.changed(state, rows).all()
        assert not fitted.changed(state, np.array([1])).any()
    those = rows[gone.any(axis=1)]
    found, wanted = fitted.policy(state, those).to_arrays(), twin.policy(other, those).to_arrays()
    assert all(np.array_equal(array, wanted[name]) for name, array in found.items())


def test_what_all_arms_share_cannot_be_forgotten() -> None:
    renewable = attrs.evolve(MASKED, renewable=True)
    with pytest.raises(CorralError, match="linucb cannot forget an arm; the shop replaces arms by new ones"):
        LinUcb().resolve(renewable)
    DisjointLinUcb().resolve(renewable)


@pytest.mark.parametrize("base", [*BASES[:7], GOptimal()], ids=str)
@pytest.mark.parametrize("problem", [MASKED, FIXED], ids=["masked", "fixed"])
def test_bases_that_draw_nothing_are_certain(base: Base, problem: Problem) -> None:
    if isinstance(base, GOptimal) and problem.masked:
        with pytest.raises(CorralError, match="g-optimal needs every arm at every play; the shop masks some"):
            base.resolve(problem)
        return
    rng = np.random.default_rng(6)
    features = rng.standard_normal((ROWS, ARMS, D)) / 2
    fitted, state = begin(base, problem, {} if problem.masked else {"features": features})
    seen = Observation(features, available(rng)) if problem.masked else NOTHING
    for _ in range(9):
        policy = fitted.policy(state, EVERYONE)
        decision = fitted.act(policy, seen, rng)
        found = fitted.action_probabilities(policy, seen)
        assert found.shape == (ROWS, ARMS)
        assert (found.argmax(axis=1) == action_of(decision)).all()
        assert (np.sort(found, axis=1)[:, -2:] == [0.0, 1.0]).all()
        fitted.learn(state, EVERYONE, Feedback(seen, decision, rng.standard_normal(ROWS)), rng)


def test_infinitely_many_actions_have_no_probabilities() -> None:
    fitted, state = begin(LinUcb(), Problem(actions="ball", dimension=D, noise=0.4, delta=0.02))
    assert fitted.action_probabilities(fitted.policy(state, EVERYONE), NOTHING) is None


def test_the_number_of_arms_is_read_from_what_is_seen() -> None:
    fitted, state = begin(LinUcb(), Problem(dimension=D, changing=True, noise=0.4, delta=0.02))
    policy = fitted.policy(state, EVERYONE)
    for arms in (2, 7):
        seen = Observation(np.random.default_rng(7).standard_normal((ROWS, arms, D)))
        assert fitted.action_probabilities(policy, seen).shape == (ROWS, arms)


@pytest.mark.parametrize("problem", [MASKED, FIXED], ids=["masked", "fixed"])
def test_modcb_explores_with_the_probability_it_states(problem: Problem) -> None:
    """After s - 1 plays: min(1, (K/s)^(1/3)) over the available arms, and the rest on LinUCB's arm."""
    rng = np.random.default_rng(8)
    features, mask = rng.standard_normal((ROWS, ARMS, D)) / 2, available(rng)
    fitted, state = begin(ModCb(), problem, {} if problem.masked else {"features": features})
    seen = Observation(features, mask) if problem.masked else NOTHING
    for _ in range(40):
        decision = fitted.act(fitted.policy(state, EVERYONE), seen, rng)
        fitted.learn(state, EVERYONE, Feedback(seen, decision, rng.standard_normal(ROWS)), rng)
    policy = fitted.policy(state, EVERYONE)
    found = fitted.action_probabilities(policy, seen)
    best = fitted.act(policy.replace(exploration=np.zeros(ROWS)), seen, rng).action
    there = mask if problem.masked else np.ones_like(mask)
    explores = (ARMS / 41) ** (1 / 3)
    for row in range(ROWS):
        for arm in range(ARMS):
            wanted = explores * there[row, arm] / there[row].sum() + (1 - explores) * (arm == best[row])
            assert found[row, arm] == pytest.approx(wanted, abs=1e-7)  # the chance is in single precision


@pytest.mark.parametrize("kind", [LinUcb, MisspecifiedLinUcb, QuadraticLinUcb, DisjointLinUcb, SupLinUcb, GOptimal])
def test_bounds_need_the_width_of_the_theorem_and_not_all_arms(kind: Any) -> None:
    assert kind(scale=0.99).resolve(FIXED).bound(0.02) is None
    bound = kind(scale=1.0).resolve(FIXED).bound(0.02)
    assert kind(scale=1.5).resolve(FIXED).bound(0.02)(100) > bound(100)
    if kind is not GOptimal:
        assert kind().resolve(MASKED).bound(0.02)(100) == bound(100)
