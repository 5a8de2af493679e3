"""Selection: kin blocks, asking and telling, late answers, contexts.

Also tests `selection/round.py` and `selection/setup.py`.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from corral_mab import EpsilonGreedy, Exp3, Rate, Ucb, Ucb1

from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.metas.uniform import Uniform
from corral_core.protocols.base import Base
from corral_core.protocols.parameters import knob, parameter
from corral_core.protocols.problem import NOTHING, Observation
from corral_core.rows import Array, Rows
from corral_core.selection.options import PRESETS
from corral_core.selection.selection import Selection
from corral_core.selection.setup import given_rows, group_kin

sys.path.insert(0, str(Path(__file__).parent))
from made import PROBLEM, play, selection

# --- kin ---


def test_kin_are_gathered_in_order() -> None:
    bases = [EpsilonGreedy(c=1), Ucb(), EpsilonGreedy(c=2), Ucb1(), Ucb(scale=0.5), EpsilonGreedy(c=2, arms=3)]
    assert [group.tolist() for group in group_kin(bases)] == [[0, 2], [1, 4], [3], [5]]


@attrs.frozen
class Apart(EpsilonGreedy):
    """The same algorithm, with a field that keeps it from being kin."""

    number: int = parameter(0, help="nothing")


@pytest.mark.parametrize("preset", ["paper", "theory", "practice"])
def test_a_block_of_kin_plays_like_separate_bases(preset: str) -> None:
    """One row, so that the order in which blocks draw does not matter: the same draws give the same plays."""
    rates = [1.0, 10.0, 100.0, 1000.0]
    together = selection([EpsilonGreedy(c=c) for c in rates], Corral(eta=0.2), 1, PRESETS[preset])
    apart = selection([Apart(c=c, number=n) for n, c in enumerate(rates)], Corral(eta=0.2), 1, PRESETS[preset])
    assert len(together.blocks) == 1
    assert len(apart.blocks) == 4
    assert play(together, 600) == play(apart, 600)
    assert (together.probabilities == apart.probabilities).all()


def test_knobs_reach_their_own_rows() -> None:
    """Bases that err always and never, as kin: each row's arms follow the base that was chosen."""
    problem = attrs.evolve(PROBLEM, arms=2)
    bases = [Rate(c=1.0, alpha=1.0), Rate(c=1e-9, alpha=1.0)]
    chosen = selection(bases, Uniform(), 50, PRESETS["practice"], problem=problem)
    for _ in range(20):
        actions, ticket = chosen.ask(NOTHING)
        assert (actions == (ticket.chosen == 0)).all()
        chosen.tell(ticket, np.zeros(50))


def test_knobs_may_be_vectors_and_other_fields_arrays() -> None:
    @attrs.frozen
    class Vector(Rate):
        direction: tuple[float, ...] = knob((1.0, 0.0), help="a knob with two numbers")
        table: Any = parameter(None, help="a field with an array")

    problem = attrs.evolve(PROBLEM, arms=2)
    first, second = Vector(direction=(1.0, 2.0), table=np.zeros(3)), Vector(direction=(3.0, 4.0), table=np.zeros(3))
    other = Vector(table=np.ones(3))
    assert [group.tolist() for group in group_kin([first, second, other])] == [[0, 1], [2]]
    given = given_rows([first.resolve(problem), second.resolve(problem)], {}, 2)
    assert given.direction.tolist() == [[1, 2], [1, 2], [3, 4], [3, 4]]
    with pytest.raises(CorralError, match="rate has a knob called c, but the environment shows c too"):
        given_rows([Rate()], {"c": np.ones(2)}, 2)


# --- ask and tell ---


def test_only_the_chosen_base_learns_and_only_once_a_round() -> None:
    chosen = selection([EpsilonGreedy(c=1), Ucb(), Exp3()], Corral(eta=0.1), rows=6)
    play(chosen, 200)
    rounds = chosen.rounds_of
    assert rounds.sum(axis=0).tolist() == [100] * 6
    greedy, ucb, exp3 = (block.player.state for block in chosen.blocks)
    assert greedy.means.pulls.sum(axis=1).tolist() == rounds[0].tolist()
    assert ucb.means.pulls.sum(axis=1).tolist() == rounds[1].tolist()
    assert exp3.played.tolist() == rounds[2].tolist()


def test_answers_may_come_late_and_out_of_order() -> None:
    """Forty plays are asked before any is told, then told in random order: each learner learns its own plays."""
    chosen = selection([EpsilonGreedy(c=1), Ucb()], Corral(eta=0.1), rows=3)
    asked = [chosen.ask(NOTHING) for _ in range(40)]
    assert [ticket.step for _, ticket in asked] == [0, 1] * 20
    started = chosen.probabilities.copy()
    assert (started == 0.5).all()
    pulls, total = np.zeros((2, 3, 3)), np.zeros((2, 3, 3))
    order = np.random.default_rng(3).permutation(40)
    for number in order:
        actions, ticket = asked[number]
        reward = np.random.default_rng(number).random(3)
        if ticket.step == 0:
            pulls[ticket.chosen, np.arange(3), actions] += 1
            total[ticket.chosen, np.arange(3), actions] += reward
        chosen.tell(ticket, reward)
    for number, block in enumerate(chosen.blocks):
        means = block.player.state.means
        assert (means.pulls == pulls[number]).all()
        seen = pulls[number] > 0
        assert means.mean[seen] == pytest.approx(total[number][seen] / pulls[number][seen])
    assert (chosen.probabilities != started).any()
    assert chosen.probabilities.sum(axis=0) == pytest.approx(1)


