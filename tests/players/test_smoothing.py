"""Smoothing, measured: step 2 at state s earns what step 1 earned on average over states 1..s.

Also tests `players/plain.py` and `bases/policies.py`.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from corral_mab import BernoulliArms, EpsilonGreedy, Exp3, Rate, Ucb

from corral_core.players.boosting import boosted
from corral_core.players.plain import plain
from corral_core.players.smoothing import Smooth, smooth
from corral_core.protocols.base import Base
from corral_core.protocols.problem import NOTHING, Feedback
from corral_core.rows import Array, Rows
from corral_core.selection.setup import given_rows

MEANS = (0.7, 0.4)
ENVIRONMENT = BernoulliArms(means=MEANS)
PROBLEM = attrs.evolve(ENVIRONMENT.problem, horizon=400, delta=0.01)
GAP = MEANS[0] - MEANS[1]


def smoothed_regrets(base: Base, rows: int, states: int) -> tuple[Array, Array]:
    """(states, rows): the pseudo-regret of step 1 and of step 2 at each state, for a base alone."""
    rng, luck = np.random.default_rng(11), np.random.default_rng(12)
    player = smooth(base.resolve(PROBLEM)).start(given_rows([base], {}, rows), rng)
    instance, everyone = ENVIRONMENT.draw(rows, luck), np.arange(rows)
    regrets = np.zeros((2, states, rows))
    for state in range(states):
        for step in range(2):
            policy = player.next_policy(step, everyone, rng)
            decision = player.act(policy, NOTHING, rng)
            action = decision if isinstance(decision, np.ndarray) else decision.action
            reward, regrets[step, state] = ENVIRONMENT.pay(instance, NOTHING, action, luck)
            player.learn(step, everyone, Feedback(NOTHING, decision, reward), rng)
    return regrets[0], regrets[1]


@pytest.mark.parametrize("base", [Rate(c=3.0, alpha=0.5, gap=GAP), Ucb(), EpsilonGreedy(c=5.0)], ids=lambda b: b.name)
def test_step_two_earns_the_running_mean_of_step_one(base: Base) -> None:
    """Difference of means within 4.5 standard errors at each of six states, three bases: fails by chance in 1e-4."""
    first, second = smoothed_regrets(base, rows=20_000, states=200)
    for state in (1, 3, 10, 40, 100, 200):
        running = first[:state].mean(axis=0)
        difference = second[state - 1] - running
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        assert abs(difference.mean()) <= 4.5 * error + 1e-12, f"state {state}"


def test_the_rate_base_errs_exactly_as_it_says() -> None:
    """Step 1 at state s plays the bad arm with probability min(1, c alpha s^(alpha-1)); five states, 4.5 standard
    errors each: fails by chance in 4e-5."""
    first, _ = smoothed_regrets(Rate(c=3.0, alpha=0.5, gap=GAP), rows=20_000, states=100)
    for state in (1, 2, 5, 20, 100):
        chance = min(1.0, 1.5 * state**-0.5)
        error = np.sqrt(chance * (1 - chance) / 20_000)
        assert abs((first[state - 1] > 0).mean() - chance) <= 4.5 * error


def test_random_policies_are_drawn_anew_on_replay() -> None:
    """A replayed coin is tossed again: step 2 at state 1 repeats step 1's arm in half the rows, not in all of them."""
    first, second = smoothed_regrets(Rate(c=1.0, alpha=0.5, gap=GAP), rows=20_000, states=1)
    same = ((first[0] > 0) == (second[0] > 0)).mean()
    assert abs(same - 0.5) < 4.5 * np.sqrt(0.25 / 20_000)  # fails by chance in 1e-5


def test_a_replayed_policy_is_the_one_that_was_played() -> None:
    """Whatever learning does to the state afterwards, play q's policy stays as it was, bit for bit."""
    rng = np.random.default_rng(13)
    base, rows = Exp3().resolve(PROBLEM), np.arange(5)
    player = Smooth(base, given_rows([base], {}, 5), rng)
    seen = []
    for _ in range(60):
        policy = player.next_policy(0, rows, rng)
        seen.append(policy.probability.copy())
        decision = player.act(policy, NOTHING, rng)
        player.learn(0, rows, Feedback(NOTHING, decision, rng.random(5)), rng)
        player.state.loss += rng.random((5, 2))
    for play, probability in enumerate(seen):
        assert (player.replay.get(rows, np.full(5, play)).probability == probability).all()


