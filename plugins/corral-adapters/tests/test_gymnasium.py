"""Gymnasium environments compared with a loop written by hand, and when they are refused."""

from __future__ import annotations

import attrs
import gymnasium
import numpy as np
import pytest
from corral_adapters import Gymnasium
from gymnasium.spaces import Box, Discrete

from corral_core import Corral, CorralError, Lifted, try_out

LAKE = Gymnasium("FrozenLake-v1", {"is_slippery": False}, low=0.0, high=1.0)
SLIPPERY = Gymnasium("FrozenLake-v1", {"is_slippery": True}, stages=30, low=0.0, high=1.0)


class QLearner:
    """Tabular Q-learning, greedy; untried actions have the value 1. With a rate of 0 it walks at random."""

    def __init__(self, problem, rate):
        self.values = np.ones((problem.states, problem.arms))
        self.stages, self.rate = problem.stages, rate

    def act(self, context, rng):
        values = self.values[context.state[0]]
        return int(rng.choice(np.flatnonzero(values == values.max())))

    def learn(self, context, action, reward):
        steps = int(context.alive[0].sum())
        following = 0.0 if steps < self.stages else self.values[context.next_state[0, -1]].max()
        for step in reversed(range(steps)):
            state, move = context.state[0, step], action[step]
            target = context.reward[0, step] + 0.9 * following
            self.values[state, move] += self.rate * (target - self.values[state, move])
            following = self.values[state].max()


@attrs.frozen
class QLearning(Lifted):
    name = "my-q-learning"
    episodic = True
    rate: float = 0.5

    def make(self, problem):
        return QLearner(problem, self.rate)


