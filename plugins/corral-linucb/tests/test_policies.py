"""Policies of linear bases: rare switching, exact replay, restarts, kin."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from corral_linucb import DisjointLinUcb, LinearArms, LinUcb, MisspecifiedLinUcb, NestedDimension, QuadraticLinUcb

from corral_core import PRESETS, Feedback, Observation, Problem, Selection, Uniform, smooth
from corral_core.protocols.parameters import kin
from corral_core.protocols.problem import NOTHING
from corral_core.selection import selection
from corral_core.selection.setup import given_rows

ROWS, ARMS, D = 3, 6, 5
CHANGING = Problem(arms=ARMS, dimension=D, changing=True, masked=True, noise=0.4, low=-1, high=1, delta=0.02)
FIXED = attrs.evolve(CHANGING, changing=False, masked=False)

REPLAYED = [
    (LinUcb(), FIXED),
    (LinUcb(), CHANGING),
    (LinUcb(switching=0.5), FIXED),
    (LinUcb(switching=0.5), CHANGING),
    (MisspecifiedLinUcb(epsilon=0.3, switching=0.1), CHANGING),
    (DisjointLinUcb(switching=0.2), CHANGING),
    (QuadraticLinUcb(dimension=2), CHANGING),
    (LinUcb(switching=0.5), Problem(actions="ball", dimension=D, noise=0.4, delta=0.02)),
    (LinUcb(), Problem(actions="ellipsoid", dimension=D, changing=True, noise=0.4, delta=0.02)),
]


@pytest.mark.parametrize(
    ("base", "problem"), REPLAYED, ids=lambda value: getattr(value, "name", value.__class__.__name__)
)
def test_snapshots_replay_exactly(base, problem: Problem) -> None:
    """Whatever is learned later, the policy of play q plays what it played on the same observation; radius and all."""
    base = base.resolve(problem)
    rng, rows = np.random.default_rng(5), np.arange(ROWS)
    features = rng.standard_normal((ROWS, ARMS, D)) / 2
    shown = {} if problem.changing or problem.actions == "ball" else {"features": features}
    player = smooth(base).start(given_rows([base], shown, ROWS), rng)
    seen, played, radii = [], [], []
    for _ in range(300):
        observation = NOTHING
        if problem.changing:
            drawn = rng.standard_normal((ROWS, ARMS, D)) / 2 if problem.actions == "finite" else rng.random((ROWS, D))
            observation = Observation(drawn)
        policy = player.next_policy(0, rows, rng)
        action = player.act(policy, observation, rng)
        seen.append(observation)
        played.append(action.copy())
        radii.append(getattr(policy, "radius", np.zeros(ROWS)).copy())
        player.learn(0, rows, Feedback(observation, action, rng.standard_normal(ROWS)), rng)
    for play in range(300):
        policy = player.replay.get(rows, np.full(ROWS, play))
        assert np.array_equal(player.act(policy, seen[play], rng), played[play])
        assert np.array_equal(getattr(policy, "radius", np.zeros(ROWS)), radii[play])
    if problem.changing:
        assert (radii[-1] > radii[0]).all(), "a radius that never grew would prove nothing"


def test_rare_switching_holds_each_policy_once_and_few_of_them() -> None:
    """The determinant bounds the switches; play q's policy is the last that came into force at or before q."""
    base = LinUcb(switching=0.5).resolve(CHANGING)
    rng, rows = np.random.default_rng(6), np.arange(ROWS)
    player = smooth(base).start(given_rows([base], {}, ROWS), rng)
    for _ in range(1000):
        features = rng.standard_normal((ROWS, ARMS, D))
        features /= np.linalg.norm(features, axis=2, keepdims=True)
        observation = Observation(features)
        action = player.act(player.next_policy(0, rows, rng), observation, rng)
        player.learn(0, rows, Feedback(observation, action, rng.standard_normal(ROWS)), rng)
    held = player.replay._log.length
    assert (held <= base.max_policies(1000)).all()
    assert base.max_policies(1000) == 1 + math.ceil(D * math.log1p(1000 / D) / math.log(1.5)) < 100
    assert (held > 10).all()
    assert (player.replay.plays == 1000).all()