def test_the_ticket_keeps_the_probability_of_its_own_round() -> None:
    """A late answer is weighed with the probability with which its base was chosen, not with today's."""

    @attrs.frozen
    class Spy(Uniform):
        def choose(self, state, active, rng):
            base, probability = super().choose(state, active, rng)
            asked.append(probability / (1 + len(asked)))
            return base, asked[-1]

        def update(self, state, chosen, probability, gain, active):
            told.append(probability)

    asked, told = [], []
    chosen = selection([Ucb(), Exp3()], Spy(), options=PRESETS["practice"])
    tickets = [chosen.ask(NOTHING)[1] for _ in range(3)]
    for ticket in reversed(tickets):
        chosen.tell(ticket, np.zeros(4))
    assert all((late == early).all() for late, early in zip(told, reversed(asked), strict=True))


def test_step_two_can_be_told_first() -> None:
    chosen = selection([Ucb(), Exp3()], Corral(eta=0.3))
    _, first = chosen.ask(NOTHING)
    _, second = chosen.ask(NOTHING)
    chosen.tell(second, np.ones(4))
    moved = chosen.probabilities.copy()
    chosen.tell(first, np.zeros(4))
    assert (chosen.probabilities == moved).all(), "the meta hears of step 2 alone"
    assert sum(int(block.player.plays.sum()) for block in chosen.blocks) == 4


@pytest.mark.parametrize(
    ("reward", "sentence"),
    [
        (np.array([0.1, np.nan, 0.2, 0.3]), "the reward of row 1 is nan"),
        (np.array([0.1, 0.2, 0.2, np.inf]), "the reward of row 3 is inf"),
        (np.zeros(3), "one reward per row"),
        (np.zeros((4, 1)), "one reward per row"),
    ],
)
def test_bad_rewards_are_met_at_the_door(reward: Array, sentence: str) -> None:
    chosen = selection([Ucb(), Exp3()], Corral(eta=0.3))
    _, ticket = chosen.ask(NOTHING)
    with pytest.raises(CorralError, match=sentence):
        chosen.tell(ticket, reward)
    chosen.tell(ticket, np.zeros(4))
    with pytest.raises(CorralError, match="told already"):
        chosen.tell(ticket, np.zeros(4))


def test_a_base_alone_needs_no_meta() -> None:
    chosen = selection([Ucb()], None, options=PRESETS["practice"])
    play(chosen, 300)
    assert chosen.rounds_of.tolist() == [[300] * 4]
    assert (chosen.blocks[0].player.state.means.pulls[:, 2] > 150).all()


def test_contexts_reach_the_chosen_base() -> None:
    """Each block sees the features of its own rows, when acting and when learning."""

    class Seen(Rows):
        total: Array

    class Nothing(Rows):
        row: Array

    @attrs.frozen
    class Watcher(Base):
        name = "watcher"
        number: int = parameter(0, help="nothing")

        def init(self, given, rng):
            return Seen(np.zeros(len(given)))

        def policy(self, state, rows):
            return Nothing(rows)

        def act(self, policy, observation, rng):
            assert (observation.features[:, 0, 0] == policy.row).all()
            return np.zeros(len(policy), dtype=np.intp)

        def learn(self, state, rows, feedback, rng):
            assert (feedback.observation.features[:, 0, 0] == rows).all()
            state.total[rows] += feedback.reward

    chosen = selection([Watcher(0), Watcher(1)], Uniform(), rows=8)
    features = np.broadcast_to(np.arange(8.0)[:, None, None], (8, 3, 2))
    for _ in range(20):
        _, ticket = chosen.ask(Observation(features=features))
        chosen.tell(ticket, np.ones(8))
    assert sum(block.player.state.total.sum() for block in chosen.blocks) == 10 * 8


def test_a_seed_is_as_good_as_a_generator_and_nothing_else_is() -> None:
    fitted = [Ucb().resolve(PROBLEM)]
    one, other = (Selection(fitted, None, PROBLEM, rows=2, rounds=9, rng=rng) for rng in (3, np.random.default_rng(3)))
    assert one.rng.random() == other.rng.random()
    for wrong in (None, "x", 1.5, True, -1):
        with pytest.raises(CorralError, match=r"rng must be a numpy Generator or a seed"):
            Selection(fitted, None, PROBLEM, rows=2, rounds=9, rng=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("preset", ["practice", "paper"])
def test_threads_lose_no_answer(preset: str) -> None:
    """Four threads ask and tell at once: every answer is learned. Without a lock hundreds were lost."""
    chosen = selection([EpsilonGreedy(c=5), Ucb()], Corral(eta=0.05), rows=1, options=PRESETS[preset])
    plays, errors, interval = 400, [], sys.getswitchinterval()

    def visit(seed: int) -> None:
        try:
            waiting, luck = [], np.random.default_rng(seed)
            for _ in range(plays):
                waiting.append(chosen.ask()[1])
                if len(waiting) > 3:
                    chosen.tell(waiting.pop(luck.integers(4)), float(luck.random() < 0.5))
            for ticket in waiting:
                chosen.tell(ticket, 1.0)
        except Exception as error:
            errors.append(error)

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=visit, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    learned = sum(float(block.player.state.means.pulls.sum()) for block in chosen.blocks)
    assert learned == 4 * plays / chosen.options.steps == chosen.rounds_of.sum()