class Offset(gymnasium.Env):
    """Observations 3 to 5 and actions -1 to 1: an action is a step to the side, and 5 ends it."""

    observation_space = Discrete(3, start=3)
    action_space = Discrete(3, start=-1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.done = 3, False
        return self.at, {}

    def step(self, action):
        assert not self.done, "stepped after the end"
        assert action in (-1, 0, 1)
        self.at = min(max(self.at + action, 3), 5)
        self.done = self.at == 5
        return self.at, float(self.at), self.done, False, {}


class Continuous(Offset):
    observation_space = Box(0, 1)


class ManyActions(Offset):
    action_space = Box(0, 1)


@pytest.fixture(autouse=True)
def _registered():
    """Environments of this module, by name."""
    made = {"Offset-v0": Offset, "Continuous-v0": Continuous, "ManyActions-v0": ManyActions}
    for name, env in made.items():
        gymnasium.register(name, entry_point=env)
    yield
    for name in made:
        del gymnasium.registry[name]


def test_what_it_publishes() -> None:
    problem = LAKE.problem
    assert (problem.states, problem.arms, problem.stages, problem.regret) == (16, 4, 100, False)
    assert problem.episodic and problem.range == (0.0, 1.0)
    assert SLIPPERY.problem.stages == 30
    assert attrs.evolve(LAKE, stages=500).problem.stages == 500  # more than its own 100


@pytest.mark.usefixtures("untouched")
def test_it_plays_as_a_loop_by_hand() -> None:
    """Five rows of 40 episodes on the ice: states, rewards and ends of a bare environment with the same seeds."""
    rng, seeds, moves = np.random.default_rng(1), np.random.default_rng(1), np.random.default_rng(2)
    instance = SLIPPERY.draw(5, rng)
    bare = [gymnasium.make("FrozenLake-v1", is_slippery=True, max_episode_steps=30) for _ in range(5)]
    for _ in range(40):
        chosen = moves.integers(4, size=(5, 30))
        play = SLIPPERY.play(instance, lambda seen, chosen=chosen: chosen[:, seen.stage[0]], rng)
        drawn = seeds.integers(2**31, size=5)
        for row, env in enumerate(bare):
            state, total, over = env.reset(seed=int(drawn[row]))[0], 0.0, False
            for step in range(play.observation.state.shape[1]):
                assert play.observation.alive[row, step] == (not over)
                if over:
                    continue
                assert play.observation.state[row, step] == state
                state, reward, terminated, truncated, _ = env.step(int(chosen[row, step]))
                over, total = terminated or truncated, total + reward
                assert play.observation.next_state[row, step] == state
            assert over
            assert play.reward[row] == total
        assert play.regret is None


def test_an_episode_ends_after_its_stages_at_the_latest() -> None:
    """Against the wall until it is truncated."""
    lake = attrs.evolve(LAKE, stages=7)
    rng = np.random.default_rng(3)
    play = lake.play(lake.draw(2, rng), lambda seen: np.zeros(2, dtype=int), rng)
    assert play.observation.alive.shape == (2, 7)
    assert play.observation.alive.all()
    assert (play.reward == 0).all()


def test_spaces_that_do_not_start_at_zero_and_rows_that_end_early() -> None:
    """A row goes right at once and is not stepped again; the other stays where it is."""
    offset = Gymnasium("Offset-v0", stages=4, low=0.0, high=20.0)
    assert (offset.problem.states, offset.problem.arms) == (3, 3)
    rng = np.random.default_rng(4)
    play = offset.play(offset.draw(2, rng), lambda seen: np.array([2, 1]), rng)
    assert play.observation.state.tolist() == [[0, 1, 1, 1], [0, 0, 0, 0]]
    assert play.observation.next_state[:, :2].tolist() == [[1, 2], [0, 0]]
    assert play.observation.alive.tolist() == [[True, True, False, False], [True] * 4]
    assert play.reward.tolist() == [4.0 + 5.0, 4 * 3.0]


def test_a_q_learner_reaches_the_goal() -> None:
    """Optimism tries every path of the lake, and after 300 of 400 episodes it is at the goal every time."""
    record = try_out(LAKE, QLearning(), rows=3, horizon=400)
    assert record.regret is None
    assert (record.reward[:, -1] - record.reward[:, 149] == 100).all()


def test_selection_among_smoothed_q_learners() -> None:
    """The one that learns is told from the one that walks at random, which is at the goal once in seventy episodes.

    With other seeds no row earned less than 300; a walk at random would earn about 11.
    """
    bases = [QLearning(rate=0.0), QLearning()]
    lake = attrs.evolve(LAKE, stages=30)
    record = try_out(lake, bases, Corral(eta=0.1), rows=4, horizon=800, preset="paper")
    assert (record.reward[:, -1] > 200).all()
    assert record.plays[:, -1, 1].mean() > 2 * record.plays[:, -1, 0].mean()


def test_same_seed_same_plays() -> None:
    one, other = (try_out(SLIPPERY, QLearning(), rows=4, horizon=40, seed=9) for _ in range(2))
    assert (one.reward == other.reward).all()


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (Gymnasium("Continuous-v0", stages=5), "needs finitely many observations; those of Continuous-v0 are a Box"),
        (Gymnasium("ManyActions-v0", stages=5), "needs finitely many actions; those of ManyActions-v0 are a Box"),
        (Gymnasium("Offset-v0"), "an episode of Offset-v0 may never end; set stages"),
        (Gymnasium("FrozenLak-v1"), "gymnasium: FrozenLak-v1 cannot be made: .*FrozenLake"),
        (Gymnasium("Nowhere-v1"), "gymnasium: Nowhere-v1 cannot be made"),
        (Gymnasium("FrozenLake-v1", {"is_slipery": 1}), "FrozenLake-v1 cannot be made: .*is_slipery"),
    ],
)
def test_refusals(environment, said) -> None:
    with pytest.raises(CorralError, match=said):
        environment.problem  # noqa: B018


def test_a_meta_needs_the_range_of_the_return() -> None:
    nowhere = Gymnasium("FrozenLake-v1")
    with pytest.raises(CorralError, match="gymnasium has no known range of the mean reward; set its low and high"):
        try_out(nowhere, [QLearning(), QLearning(rate=0.0)], Corral(), rows=1, horizon=5)
    with pytest.raises(CorralError, match=r"low must be less than high, not 1\.0 and 0\.0"):
        attrs.evolve(nowhere, low=1.0, high=0.0)


@pytest.mark.usefixtures("nothing_installed")
def test_without_the_library() -> None:
    lake = Gymnasium("FrozenLake-v1")
    with pytest.raises(CorralError, match=r'^gymnasium is not installed: pip install "corral-adapters\[gymnasium\]"$'):
        lake.problem  # noqa: B018