def test_a_switch_is_not_missed_when_answers_come_late() -> None:
    """Three plays are learned between two questions: the second changes the policy, the third does not."""
    base = LinUcb(switching=1.0, dimension=1).resolve(FIXED)
    rng, row = np.random.default_rng(7), np.arange(1)
    state = base.init(given_rows([base], {"features": np.ones((1, ARMS, D))}, 1), rng)
    base.policy(state, row)
    assert not base.changed(state, row).any()
    for _ in range(3):  # det V from 1 to 2, which is not more than twice; to 3; and to 4
        base.learn(state, row, Feedback(NOTHING, np.zeros(1, dtype=int), np.ones(1)), rng)
    assert base.changed(state, row).all()
    base.policy(state, row)
    assert not base.changed(state, row).any()


@pytest.mark.parametrize(
    ("base", "problem"), REPLAYED, ids=lambda value: getattr(value, "name", value.__class__.__name__)
)
def test_rows_are_as_if_alone_and_restarts_as_if_new(base, problem: Problem) -> None:
    """Four learners, of which the second starts again after 90 plays, against each alone and a fresh one."""
    base = base.resolve(problem)
    rng, rows = np.random.default_rng(15), np.arange(4)
    features = rng.standard_normal((4, ARMS, D)) / 2
    shown = {} if problem.changing or problem.actions == "ball" else {"features": features}
    together = smooth(base).start(given_rows([base], shown, 4), rng)

    def alone(row: int):
        mine = {name: array[row : row + 1] for name, array in shown.items()}
        return smooth(base).start(given_rows([base], mine, 1), rng)

    each = [alone(row) for row in rows]
    for play in range(180):
        if play == 90:
            together.restart(np.array([1]), rng)
            each[1] = alone(1)
        observation = NOTHING
        if problem.changing:
            drawn = rng.standard_normal((4, ARMS, D)) / 2 if problem.actions == "finite" else rng.random((4, D))
            observation = Observation(drawn)
        action = together.act(together.next_policy(0, rows, rng), observation, rng)
        reward = rng.standard_normal(4)
        for row, player in enumerate(each):
            seen = observation.take(np.array([row]))
            mine = player.act(player.next_policy(0, np.array([0]), rng), seen, rng)
            assert mine[0] == pytest.approx(action[row], abs=1e-9)
            player.learn(0, np.array([0]), Feedback(seen, action[row : row + 1], reward[row : row + 1]), rng)
        together.learn(0, rows, Feedback(observation, action, reward), rng)


def test_kin() -> None:
    """Bases that differ in epsilon, radius scale or delta advance together; those of other dimensions do not."""
    one = MisspecifiedLinUcb().resolve(CHANGING)
    assert all(kin(one, attrs.evolve(one, **change)) for change in ({"epsilon": 0.5}, {"scale": 0.1}, {"delta": 0.3}))
    assert not kin(one, attrs.evolve(one, dimension=2))
    assert not kin(one, LinUcb().resolve(CHANGING))


@pytest.mark.parametrize("switching", [0.0, 0.5])
@pytest.mark.parametrize("environment", [LinearArms(arms=8), NestedDimension(dimension=8, relevant=4, available=0.7)])
def test_kin_blocks_play_as_separate_bases(environment, switching: float, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = attrs.evolve(environment.problem, horizon=400, delta=0.01)
    changes = [{}, {"epsilon": 0.3}, {"scale": 0.1}, {"delta": 0.5}, {"epsilon": 1.0, "scale": 2.0}]
    bases = [MisspecifiedLinUcb(switching=switching, **change).resolve(problem) for change in changes]

    def plays() -> list[np.ndarray]:
        instance = environment.draw(4, np.random.default_rng(8))
        rng, luck = np.random.default_rng(9), np.random.default_rng(10)
        shown = environment.shown(instance)
        select = Selection(
            bases, Uniform(), problem, rows=4, rounds=400, rng=rng, options=PRESETS["practice"], shown=shown
        )
        actions = []
        for _ in range(400):
            asked: dict[str, object] = {}

            def act(observation, asked=asked):
                action, asked["ticket"] = select.ask(observation)
                return action

            play = environment.play(instance, act, luck)
            select.tell(asked["ticket"], play.reward)
            actions.append(np.stack([play.action, asked["ticket"].chosen]))
        return actions

    together = plays()
    monkeypatch.setattr(selection, "group_kin", lambda bases: [np.array([number]) for number in range(len(bases))])
    assert np.array_equal(together, plays())
    assert {len(np.unique(each)) > 1 for each in np.swapaxes(together, 0, 1)} == {True}
