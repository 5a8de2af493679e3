"""Judging: the base test, drops and restarts."""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from corral_mab import EpsilonGreedy, Exp3, Ucb

from corral_core.bounds import Bound, Term
from corral_core.metas.corral import Corral
from corral_core.metas.exp3p import Exp3P
from corral_core.metas.uniform import Uniform
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta, Verdict
from corral_core.protocols.parameters import knob
from corral_core.protocols.problem import NOTHING
from corral_core.rows import Array, Rows
from corral_core.selection.judge import MetaJudge
from corral_core.selection.options import PRESETS, Options
from corral_core.selection.selection import Selection

sys.path.insert(0, str(Path(__file__).parent))
from made import PROBLEM, ROUNDS, play, selection


@attrs.frozen
class Claims(Base):
    """Plays one arm for some plays, then another; claims whatever bound it is told to."""

    name = "claims"
    turns_after: int = knob(10**9, help="plays before it turns bad")

    def init(self, given, rng):
        return _Turn(np.zeros(len(given)), given.turns_after)

    def policy(self, state, rows):
        return _Arm(np.where(state.played[rows] < state.after[rows], 2, 0))

    def act(self, policy, observation, rng):
        return policy.arm

    def learn(self, state, rows, feedback, rng):
        state.played[rows] += 1

    def bound(self, delta):
        return Bound(lambda s: 0.01 * np.sqrt(s), (Term(0.01, 0.5),))


class _Turn(Rows):
    played: Array
    after: Array


class _Arm(Rows):
    arm: Array


def told_their_arm(chosen: Selection, plays: int) -> None:
    """Deterministic rewards: arm 2 pays 10, arm 0 pays nothing."""
    for _ in range(plays):
        actions, ticket = chosen.ask(NOTHING)
        chosen.tell(ticket, 5.0 * actions)


def rounds_tested(chosen: Selection) -> Array:
    """How many rounds the base test has counted, (bases, rows)."""
    assert isinstance(chosen.judge, MetaJudge)
    assert chosen.judge._base_test is not None
    return chosen.judge._base_test._rounds


def test_a_base_that_breaks_its_bound_is_dropped_and_never_the_last() -> None:
    options = Options(base_test=True)
    chosen = selection([Claims(40), Claims()], Uniform(), rows=5, options=options)
    told_their_arm(chosen, 800)
    assert chosen.active.tolist() == [[False] * 5, [True] * 5]
    assert chosen.probabilities.tolist() == [[0.0] * 5, [1.0] * 5]
    both = selection([Claims(40), Claims(41)], Uniform(), rows=5, options=options)
    told_their_arm(both, 2000)
    assert (both.active.sum(axis=0) == 1).all()


def test_without_a_scale_of_the_noise_no_single_reward_drops_a_base() -> None:
    """One payoff of a million counts for the clip's end; a base that keeps breaking its bound still goes."""
    options, tails = Options(base_test=True), attrs.evolve(PROBLEM, noise=None)
    for problem, survives in ((tails, True), (PROBLEM, False)):
        chosen = selection([Claims(), Claims(10**8)], Uniform(), rows=3, options=options, problem=problem)
        for step in range(40):
            _, ticket = chosen.ask()
            chosen.tell(ticket, np.full(3, 1e6 if step == 21 else 0.5))
        assert chosen.active.all() == survives
    chosen = selection([Claims(800), Claims()], Uniform(), rows=5, options=options, problem=tails)
    told_their_arm(chosen, 12000)
    assert chosen.active.tolist() == [[False] * 5, [True] * 5]


@pytest.mark.parametrize(
    ("meta", "noise", "spread"),
    [(Uniform(), 0.5, 1 + 2 * 0.5**2), (Uniform(), None, 1.0), (Corral(eta=0.1), None, 9.0)],  # clips 1 and 3 wide
    ids=["noise known", "cut to [0, 1]", "cut to [-1, 2]"],
)
def test_the_base_test_drops_in_the_first_round_beyond_its_threshold(
    meta: Meta, noise: float | None, spread: float
) -> None:
    """All of n rounds pay 0 in step 1 and 1 in step 2: n > U(n) + 2 sqrt(2 n v ln(4TM/delta))."""
    problem = attrs.evolve(PROBLEM, noise=noise)
    chosen = selection([Claims(), Claims(10**8)], meta, rows=1, options=Options(base_test=True), problem=problem)
    while chosen.active.all():
        _, ticket = chosen.ask()
        chosen.tell(ticket, np.full(1, float(ticket.step)))
    rounds = np.arange(1, 3000)
    logarithm = np.log(4 * ROUNDS * 2 / PROBLEM.delta)
    beyond = rounds > 0.01 * np.sqrt(rounds) + 2 * np.sqrt(2 * rounds * spread * logarithm)
    assert rounds_tested(chosen)[~chosen.active].tolist() == [rounds[beyond.argmax()]]


def test_the_base_test_keeps_no_array_of_the_caller() -> None:
    """A buffer that is used again for every reward gives what fresh arrays give, if step two is told first."""

    def excess(fresh: bool) -> Array:
        chosen = selection([Claims(), Claims(10**8)], Uniform(), rows=2, options=Options(base_test=True))
        buffer = np.zeros(2)
        for _ in range(4):
            tickets = [chosen.ask()[1] for _ in range(2)]
            for ticket, reward in zip(reversed(tickets), (0.75, 0.25), strict=True):
                buffer[:] = reward
                chosen.tell(ticket, buffer.copy() if fresh else buffer)
        assert isinstance(chosen.judge, MetaJudge) and chosen.judge._base_test is not None
        return chosen.judge._base_test._excess

    assert excess(fresh=True).sum() == 4 * 2 * 0.5
    assert (excess(fresh=False) == excess(fresh=True)).all()


