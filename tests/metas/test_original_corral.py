"""What bases learn, by the meta's feedback: importance-weighted, shared, and of boosted copies.

Also tests `players/boosting.py`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from corral_mab import EpsilonGreedy, Exp3Ix, GaussianArms, UniformPlay
from numpy.random import Generator

from corral_core.errors import CorralError
from corral_core.metas.original_corral import OriginalCorral
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta, MetaProblem, Verdict
from corral_core.protocols.parameters import knob
from corral_core.protocols.problem import NOTHING, Feedback, Observation, Problem
from corral_core.rows import Array, Rows
from corral_core.selection.options import PRESETS, Options, switched_off
from corral_core.selection.selection import Selection
from corral_core.simulation.simulate import try_out

PROBLEM = Problem(arms=10, noise=0.5, low=0.0, high=2.0, horizon=100, delta=0.01)
LENGTH = 60


class Memory(Rows):
    arm: Array
    count: Array
    actions: Array  # (rows, LENGTH): what it learned, in order
    rewards: Array


class Arm(Rows):
    arm: Array


@attrs.frozen
class Recorder(Base):
    """Always plays its arm, and remembers all it is taught."""

    name: ClassVar[str] = "recorder"
    learns_from_others: ClassVar[bool] = True

    arm: int = knob(0, help="the arm it plays")

    def init(self, given: Any, rng: Generator) -> Memory:
        rows = len(given)
        empty = np.full((rows, LENGTH), np.nan)
        return Memory(np.asarray(given.arm), np.zeros(rows, dtype=int), empty, empty.copy())

    def policy(self, state: Memory, rows: Array) -> Arm:
        return Arm(state.arm.take(rows))

    def act(self, policy: Arm, observation: Observation, rng: Generator) -> Array:
        return policy.arm

    def learn(self, state: Memory, rows: Array, feedback: Feedback, rng: Generator) -> None:
        state.actions[rows, state.count[rows]] = feedback.action
        state.rewards[rows, state.count[rows]] = feedback.reward
        state.count[rows] += 1


@attrs.frozen
class Stranger(Recorder):
    """No kin of the recorder: a block of its own."""

    name: ClassVar[str] = "stranger"


@attrs.frozen
class Loner(Recorder):
    name: ClassVar[str] = "loner"
    learns_from_others: ClassVar[bool] = False


BASES = [Recorder(arm=1), Stranger(arm=4), Recorder(arm=7)]


def selection(meta: Meta, bases: list[Recorder] | None = None, rows: int = 3, **options: Any) -> Selection:
    rng = np.random.default_rng(1)
    judged = Options(**{"player": "plain", **options})
    return Selection(bases or BASES, meta, PROBLEM, rows=rows, rounds=LENGTH, rng=rng, options=judged)


def memories(chosen: Selection, copies: int = 1) -> list[Memory]:
    """Of every base in order, a row a replicate (and copy)."""
    found: list[Any] = [None] * len(chosen.bases)
    for block in chosen.blocks:
        for slot, member in enumerate(block.members):
            size = chosen.rows * copies
            found[member] = block.player.state.take(np.arange(slot * size, (slot + 1) * size))
    return found


# --- importance-weighted ---


def test_every_base_learns_every_round() -> None:
    """The base played learns high - (high - reward)/p for its own action, every other base high for its own."""
    chosen = selection(OriginalCorral(eta=0.5))
    luck, rows = np.random.default_rng(2), np.arange(3)
    for number in range(LENGTH):
        probability = chosen.probabilities.copy()
        actions, ticket = chosen.ask(NOTHING)
        assert actions.tolist() == [BASES[base].arm for base in ticket.chosen]
        reward = luck.uniform(-1, 3, 3)
        chosen.tell(ticket, reward)
        for base, memory in enumerate(memories(chosen)):
            assert memory.count.tolist() == [number + 1] * 3
            assert memory.actions[:, number].tolist() == [BASES[base].arm] * 3
            weighted = 2 - (2 - reward) / probability[ticket.chosen, rows]
            expected = np.where(ticket.chosen == base, weighted, 2.0)
            np.testing.assert_allclose(memory.rewards[:, number], expected, rtol=1e-14)
    assert chosen.rounds_of.sum(axis=0).tolist() == [LENGTH] * 3
    assert (chosen.rounds_of > 0).all()


def test_late_answers_carry_the_probability_of_when_they_were_asked() -> None:
    chosen = selection(OriginalCorral(eta=0.5), rows=1)
    tickets = [chosen.ask(NOTHING)[1] for _ in range(4)]
    for ticket in reversed(tickets):
        chosen.tell(ticket, np.array([1.2]))
    for base, memory in enumerate(memories(chosen)):
        expected = [2 - 0.8 * 3 if ticket.chosen[0] == base else 2.0 for ticket in reversed(tickets)]
        np.testing.assert_allclose(memory.rewards[0, :4], expected, rtol=1e-14)


def test_bases_are_played_plainly_whatever_the_preset() -> None:
    rng = np.random.default_rng(1)
    made = Selection(BASES, OriginalCorral(), PROBLEM, rows=1, rounds=9, rng=rng, options=PRESETS["paper"])
    assert made.options.player == "plain"


@pytest.mark.parametrize("shift", [-7.0, 100.0])
def test_regret_does_not_depend_on_where_rewards_begin(shift: float) -> None:
    """The same draws, shifted: the same choices, and the same regret up to rounding (far larger rates amplify it)."""
    bases = [EpsilonGreedy(c=10), Exp3Ix(), UniformPlay()]
    means = np.array([0.2, 0.8, 0.5])
    records = [
        try_out(
            GaussianArms(means=tuple(means + low), low=low, high=low + 1, noise=0.1),
            bases,
            OriginalCorral(),
            horizon=1000,
            rows=16,
            preset="theory",
        )
        for low in (0.0, shift)
    ]
    np.testing.assert_array_equal(records[0].plays, records[1].plays)
    np.testing.assert_allclose(records[0].regret, records[1].regret, atol=1e-9)


def test_bases_restart_if_asked_to_and_forget_what_is_told_late() -> None:
    """Theory restarts them; a ticket from before a restart teaches the learner nothing."""
    theory = {"player": "smooth", "bias": 1.0, "base_test": True}
    chosen = selection(OriginalCorral(eta=5.0), rows=1, restart=True, **theory)
    assert chosen.options == Options(player="plain", restart=True)
    late = chosen.ask(NOTHING)[1]
    while not chosen.restarts.any():
        chosen.tell(chosen.ask(NOTHING)[1], np.array([0.0]))
    counts = [int(memory.count[0]) for memory in memories(chosen)]
    restarted = chosen.restarts[:, 0] > 0
    assert np.array_equal(np.array(counts) == 0, restarted)
    chosen.tell(late, np.array([2.0]))
    after = [int(memory.count[0]) for memory in memories(chosen)]
    assert after == [count if again else count + 1 for count, again in zip(counts, restarted, strict=True)]


def test_nothing_restarts_unless_asked_to() -> None:
    chosen = selection(OriginalCorral(eta=5.0), rows=1)
    for _ in range(LENGTH):
        chosen.tell(chosen.ask(NOTHING)[1], np.array([0.0]))
    assert not chosen.restarts.any()
    assert [int(memory.count[0]) for memory in memories(chosen)] == [LENGTH] * 3


def test_what_is_switched_off_is_said() -> None:
    (said,) = switched_off(OriginalCorral(), PRESETS["theory"])
    assert said == (
        "player is plain, not smooth; bias and base_test are switched off "
        "(original-corral takes importance-weighted feedback and plain players)"
    )
    assert switched_off(OriginalCorral(), PRESETS["practice"]) == []
    assert switched_off(None, PRESETS["theory"]) == []


def test_episodes_are_refused() -> None:
    episodes = attrs.evolve(PROBLEM, episodic=True)
    with pytest.raises(CorralError, match="original-corral needs importance-weighted rewards"):
        Selection(BASES, OriginalCorral(), episodes, rows=1, rounds=9, rng=np.random.default_rng(1))


# --- shared, boosted ---


@attrs.define(eq=False)
class Turns:
    bases: int
    rows: int
    gains: list[Array]
    turn: int = 0


@attrs.frozen
class InTurn(Meta):
    """Plays its bases in turn, each row one further than the last, and writes down what they gained."""

    name: ClassVar[str] = "in-turn"
    needs_horizon: ClassVar[bool] = False

    def init(self, rows: int, problem: MetaProblem) -> Turns:
        return Turns(problem.bases, rows, [])

    def choose(self, state: Turns, active: Array, rng: Generator) -> tuple[Array, Array | None]:
        state.turn += 1
        return (state.turn + np.arange(state.rows)) % state.bases, None

    def update(self, state: Turns, chosen: Array, probability: Any, gain: Array, active: Array) -> Verdict | None:
        state.gains.append(gain.copy())
        return None

    def probabilities(self, state: Turns) -> Array:
        return np.full((state.bases, state.rows), 1 / state.bases)


@attrs.frozen
class Boosting(InTurn):
    name: ClassVar[str] = "boosting"
    player: ClassVar[str] = "boosted"


def test_shared_plays_are_learned_by_all() -> None:
    chosen, luck = selection(InTurn(), share=True), np.random.default_rng(3)
    for number in range(12):
        actions, ticket = chosen.ask(NOTHING)
        assert actions.tolist() == [BASES[(number + 1 + row) % 3].arm for row in range(3)]
        reward = luck.random(3)
        chosen.tell(ticket, reward)
        for memory in memories(chosen):
            assert memory.count.tolist() == [number + 1] * 3
            assert memory.actions[:, number].tolist() == actions.tolist()
            assert memory.rewards[:, number].tolist() == reward.tolist()
        np.testing.assert_allclose(chosen.judge.state.gains[-1], reward / 2)


def test_a_base_that_cannot_learn_from_others_learns_its_own_plays_alone() -> None:
    chosen = selection(InTurn(), [Recorder(arm=1), Loner(arm=2)], share=True)
    for _ in range(8):
        chosen.tell(chosen.ask(NOTHING)[1], np.ones(3))
    recorder, loner = memories(chosen)
    assert recorder.count.tolist() == [8] * 3
    assert loner.count.tolist() == chosen.rounds_of[1].tolist()
    assert (loner.actions[:, :4] == 2).all()


@pytest.mark.parametrize("copies", [1, 4])
def test_boosted_bases_play_once_a_copy_and_gain_the_mean(copies: int) -> None:
    """Rewards in [-1, 3] for a range of [0, 2]: each is scaled and cut to [0, 1] before the mean is taken."""
    rows, rounds = 3, 6
    chosen, luck = selection(Boosting(), copies=copies), np.random.default_rng(4)
    assert chosen.options.player == "boosted"
    learned: list[list[list[float]]] = [[[] for _ in range(rows * copies)] for _ in BASES]
    for number in range(rounds):
        total = np.zeros(rows)
        for copy in range(copies):
            actions, ticket = chosen.ask(NOTHING)
            assert ticket.chosen.tolist() == [(number + 1 + row) % 3 for row in range(rows)]
            assert actions.tolist() == [BASES[base].arm for base in ticket.chosen]
            reward = luck.uniform(-1, 3, rows)
            chosen.tell(ticket, reward)
            total += np.clip(reward / 2, 0, 1)
            for row, base in enumerate(ticket.chosen):
                learned[base][row * copies + copy].append(reward[row])
        assert len(chosen.judge.state.gains) == number + 1
        np.testing.assert_allclose(chosen.judge.state.gains[-1], total / copies, rtol=1e-14)
    for base, memory in enumerate(memories(chosen, copies)):
        for learner, rewards in enumerate(learned[base]):
            assert memory.count[learner] == len(rewards) == rounds // 3
            assert memory.rewards[learner, : len(rewards)].tolist() == rewards
