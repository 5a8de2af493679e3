"""What selection do.

Also tests `selection/judge.py`, `selection/round.py`, `selection/options.py` and `selection/setup.py`.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from corral_mab import EpsilonGreedy, Exp3, Rate, Ucb, Ucb1

from corral_core.bounds import Bound, Term
from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.metas.exp3p import Exp3P
from corral_core.metas.original_corral import OriginalCorral
from corral_core.metas.uniform import Uniform
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta, Verdict
from corral_core.protocols.parameters import knob, parameter
from corral_core.protocols.problem import NOTHING, Observation, Problem
from corral_core.rows import Array, Rows
from corral_core.selection.judge import MetaJudge
from corral_core.selection.options import PRESETS, Options
from corral_core.selection.selection import Selection
from corral_core.selection.setup import given_rows, group_kin

ROUNDS = 500
PROBLEM = Problem(arms=3, noise=0.5, low=0.0, high=1.0, horizon=1000, delta=0.01)
MEANS = np.array([0.2, 0.5, 0.8])


def selection(bases, meta, rows=4, options=None, seed=1, problem=PROBLEM) -> Selection:
    made = [base.resolve(problem) for base in bases]
    rng = np.random.default_rng(seed)
    return Selection(made, meta, problem, rows=rows, rounds=ROUNDS, rng=rng, options=options)


def play(chosen: Selection, plays: int, seed: int = 2) -> list[tuple[list[int], list[int]]]:
    """Bernoulli arms by hand; what was chosen and done at every play."""
    luck, done = np.random.default_rng(seed), []
    for _ in range(plays):
        actions, ticket = chosen.ask(NOTHING)
        done.append((ticket.chosen.tolist(), actions.tolist()))
        chosen.tell(ticket, (luck.random(chosen.rows) < MEANS[actions]).astype(float))
    return done


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
            asked.append(probability * (1 + len(asked)))
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


# --- dropping and restarting ---


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


@pytest.mark.parametrize(
    ("bases", "meta", "options", "sentence"),
    [
        ([], Uniform(), None, "at least one base"),
        ([Ucb(), Exp3()], None, None, "need a meta-algorithm"),
        ([Ucb(), Exp3()], Corral(), Options(player="plain", base_test=True), "two steps of a smoothed base"),
    ],
)
def test_what_cannot_go_together_is_refused(bases, meta, options, sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        selection(bases, meta, options=options)


def test_bounds_are_asked_for_where_they_are_needed() -> None:
    @attrs.frozen
    class Unbounded(Ucb):
        name = "unbounded"

        def bound(self, delta):
            return None

    selection([Unbounded(), Exp3()], Corral())
    with pytest.raises(CorralError, match="unbounded has no regret bound"):
        selection([Unbounded(), Exp3()], Corral(), options=PRESETS["theory"])


def test_rewards_need_a_known_range() -> None:
    with pytest.raises(CorralError, match="no known range"):
        selection([Ucb(low=0.0, high=1.0)], Uniform(), problem=attrs.evolve(PROBLEM, low=None, high=None))


def test_what_judges_the_played_base_is_off_where_every_base_is_taught() -> None:
    """Original CORRAL has neither bias nor test nor restarts, whatever the preset."""
    chosen = selection([Exp3(), EpsilonGreedy(c=3)], OriginalCorral(eta=0.1), options=PRESETS["theory"])
    assert chosen.options == PRESETS["practice"]
    play(chosen, 20)


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


def test_a_seed_is_as_good_as_a_generator_and_nothing_else_is() -> None:
    fitted = [Ucb().resolve(PROBLEM)]
    one, other = (Selection(fitted, None, PROBLEM, rows=2, rounds=9, rng=rng) for rng in (3, np.random.default_rng(3)))
    assert one.rng.random() == other.rng.random()
    for wrong in (None, "x", 1.5, True, -1):
        with pytest.raises(CorralError, match=r"rng must be a numpy Generator or a seed"):
            Selection(fitted, None, PROBLEM, rows=2, rounds=9, rng=wrong)  # type: ignore[arg-type]
