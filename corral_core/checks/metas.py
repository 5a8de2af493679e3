"""Checks of meta-algorithms."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from corral_core.checks.contests import ROUNDS, Contest, MetaCase, draws
from corral_core.checks.objects import fingerprint
from corral_core.checks.rules import Checks, broken, description_of, nothing_global_drawn, same, shown
from corral_core.checks.streams import draw_by_rows
from corral_core.checks.trial import unchanged
from corral_core.errors import CorralError
from corral_core.rows import Array
from corral_core.selection.stated import check_declared, check_quantities

METAS = Checks()
demand = METAS.demand
MANY = 2500  # rounds; enough to overflow exp() at usual rates


# --- First: without these no other check can run ---------------------------------------------------------------------


@demand(first=True)
def draws_have_rows_first(case: MetaCase) -> None:
    """Every draw from the generator has rows as its first axis, including rows that need no number."""
    draw_by_rows(lambda: case.contest().run())


@demand(first=True)
def shapes(case: MetaCase) -> None:
    """`choose` returns one base and probability per row, `probabilities` (bases, rows), `update` None or a Verdict."""
    contest = case.contest()
    for _ in range(ROUNDS):
        contest.round()


@demand(first=True)
def single_row(case: MetaCase) -> None:
    """A single row can be played alone."""
    case.contest(rows=[3]).run()


@demand(first=True)
def no_global_randomness(case: MetaCase) -> None:
    """Neither `random` nor `np.random` is drawn from or seeded."""
    with nothing_global_drawn():
        case.contest().run(3)


@demand(first=True)
def same_seed_same_choices(case: MetaCase) -> None:
    """The same seed gives the same choices: all randomness comes from the generator passed in."""
    _compare(case.contest().run(), case.contest().run(), [0, 1, 2, 3, 4], "played twice with the same streams")


def _compare(found: Contest, wanted: Contest, pairs: Sequence[int], what: str) -> None:
    """Raise `Broken` unless row r of one contest equals row pairs[r] of the other."""
    for number, (one, other) in enumerate(zip(found.history, wanted.history, strict=True), start=1):
        for value, expected, name in zip(one, other, ("base", "probability"), strict=True):
            if value is not None and not same(value, np.asarray(expected)[list(pairs)]):
                seen = f"{shown(value)} in place of {shown(np.asarray(expected)[list(pairs)])}"
                broken(f"{what}, at round {number}: {name} {seen}")


# --- Rows and arguments ----------------------------------------------------------------------------------------------


@demand()
def rows_are_independent(case: MetaCase) -> None:
    """A row makes the same choices alone and among others, and permuted rows give permuted choices."""
    together = case.contest().run()
    for row in range(5):
        _compare(case.contest(rows=[row]).run(), together, [row], f"row {row} alone and among others")
    order = [3, 0, 4, 2, 1]
    _compare(case.contest(rows=order).run(), together, order, "rows permuted")


@demand()
def arguments_are_left_alone(case: MetaCase) -> None:
    """`choose` and `update` write into nothing but the state."""
    contest = case.contest()
    for _ in range(ROUNDS):
        active = contest.active
        chosen, probability = case.meta.choose(contest.state, active, contest.draws)
        given = {"chosen": chosen, "gain": contest.gain(contest.mean[:, 0].copy()), "active": active}
        if probability is not None:
            given["probability"] = probability
        before = {name: np.array(array) for name, array in given.items()}
        before["active"] = contest.active
        case.meta.update(contest.state, chosen, probability, given["gain"], active)
        unchanged(given, before, "after choose and update")


# --- Probabilities ---------------------------------------------------------------------------------------------------


@demand()
def update_credits_the_base_chosen(case: MetaCase) -> None:
    """Gains are credited to the bases in `chosen`, which need not be the last ones that `choose` returned."""
    contest = case.contest().run(5)
    chosen, probability = contest.choose()

    def state_after(chosen: Array, gain: float) -> bytes:
        state = copy.deepcopy(contest.state)
        case.meta.update(state, chosen, probability, contest.gain(np.full(contest.rows, gain)), contest.active)
        return fingerprint(state)

    learns = state_after(chosen, 0.0) != state_after(chosen, 1.0)
    if learns and all(state_after(chosen, gain) == state_after((chosen + 1) % 3, gain) for gain in (0.0, 1.0)):
        broken("`update` changed the state in the same way for all values of `chosen`")


@demand()
def probabilities_sum_to_one(case: MetaCase) -> None:
    """`probabilities` lie between 0 and 1 and sum to one in every row, in every round."""
    contest = case.contest()
    for number in range(ROUNDS + 1):
        if number:
            contest.round()
        chances = contest.chances
        if chances is None:
            continue
        total = chances.sum(axis=0)
        if not (np.isfinite(chances).all() and (chances >= 0).all() and np.allclose(total, 1, rtol=0, atol=1e-9)):
            broken(f"after round {number} they are {shown(chances)} and sum to {shown(total)}")


@demand(when=draws)
def active_bases_have_a_chance(case: MetaCase) -> None:
    """A meta that draws gives every active base a positive probability, also after bases were dropped or readmitted."""
    contest = case.contest()
    for number in range(1, 2 * ROUNDS + 1):
        if number == ROUNDS // 2:
            contest.drop_in_places()
        active = contest.active
        contest.round()
        chances = None if contest.drawn_from is None else contest.drawn_from[active]
        if chances is not None and not (chances > 0).all():
            broken(f"at round {number} the active bases have the probabilities {shown(chances)}")


@demand()
def only_active_bases_are_chosen(case: MetaCase) -> None:
    """A base that was dropped is never chosen; if it failed the base test, also not after the meta readmitted it."""
    contest = case.contest(rows=range(20)).run(5)
    for dropped in (0, 2):
        contest.drop(np.arange(3)[:, None] == np.full(20, dropped))
        for _ in range(5):
            active = contest.active
            chosen, _ = contest.round()
            if not active[chosen, np.arange(20)].all():
                broken(f"base {dropped} was dropped in every row, but {shown(chosen)} were chosen")


@demand()
def probability_is_that_of_the_choice(case: MetaCase) -> None:
    """`choose` and `probabilities` agree on the probability of the chosen base; without a draw it is one or None."""
    contest = case.contest()
    for number in range(1, ROUNDS + 1):
        if number == ROUNDS // 2 and draws(case):
            contest.drop_in_places()
        everyone = contest.active.all()
        chosen, probability = contest.round()
        if probability is None and contest.drawn_from is None:
            continue
        stated = np.ones(contest.rows) if probability is None else probability
        known = contest.drawn_from is not None and same(stated, contest.chance_of(chosen))
        if (everyone or probability is not None) and not known:
            wanted = "None" if contest.drawn_from is None else shown(contest.chance_of(chosen))
            broken(f"at round {number} `choose` says {shown(probability)}, but `probabilities` says {wanted}")


@demand(when=draws)
def choices_follow_the_probabilities(case: MetaCase) -> None:
    """Bases are chosen as often as their probabilities say.

    Over 4,000 rows the most probable base of a row, the next one and so on must each be chosen as often as their
    probabilities say, within 5.5 standard deviations. By chance this fails with a probability of about 1e-7.
    """
    contest = case.contest(rows=range(4000), rng=np.random.default_rng(3)).run(5)
    chosen, _ = contest.round()
    ranked: Any = [] if contest.drawn_from is None else contest.drawn_from.argsort(axis=0)[::-1]
    for rank, base in enumerate(ranked, start=1):
        chance = contest.chance_of(base)
        expected, spread = chance.sum(), np.sqrt((chance * (1 - chance)).sum())
        count = (chosen == base).sum()
        if abs(count - expected) > 5.5 * spread + 1e-6:
            broken(f"base number {rank} by probability was chosen in {count} of 4000 rows, not in {expected:.0f}")


def silent(case: MetaCase) -> bool:
    """Whether it says nothing about probabilities."""
    return not draws(case) and case.contest().chances is None


@demand(when=silent)
def without_probabilities_nothing_is_drawn(case: MetaCase) -> None:
    """A meta without probabilities makes the same choices whatever the generator gives."""
    _compare(case.contest(seed=3).run(), case.contest().run(), [0, 1, 2, 3, 4], "played with other random numbers")


# --- What it records, and steps --------------------------------------------------------------------------------------


@demand()
def recorded_is_what_records_names(case: MetaCase) -> None:
    """`recorded` returns the quantities in `records`, under plain names, each (bases, rows) and finite."""
    check_quantities(case.meta.records, "it")
    contest = case.contest()
    contest.check_recorded()
    for number in range(1, ROUNDS + 1):
        if number == ROUNDS // 2:
            contest.drop_in_places()
        contest.round()
        contest.check_recorded()


def by_step(case: MetaCase) -> bool:
    """Whether it learns the gain of every step."""
    return case.meta.per_step


@demand(when=by_step)
def any_number_of_steps(case: MetaCase) -> None:
    """A meta with `per_step` learns rounds of any number of steps: one, two, or one per copy."""
    for steps in (1, 2, 5):
        case.contest(steps=steps).run()


# --- Small and large -------------------------------------------------------------------------------------------------


@demand()
def single_base(case: MetaCase) -> None:
    """A single base is chosen with probability one."""
    contest = case.contest(bases=1).run()
    for chosen, probability in contest.history:
        if chosen.any() or (probability is not None and not same(probability, np.ones(5))):
            broken(f"with one base it chose {shown(chosen)} with probability {shown(probability)}")


@demand()
def horizon_of_one(case: MetaCase) -> None:
    """With a horizon of one round it plays once."""
    contest = case.contest(horizon=1)
    contest.round()
    if not contest.finite:
        broken(f"after a horizon of one round the probabilities are {shown(contest.chances)}")


@demand()
def extreme_gains_are_survived(case: MetaCase) -> None:
    """Gains at the ends of `clip`, minus a bias of 1, keep the probabilities finite."""
    low, high = case.meta.clip
    gains = np.array([low - 1, low - 1, high, high])
    contest = case.contest(rows=range(4), horizon=MANY, rng=np.random.default_rng(4))
    for number in range(1, MANY + 1):
        contest.round(gains)
        if number % 100 == 0 and not contest.finite:
            broken(f"after {number} gains of {shown(gains)} the probabilities are {shown(contest.chances)}")


# --- Its description -------------------------------------------------------------------------------------------------


@demand()
def says_what_it_is(case: MetaCase) -> None:
    """It has a name, a docstring, a help text for every parameter, and declares what it needs in valid words."""
    description_of(case.meta)
    try:
        check_declared(case.meta, case.meta.name)
    except CorralError as refused:
        broken(str(refused))
