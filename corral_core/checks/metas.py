"""Checks of meta-algorithms."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, get_args

import attrs
import numpy as np

from corral_core.bounds import Bound, Term
from corral_core.checks.objects import fingerprint
from corral_core.checks.rules import Checks, broken, description_of, nothing_global_drawn, same, shown
from corral_core.checks.streams import Streams, draw_by_rows
from corral_core.checks.trial import named, unchanged
from corral_core.metas.sampling import among
from corral_core.protocols.meta import FeedbackKind, Meta, MetaProblem, NeedsBounds, Players
from corral_core.rows import Array
from corral_core.selection.validation import choice_of, verdict_of

METAS = Checks()
demand = METAS.demand
ROUNDS = 20
MANY = 2500  # rounds; enough to overflow exp() at usual rates
SQRT = Bound(np.sqrt, (Term(1.0, 0.5),))


@attrs.frozen(eq=False)
class MetaCase:
    """A meta-algorithm over bases with or without bounds."""

    meta: Meta
    bounded: bool
    place: ClassVar[str] = ""  # it plays in no environment

    @property
    def label(self) -> str:
        return f"{named(self.meta)} over bases {'with' if self.bounded else 'without'} bounds"

    def contest(
        self, rows: Sequence[int] = (0, 1, 2, 3, 4), bases: int = 3, horizon: int = ROUNDS, rng: Any = None
    ) -> Contest:
        bounds = ((SQRT,) if self.bounded else (None,)) * bases
        problem = MetaProblem(bases=bases, horizon=horizon, delta=1 / (horizon + 1), bounds=bounds)
        return Contest(self.meta, problem, rows, rng)


class Contest:
    """A meta-algorithm over bases that gain 1 with a probability that depends on row and base, else 0."""

    def __init__(self, meta: Meta, problem: MetaProblem, rows: Sequence[int], rng: Any = None) -> None:
        self.meta, self.problem, self.rows = meta, problem, len(rows)
        self.luck = Streams.seeded(1, rows) if rng is None else rng
        self.draws: Any = Streams.seeded(2, rows) if rng is None else rng
        self.mean = self.luck.random((len(rows), problem.bases))
        self.active = np.ones((problem.bases, len(rows)), dtype=bool)
        self.state = meta.init(len(rows), problem)
        self.history: list[tuple[Array, Array | None]] = []

    def choose(self) -> tuple[Array, Array | None]:
        before = among(self.active, self.chances)
        choice = self.meta.choose(self.state, self.active.copy(), self.draws)
        chosen, probability = choice_of(self.meta, choice, self.problem.bases, self.rows)
        self.drawn_from = before
        if probability is not None and not same(probability, self.chance_of(chosen)):
            self.drawn_from = among(self.active, self.chances)  # `choose` may have changed them
        return chosen, probability

    def chance_of(self, chosen: Array) -> Array:
        """The probability that each row's base had among the active ones at the last choice."""
        found: Array = self.drawn_from[chosen, np.arange(self.rows)]
        return found

    @property
    def chances(self) -> Array:
        """The probabilities as selection uses them."""
        found = self.meta.probabilities(self.state)
        wanted = (self.problem.bases, self.rows)
        if not isinstance(found, np.ndarray) or found.shape != wanted:
            broken(f"probabilities must have the shape (bases, rows) = {wanted}, not {shown(found)}")
        return found

    def check_chances(self) -> None:
        """Broken if the probabilities have the wrong shape."""
        _ = self.chances

    def round(self, gain: Array | None = None) -> tuple[Array, Array | None]:
        """Choose, gain, update. Returns the chosen bases and their probabilities."""
        chosen, probability = self.choose()
        self.history.append((np.array(chosen), None if probability is None else np.array(probability)))
        if gain is None:
            uniform = self.luck.random((self.rows, 1))[:, 0]
            gain = (uniform < self.mean[np.arange(self.rows), chosen]).astype(np.float64)
        verdict = self.meta.update(self.state, chosen, probability, gain, self.active.copy())
        verdict = verdict_of(self.meta, verdict, self.problem.bases, self.rows)
        if verdict is not None and verdict.drop is not None:
            self.drop(verdict.drop)
        return chosen, probability

    def drop(self, bases: Array) -> None:
        """Deactivate these bases; the last active base of a row is never dropped."""
        left = self.active & ~bases
        self.active = np.where(left.any(axis=0), left, self.active)

    def drop_in_places(self) -> None:
        """Drop base 1 in every second row."""
        bases = np.zeros_like(self.active)
        bases[1, ::2] = True
        self.drop(bases)

    def run(self, rounds: int = ROUNDS) -> Contest:
        for _ in range(rounds):
            self.round()
        return self


