from __future__ import annotations

import numpy as np

from corral_core.players.replay import Replay
from corral_core.rows import Array, Rows


class Policy(Rows):
    number: Array


def test_q_is_uniform_on_the_past() -> None:
    """Chi-square over 1..s at s = 50, 200,000 draws: fails by chance with probability 1e-6."""
    replay, learner = Replay(1), np.zeros(1, dtype=np.intp)
    for number in range(50):
        replay.record(learner, Policy(np.array([number])))
    draws = replay.draw(np.zeros(200_000, dtype=np.intp), np.random.default_rng(5)).number
    counts = np.bincount(draws, minlength=50)
    statistic = ((counts - 4000) ** 2 / 4000).sum()
    assert len(counts) == 50
    assert statistic < 111.6  # the 1 - 1e-6 quantile with 49 degrees of freedom


def test_every_state_so_far_and_no_other() -> None:
    """At each s, 40 s draws meet exactly the policies 1..s (each is missed with probability e^-40)."""
    replay, rng = Replay(2), np.random.default_rng(6)
    for s in range(1, 20):
        replay.record(np.array([1]), Policy(np.array([s])))
        drawn = replay.draw(np.ones(40 * s, dtype=np.intp), rng).number
        assert set(drawn.tolist()) == set(range(1, s + 1))


def test_a_rarely_changing_policy_is_stored_once() -> None:
    """Random change points: what serves each play is the last policy begun, and only changes are stored."""
    rng = np.random.default_rng(7)
    learners, replay = np.arange(4), Replay(4)
    served: list[list[int]] = [[] for _ in learners]
    current = np.full(4, -1)
    for play in range(500):
        chosen = learners[rng.random(4) < [1.0, 0.7, 0.3, 0.05]]
        changed = (rng.random(len(chosen)) < 0.03) | (current[chosen] < 0)
        current[chosen[changed]] = play
        policy = Policy(current[chosen[changed]]) if changed.any() else None
        if len(chosen):
            assert replay.record_changed(chosen, changed, policy).number.tolist() == current[chosen].tolist()
        for learner in chosen:
            served[learner].append(int(current[learner]))
    for learner, numbers in enumerate(served):
        plays = np.arange(len(numbers))
        assert replay.get(np.full(len(numbers), learner), plays).number.tolist() == numbers
        assert replay._log.length[learner] == len(set(numbers))


def test_forgetting_leaves_no_past() -> None:
    replay, both = Replay(2), np.array([0, 1])
    for number in range(30):
        replay.record(both, Policy(np.array([number, 100 + number])))
    replay.forget(np.array([0]))
    replay.record(np.array([0]), Policy(np.array([77])))
    rng = np.random.default_rng(8)
    assert set(replay.draw(np.zeros(50, dtype=np.intp), rng).number.tolist()) == {77}
    assert replay.plays.tolist() == [1, 30]


def test_storage_follows_what_was_played() -> None:
    """A hundred thousand learners of which ten play: far less than learners times plays."""
    learners, plays = 100_000, 2000
    replay = Replay(learners)
    empty = replay.nbytes
    busy = np.arange(0, learners, learners // 10)
    for number in range(plays):
        replay.record(busy, Policy(np.full(len(busy), number)))
    assert replay.nbytes - empty < learners * 8 * 8 + 4 * 8 * len(busy) * plays  # a directory, and the entries
    assert replay.nbytes < learners * plays * 8 / 20