@pytest.mark.parametrize("rows", [1, 3])
def test_a_meta_may_change_the_gain_that_it_is_told(rows: int) -> None:
    @attrs.frozen
    class Greedy(Uniform):
        name = "greedy"

        def update(self, state, chosen, probability, gain, active):
            gain -= 0.5

    chosen, reward = selection([Claims()], Greedy(), rows=rows, options=PRESETS["practice"]), np.ones(rows)
    _, ticket = chosen.ask()
    chosen.tell(ticket, reward)
    assert (reward == 1).all()


@pytest.mark.parametrize("order", ["in order", "step two first", "last round first"])
def test_the_base_test_counts_whole_rounds_whenever_they_are_told(order: str) -> None:
    """Rewards that do not differ between the steps are no evidence, in whatever order they are told."""
    chosen = selection([Claims(), Claims(10**8)], Uniform(), rows=3, options=Options(base_test=True))
    tickets = [chosen.ask()[1] for _ in range(400)]
    if order == "step two first":
        tickets.sort(key=lambda ticket: -ticket.step)
    elif order == "last round first":
        tickets.reverse()
    for ticket in tickets:
        chosen.tell(ticket, np.ones(3))
    assert chosen.active.all()
    assert rounds_tested(chosen).sum(axis=0).tolist() == [200] * 3


@pytest.mark.parametrize("meta", [Corral(eta=0.2), Exp3P(p=0.05), Uniform()], ids=lambda meta: meta.name)
def test_dropped_bases_are_masked_and_the_rest_renormalised(meta: Meta) -> None:
    chosen = selection([Ucb(), Exp3(), EpsilonGreedy(c=3)], meta, rows=4)
    play(chosen, 40)
    chosen.judge._drop(np.array([[True, False, False, True], [False] * 4, [False, True, False, True]]))
    assert (chosen.probabilities[~chosen.active] == 0).all(), "seen at once, before the meta chooses again"
    _, ticket = chosen.ask(NOTHING)
    before = chosen.probabilities
    assert before.sum(axis=0) == pytest.approx(1)
    assert (before[~chosen.active] == 0).all()
    assert (before[chosen.active] > 0).all()
    chosen.tell(ticket, np.zeros(4))
    counted = chosen.rounds_of[~chosen.active].sum()
    play(chosen, 201)
    assert chosen.probabilities.sum(axis=0) == pytest.approx(1)
    assert (chosen.probabilities[~chosen.active] == 0).all()
    assert chosen.rounds_of[~chosen.active].sum() == counted


def test_a_verdict_that_would_drop_everyone_is_not_carried_out() -> None:
    @attrs.frozen
    class Tyrant(Uniform):
        def update(self, state, chosen, probability, gain, active):
            return Verdict(drop=np.ones_like(active))

    chosen = selection([Ucb(), Exp3()], Tyrant(), options=PRESETS["practice"])
    play(chosen, 10)
    assert chosen.active.all()


def test_restarts_forget_everything_of_the_learners_they_name() -> None:
    @attrs.frozen
    class Restarter(Uniform):
        def update(self, state, chosen, probability, gain, active):
            mask = np.zeros_like(active)
            mask[1, 2] = True
            return Verdict(restart=mask)

    chosen = selection([Ucb(), EpsilonGreedy(c=3)], Restarter(), options=Options(restart=True))
    play(chosen, 60)
    ucb, greedy = (block.player for block in chosen.blocks)
    assert greedy.state.means.pulls[2].sum() == 0
    assert greedy.plays[2] == 0
    assert greedy.plays[[0, 1, 3]].min() > 0
    assert ucb.plays.min() > 0
    assert chosen.restarts[1].tolist() == [0, 0, 30, 0]
    kept = selection([Ucb(), EpsilonGreedy(c=3)], Restarter(), options=Options(restart=False))
    play(kept, 60)
    assert kept.restarts.sum() == 0


def test_an_answer_for_a_learner_that_is_gone_teaches_nobody() -> None:
    @attrs.frozen
    class Restarter(Uniform):
        def update(self, state, chosen, probability, gain, active):
            return Verdict(restart=np.ones_like(active))

    chosen = selection([Ucb(), Exp3()], Restarter(), options=Options(restart=True, base_test=True, bias=1.0))
    tickets = [chosen.ask(NOTHING)[1] for _ in range(7)]
    chosen.tell(tickets[0], np.ones(4))
    chosen.tell(tickets[1], np.ones(4))  # everyone restarts
    _, middle = chosen.ask(NOTHING)  # step 2 of a round whose learner has just lost its past
    for ticket in [*tickets[2:], middle]:
        chosen.tell(ticket, np.ones(4))
    assert chosen.blocks[0].player.state.means.pulls.sum() == 0
    assert chosen.blocks[1].player.state.played.sum() == 0


# --- what does not go together ---


def test_a_base_that_adapts_its_knob_restarts_with_the_original() -> None:
    @attrs.frozen
    class Halving(EpsilonGreedy):
        def learn(self, state, rows, feedback, rng):
            super().learn(state, rows, feedback, rng)
            state.c[rows] /= 2

    chosen = selection([Halving(c=8.0)], None, options=PRESETS["practice"])
    play(chosen, 3)
    player = chosen.blocks[0].player
    assert player.state.c.tolist() == [1.0] * 4
    player.restart(np.array([1]), chosen.rng)
    assert player.state.c.tolist() == [1.0, 8.0, 1.0, 1.0]
