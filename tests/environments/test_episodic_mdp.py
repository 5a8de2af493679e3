"""The two ready-made environments; a tiny MDP plays episodes through selection.

Also tests `environments/bandit.py`.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
import pytest

from corral_core.environments.episodic_mdp import EpisodicMdp
from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.metas.original_corral import OriginalCorral
from corral_core.protocols.base import Base
from corral_core.protocols.parameters import parameter
from corral_core.protocols.problem import Problem
from corral_core.rows import Array, Rows
from corral_core.simulation.simulate import try_out

STAGES = 4


class Chain(Rows):
    row: Array


@attrs.frozen
class Walk(EpisodicMdp):
    """Start at 0; `right` moves on with probability .8 and pays at state 2, `left` ends the episode and pays .1."""

    name = "walk"

    @property
    def problem(self) -> Problem:
        return Problem(
            self.name, arms=2, episodic=True, states=4, stages=STAGES, noise=1.0, low=0.0, high=4.0, horizon=100
        )

    def draw(self, rows, rng):
        return Chain(np.arange(rows))

    def start(self, instance, rng):
        return np.zeros(len(instance), dtype=np.intp)

    def optimal(self) -> Array:
        """Q* by backward induction: (stages + 1, states, actions)."""
        q = np.zeros((STAGES + 1, 4, 2))
        for stage in reversed(range(STAGES)):
            value = q[stage + 1].max(axis=1)
            for state in range(4):
                onward = min(state + 1, 3)
                q[stage, state] = [0.1, (state == 2) + 0.8 * value[onward] + 0.2 * value[state]]
        return q

    def step(self, instance, stage, state, action, rng):
        q = self.optimal()[stage, state]
        gap = q.max(axis=1) - q[np.arange(len(state)), action]
        moves = rng.random(len(state)) < 0.8
        following = np.where(moves, np.minimum(state + 1, 3), state)
        reward = np.where(action == 0, 0.1, (state == 2).astype(float))
        return following, reward, action == 0, gap


class Table(Rows):
    right: Array  # (rows, states): probability of moving on


@attrs.frozen
class Walker(Base):
    """Moves right with a fixed probability; remembers what it was taught."""

    name = "walker"
    episodic = True
    chance: float = parameter(0.5, help="probability of moving right")

    def init(self, given, rng):
        return Table(np.full((len(given), 4), self.chance))

    def policy(self, state, rows):
        return state.take(rows)

    def act(self, policy, observation, rng):
        right = policy.right[np.arange(len(policy)), observation.state]
        return (rng.random(len(policy)) < right).astype(np.intp)

    def learn(self, state, rows, feedback, rng):
        episode = feedback.observation
        assert episode.state.shape[0] == len(rows)
        assert (episode.alive[:, 0]).all()
        assert feedback.reward == pytest.approx((episode.reward * episode.alive).sum(axis=1))
        ended = np.cumsum((episode.action == 0) & episode.alive, axis=1)
        assert (episode.alive[:, 1:] == (ended[:, :-1] == 0)).all()


@pytest.mark.parametrize("preset", ["practice", "paper"])
def test_mean_regret_of_an_episode_is_the_lost_value(preset: str) -> None:
    """V* - V^pi by exact evaluation; 20,000 episodes, 4.5 standard errors: fails by chance in 1e-5."""
    record = try_out(Walk(), [Walker(0.5)], rows=2000, horizon=10, preset=preset)
    value = np.zeros(4)
    for _ in range(STAGES):
        onward = np.minimum(np.arange(4) + 1, 3)
        value = 0.5 * 0.1 + 0.5 * ((np.arange(4) == 2) + 0.8 * value[onward] + 0.2 * value)
    lost = Walk().optimal()[0, 0].max() - value[0]
    total = record.regret[:, -1]
    assert abs(total.mean() - 10 * lost) < 4.5 * total.std(ddof=1) / np.sqrt(2000)
    earned = record.reward[:, -1]
    assert abs(earned.mean() - 10 * value[0]) < 4.5 * earned.std(ddof=1) / np.sqrt(2000)


def test_a_meta_selects_over_episodes() -> None:
    bases = [Walker(1.0), Walker(0.0), Walker(0.5)]
    record = try_out(Walk(), bases, Corral(eta=0.5), rows=20, horizon=600, preset="paper")
    plays = record.plays[:, -1].mean(axis=0)
    assert plays.sum() == 600
    assert plays[0] > 300, "the base that moves right should be played more than the two others together"


def test_episodes_refuse_importance_weighted_feedback() -> None:
    with pytest.raises(CorralError, match="which episodes do not have"):
        try_out(Walk(), [Walker(), Walker(0.1)], OriginalCorral(eta=0.1), rows=2, horizon=4)


def test_a_regret_that_is_no_number_is_named() -> None:
    class Broken(Walk):
        def step(self, instance, stage, state, action, rng):
            following, reward, ends, gap = super().step(instance, stage, state, action, rng)
            return following, reward, ends, gap * np.nan

    with pytest.raises(CorralError, match="a regret that is not a finite number"):
        try_out(Broken(), [Walker()], rows=2, horizon=3)


class Reused(Walk):
    """Returns the same arrays at every step, and never knows its gaps."""

    def step(self, instance, stage, state, action, rng):
        following, reward, ends, _ = super().step(instance, stage, state, action, rng)
        if stage == 0:
            self.buffers[:] = [following, reward, ends]
        for buffer, values in zip(self.buffers, (following, reward, ends), strict=True):
            buffer[:] = values
        return self.buffers[0], self.buffers[1], self.buffers[2], None

    buffers: ClassVar[list[Array]] = []


@pytest.mark.parametrize("rows", [1, 2, 50])
def test_an_episode_stays_where_it_ended(rows: int) -> None:
    """Rows that are over earn nothing more and stay where they are; the longest row says how many steps there are."""
    rng = np.random.default_rng(rows)
    acts = rng.random((rows, STAGES)) < 0.7
    seen = []

    def act(observation):
        seen.append(observation)
        return acts[:, observation.stage[0]].astype(np.intp)

    play = Walk().play(Chain(np.arange(rows)), act, rng)
    told = play.observation
    steps = min(STAGES, int(np.where(acts.all(axis=1), STAGES, acts.argmin(axis=1) + 1).max()))
    assert told.state.shape == told.alive.shape == told.reward.shape == (rows, steps)
    for row in range(rows):
        length = steps if acts[row].all() else min(steps, int(acts[row].argmin()) + 1)
        assert told.alive[row].tolist() == [True] * length + [False] * (steps - length)
        assert (told.reward[row, length:] == 0).all()
        assert (told.state[row, 1:length] == told.next_state[row, : length - 1]).all()
        assert (told.state[row, length - 1 :] == told.state[row, length - 1]).all()
    assert play.reward == pytest.approx(told.reward.sum(axis=1))
    for stage, observation in enumerate(seen):
        assert (observation.stage == stage).all()
        np.testing.assert_array_equal(observation.state, told.state[:, stage])
        np.testing.assert_array_equal(observation.alive, told.alive[:, stage])


def test_an_environment_may_reuse_its_arrays_and_not_know_its_gaps() -> None:
    def act(observation):
        return np.ones(len(observation.state), dtype=np.intp)

    mine, wanted = (world.play(Chain(np.arange(9)), act, np.random.default_rng(1)) for world in (Reused(), Walk()))
    assert mine.regret is None and wanted.regret is not None
    np.testing.assert_array_equal(mine.reward, wanted.reward)
    np.testing.assert_array_equal(mine.observation.state, wanted.observation.state)
    np.testing.assert_array_equal(mine.observation.reward, wanted.observation.reward)