def test_step_two_never_learns() -> None:
    rng = np.random.default_rng(14)
    base, rows = Ucb().resolve(PROBLEM), np.arange(3)
    player = smooth(base).start(given_rows([base], {}, 3), rng)
    policy = player.next_policy(0, rows, rng)
    player.learn(0, rows, Feedback(NOTHING, player.act(policy, NOTHING, rng), np.ones(3)), rng)
    before = {name: array.copy() for name, array in player.state.to_arrays().items()}
    policy = player.next_policy(1, rows, rng)
    player.learn(1, rows, Feedback(NOTHING, player.act(policy, NOTHING, rng), np.ones(3)), rng)
    assert all((before[name] == array).all() for name, array in player.state.to_arrays().items())
    assert player.plays.tolist() == [1, 1, 1]


def test_boosted_copies_learn_apart() -> None:
    rng = np.random.default_rng(15)
    base, rows = EpsilonGreedy(c=1.0).resolve(PROBLEM), np.arange(2)
    player = boosted(base, 3).start(given_rows([base], {}, 2), rng)
    assert player.steps == 3
    assert sum(player.weights) == pytest.approx(1)
    for step in range(3):
        decision = player.act(player.next_policy(step, rows, rng), NOTHING, rng)
        player.learn(step, rows, Feedback(NOTHING, decision, np.full(2, float(step))), rng)
    pulled = np.where(player.state.means.pulls > 0, player.state.means.mean, 0).sum(axis=1)
    assert pulled.tolist() == [0, 1, 2, 0, 1, 2]
    assert player.plays.tolist() == [1, 1]


def test_restart_is_fresh() -> None:
    rng = np.random.default_rng(16)
    base, rows = Ucb().resolve(PROBLEM), np.arange(4)
    for played in (plain(base), smooth(base), boosted(base, 2)):
        player = played.start(given_rows([base], {}, 4), rng)
        fresh = {name: array.copy() for name, array in player.state.to_arrays().items()}
        for _ in range(5):
            for step in range(player.steps):
                decision = player.act(player.next_policy(step, rows, rng), NOTHING, rng)
                player.learn(step, rows, Feedback(NOTHING, decision, np.ones(4)), rng)
        player.restart(np.array([1, 2]), rng)
        for name, array in player.state.to_arrays().items():
            copies = len(array) // 4
            assert (array[copies : 3 * copies] == fresh[name][copies : 3 * copies]).all()
        assert player.plays.tolist() == [5, 0, 0, 5]


class Count(Rows):
    played: Array


class Number(Rows):
    number: Array


@attrs.frozen
class Lazy(Base):
    """Changes its policy every tenth state, and says so."""

    name = "lazy"
    rarely_changes = True

    def init(self, given, rng):
        return Count(np.zeros(len(given), dtype=np.int64))

    def policy(self, state, rows):
        assert (state.played[rows] % 10 == 0).all(), "asked for a policy that has not changed"
        return Number(state.played[rows])

    def changed(self, state, rows):
        return state.played[rows] % 10 == 0

    def act(self, policy, observation, rng):
        return policy.number

    def learn(self, state, rows, feedback, rng):
        state.played[rows] += 1


def test_a_plain_player_too_asks_only_for_policies_that_changed() -> None:
    rng, rows = np.random.default_rng(18), np.arange(6)
    player = plain(Lazy()).start(given_rows([Lazy()], {}, 6), rng)
    for state in range(35):
        some = rows if state % 2 else rows[::2]
        policy = player.next_policy(0, some, rng)
        assert policy.number.tolist() == (player.state.played[some] // 10 * 10).tolist()
        player.learn(0, some, Feedback(NOTHING, policy.number, np.zeros(len(some))), rng)
    player.restart(rows[:2], rng)
    assert player.next_policy(0, rows[:2], rng).number.tolist() == [0, 0]


def test_nothing_is_computed_or_stored_while_a_policy_does_not_change() -> None:
    rng, rows = np.random.default_rng(17), np.arange(6)
    player = smooth(Lazy()).start(given_rows([Lazy()], {}, 6), rng)
    for state in range(35):
        some = rows if state % 2 else rows[::2]
        policy = player.next_policy(0, some, rng)
        assert policy.number.tolist() == (player.state.played[some] // 10 * 10).tolist()
        player.learn(0, some, Feedback(NOTHING, policy.number, np.zeros(len(some))), rng)
    assert player.replay._log.length.tolist() == [4, 2, 4, 2, 4, 2]
    for play in range(17):
        assert player.replay.get(rows, np.full(6, play)).number.tolist() == [play // 10 * 10] * 6