def draws(case: MetaCase) -> bool:
    """Whether the choice is random; a deterministic meta returns no probability."""
    try:
        return case.contest().choose()[1] is not None
    except Exception:
        return True


# --- First: without these no other check can run ---------------------------------------------------------------------


@demand(first=True)
def draws_have_rows_first(case: MetaCase) -> None:
    """Every draw from the generator has rows as its first axis, including rows that need no number."""
    draw_by_rows(lambda: case.contest().run())


@demand(first=True)
def shapes(case: MetaCase) -> None:
    """`choose` returns one base and probability per row, `probabilities` (bases, rows), `update` None or a Verdict."""
    contest = case.contest()
    contest.check_chances()
    contest.run()
    contest.check_chances()


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
        active = contest.active.copy()
        chosen, probability = case.meta.choose(contest.state, active, contest.draws)
        given = {"chosen": chosen, "gain": contest.mean[:, 0].copy(), "active": active}
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
        case.meta.update(state, chosen, probability, np.full(contest.rows, gain), contest.active.copy())
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
        total = chances.sum(axis=0)
        if not (np.isfinite(chances).all() and (chances >= 0).all() and np.allclose(total, 1, rtol=0, atol=1e-9)):
            broken(f"after round {number} they are {shown(chances)} and sum to {shown(total)}")


@demand(when=draws)
def active_bases_have_a_chance(case: MetaCase) -> None:
    """A meta that draws gives every active base a positive probability, also after other bases were dropped."""
    contest = case.contest()
    for number in range(1, ROUNDS + 1):
        if number == ROUNDS // 2:
            contest.drop_in_places()
        active = contest.active
        contest.round()
        chances = contest.drawn_from[active]
        if not (chances > 0).all():
            broken(f"at round {number} the active bases have the probabilities {shown(chances)}")


@demand()
def only_active_bases_are_chosen(case: MetaCase) -> None:
    """A base that was dropped is never chosen."""
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
    """`choose` and `probabilities` agree on the probability of the chosen base; without a draw it is one."""
    contest = case.contest()
    for number in range(1, ROUNDS + 1):
        if number == ROUNDS // 2 and draws(case):
            contest.drop_in_places()
        everyone = contest.active.all()
        chosen, probability = contest.round()
        stated = np.ones(contest.rows) if probability is None else probability
        if (everyone or probability is not None) and not same(stated, contest.chance_of(chosen)):
            wanted = shown(contest.chance_of(chosen))
            broken(f"at round {number} `choose` says {shown(probability)}, but `probabilities` says {wanted}")


@demand(when=draws)
def choices_follow_the_probabilities(case: MetaCase) -> None:
    """Bases are chosen as often as their probabilities say.

    Over 4,000 rows the most probable base of a row, the next one and so on must each be chosen as often as their
    probabilities say, within 5.5 standard deviations. By chance this fails with a probability of about 1e-7.
    """
    contest = case.contest(rows=range(4000), rng=np.random.default_rng(3)).run(5)
    chosen, _ = contest.round()
    for rank, base in enumerate(contest.drawn_from.argsort(axis=0)[::-1], start=1):
        chance = contest.chance_of(base)
        expected, spread = chance.sum(), np.sqrt((chance * (1 - chance)).sum())
        count = (chosen == base).sum()
        if abs(count - expected) > 5.5 * spread + 1e-6:
            broken(f"base number {rank} by probability was chosen in {count} of 4000 rows, not in {expected:.0f}")


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
    if not np.isfinite(contest.chances).all():
        broken(f"after a horizon of one round the probabilities are {shown(contest.chances)}")


@demand()
def extreme_gains_are_survived(case: MetaCase) -> None:
    """Gains at the ends of `clip`, minus a bias of 1, keep the probabilities finite."""
    low, high = case.meta.clip
    for gain in (low - 1, high):
        contest = case.contest(rows=[0, 1], horizon=MANY)
        for number in range(1, MANY + 1):
            contest.round(np.full(contest.rows, gain))
            if number % 100 == 0 and not np.isfinite(contest.chances).all():
                broken(f"after {number} gains of {gain} the probabilities are {shown(contest.chances)}")


# --- Its description -------------------------------------------------------------------------------------------------

DECLARED: dict[str, tuple[Any, ...]] = {
    "needs_horizon": (True, False),
    "needs_bounds": get_args(NeedsBounds),
    "player": get_args(Players),
    "feedback": get_args(FeedbackKind),
}


@demand()
def says_what_it_is(case: MetaCase) -> None:
    """It has a name, a docstring, a help text for every parameter, and declares what it needs in valid words."""
    description_of(case.meta)
    for name, words in DECLARED.items():
        if getattr(case.meta, name) not in words:
            broken(f"{name} must be one of {', '.join(map(str, words))}, not {shown(getattr(case.meta, name))}")
