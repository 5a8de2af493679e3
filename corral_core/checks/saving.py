"""Checks of saving: what was saved at any moment and loaded continues with the same bits, late answers included."""

from __future__ import annotations

import copy
import io
from itertools import pairwise
from typing import Any

import numpy as np

from corral_core.bases.lift import Lifted, saves_state
from corral_core.checks.contests import ROUNDS, Contest, MetaCase
from corral_core.checks.rules import Checks, broken, shown
from corral_core.checks.trial import TURNS, BaseCase
from corral_core.errors import CorralError
from corral_core.protocols.problem import Observation
from corral_core.rows import Array
from corral_core.selection.options import Options
from corral_core.selection.saving import SavedSelection, saved
from corral_core.selection.selection import Selection

SAVING = Checks()
META_SAVING = Checks()
MOMENTS = (0, 1, 4, 9)  # plays before it is saved
ROWS = 3


class Session:
    """A base alone in an environment, whose rewards come late and out of order."""

    def __init__(self, case: BaseCase, player: str) -> None:
        self.environment, self.base, self.problem = case.environment, case.base, case.problem()
        self.luck = np.random.default_rng(1)
        self.instance = self.environment.draw(ROWS, self.luck)
        self.selection = Selection(
            [self.base],
            None,
            self.problem,
            rows=ROWS,
            rng=2,
            options=Options(player=player, copies=2),  # type: ignore[arg-type]
            shown=self.environment.shown(self.instance),
        )
        self.late: list[tuple[int, Array, Any]] = []
        self.done: list[Array] = []

    def play(self, plays: int) -> Session:
        """Play on; up to two answers are late, and every third call of `tell` is out of order."""
        for _ in range(plays):
            ticket: Any = None

            def act(observation: Observation) -> Array:
                nonlocal ticket
                actions, ticket = self.selection.ask(observation, ticket)
                self.done.append(actions)
                return actions

            played = self.environment.play(self.instance, act, self.luck)
            self.late.append((ticket.number, np.array(played.reward), copy.deepcopy(played.observation)))
            if len(self.late) > 2:
                number, reward, seen = self.late.pop(int(self.luck.integers(3)))
                self.selection.tell(number, reward, seen)
        return self

    def restore(self) -> None:
        """Save the selection, and continue with what is loaded."""
        file = SavedSelection(saved(self.selection), "the file")
        self.selection = Selection._restored(file, [self.base], None, self.problem, None)


@SAVING.demand()
def states_survive_saving(case: BaseCase) -> None:
    """Saved and loaded at several moments, a selection continues with the same bits, late answers included.

    This holds with each kind of player. Saving may be refused if the learners are Python objects without `to_state`.
    """
    for player in ("plain", "smooth", "boosted"):
        found = Session(case, player)
        try:
            wanted = Session(case, player).play(MOMENTS[-1] + TURNS)
        except Exception:  # another check reports it
            return
        for before, moment in pairwise((0, *MOMENTS)):
            found.play(moment - before)
            try:
                found.restore()
            except CorralError as refused:
                if not case.base.saves or (isinstance(case.base, Lifted) and not _can_save(found)):
                    return
                broken(f"played {player} and saved after {moment} plays: {refused}")
        moments = " and ".join(map(str, MOMENTS))
        _compare(found.play(TURNS), wanted, f"played {player}, saved and loaded after {moments} plays")


def _can_save(session: Session) -> bool:
    learners = getattr(session.selection.blocks[0].player.state, "learner", np.zeros(0))
    return bool(len(learners)) and saves_state(learners[0])


def _compare(found: Session, wanted: Session, what: str) -> None:
    """Raise `Broken` unless both sessions acted alike, drew alike and know the same."""
    for number, (one, other) in enumerate(zip(found.done, wanted.done, strict=True), start=1):
        if not np.array_equal(one, other):
            broken(f"{what}, at play {number}: action {shown(one)} in place of {shown(other)}")
    if repr(found.selection.rng.bit_generator.state) != repr(wanted.selection.rng.bit_generator.state):
        broken(f"{what}: it drew other numbers")
    states = [session.selection.blocks[0].player.state for session in (found, wanted)]
    if isinstance(wanted.base, Lifted):
        return
    one, other = (state.to_arrays() for state in states)
    for name, array in other.items():
        if name not in one or not np.array_equal(one[name], array, equal_nan=array.dtype.kind == "f"):
            broken(f"{what}: {name} is {shown(one.get(name))} in place of {shown(array)}")


@META_SAVING.demand()
def state_survives_saving(case: MetaCase) -> None:
    """A state that was saved and loaded with `to_arrays` and `from_arrays` continues with the same bits."""
    for moment in (0, 1, 6, 13):
        wanted, found = (_late(case, moment, saves) for saves in (False, True))
        for number, pair in enumerate(zip(found.history, wanted.history, strict=True), start=1):
            for name, one, other in zip(("base", "probability"), *pair, strict=True):
                if not np.array_equal(np.asarray(one), np.asarray(other)):
                    what = f"saved after {moment} rounds, loaded and continued, at round {number}"
                    broken(f"{what}: {name} {shown(one)} in place of {shown(other)}")


def _late(case: MetaCase, moment: int, saves: bool) -> Contest:
    """A contest in which one gain is late; its state may be saved and loaded before the gain arrives."""
    contest = case.contest().run(moment)
    late = contest.choose()
    if saves:
        file = io.BytesIO()
        np.savez(file, **case.meta.to_arrays(contest.state))  # type: ignore[arg-type]
        file.seek(0)
        fresh = case.contest().state
        contest.state = case.meta.from_arrays(fresh, dict(np.load(file, allow_pickle=False)))
    case.meta.update(contest.state, *late, contest.gain(contest.mean[:, 0].copy()), contest.active)
    return contest.run(ROUNDS - moment)
