"""Checks that rows are independent learners: no row's plays depend on the other rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs
import numpy as np

from corral_core.checks.rules import Checks, broken, shown
from corral_core.checks.streams import Streams
from corral_core.checks.trial import TURNS, BaseCase, Trial, compare, compare_plays, held, unchanged
from corral_core.errors import CorralError
from corral_core.protocols.base import Base
from corral_core.protocols.parameters import kin, knobs
from corral_core.protocols.problem import action_of

ROWS = Checks()
demand = ROWS.demand


def _same_row(row: int, _: int) -> int:
    return row


def _in_slot(first: int, row: int) -> int:
    return first + row


@demand()
def rows_are_independent(case: BaseCase) -> None:
    """A row plays the same alone and among others, and permuted rows give permuted plays."""
    together = case.trial(rows=[0, 1, 2, 3, 4]).run()
    permuted = case.trial(rows=[3, 0, 4, 2, 1]).run()
    for row in range(5):
        compare(case.trial(rows=[row]).run(), together, partial(_same_row, row), f"row {row} alone and among others")
    compare(permuted, together, lambda row: [3, 0, 4, 2, 1][row], "rows permuted")


@demand()
def lockstep_equals_one_by_one(case: BaseCase) -> None:
    """Rows that play one after another make the same plays as in lockstep."""
    together, apart = case.trial().run(), case.trial()
    for _ in range(TURNS):
        for row in (4, 1, 0, 3, 2):
            apart.play([row])
    compare(apart, together, lambda row: row, "one row at a time and in lockstep")


@demand()
def learn_changes_only_its_rows(case: BaseCase) -> None:
    """`learn(state, rows, ...)` leaves all other rows unchanged."""
    trial = case.trial().run(2)
    for number in range(TURNS):
        rows = [[1, 3], [0], [4, 2, 0]][number % 3]
        others = np.setdiff1d(trial.everyone, rows)
        before = held(trial.state, others)
        trial.play(rows)
        unchanged(held(trial.state, others), before, f"rows {rows} learned, and in the other rows")


@demand()
def no_rows(case: BaseCase) -> None:
    """`policy`, `act` and `learn` accept zero rows and then change nothing."""
    trial = case.trial()
    moment = trial.play()
    before = held(trial.state, trial.everyone)
    none, no_streams = np.zeros(0, dtype=np.intp), Streams([])
    policy = case.base.policy(trial.state, none)
    decision: Any = case.base.act(policy, moment.seen[0].take(none), no_streams)  # type: ignore[arg-type]
    if len(action_of(decision)) != 0:
        broken(f"act on zero rows returned {shown(action_of(decision))}")
    case.base.learn(trial.state, none, moment.feedback.take(none), no_streams)  # type: ignore[arg-type]
    unchanged(held(trial.state, trial.everyone), before, "zero rows learned, but")


@demand()
def a_restart_equals_a_fresh_start(case: BaseCase) -> None:
    """Putting `init` into some rows makes them fresh learners, and the other rows continue unchanged."""
    trial, fresh = case.trial().run(6), case.trial()
    undisturbed = case.trial().run(6 + TURNS)
    trial.restart(np.array([1, 3]), [901, 903])
    fresh.restart(fresh.everyone, [900, 901, 902, 903, 904])
    trial.run()
    fresh.run()
    for row in trial.everyone.tolist():
        is_restarted = row in (1, 3)
        wanted = fresh.history(row) if is_restarted else undisturbed.history(row)[6:]
        what = f"row {row}, restarted after six plays" if is_restarted else f"row {row}, next to rows that restarted"
        compare_plays(trial.history(row)[6:], wanted, what)


def _kin_of(case: BaseCase) -> Base | None:
    """A base that differs only in knobs: another example or, if there is none, one with other numbers."""
    problem, mine = case.problem(), knobs(case.base)
    for other in type(case.asked).examples():
        if kin(other, case.asked) and knobs(other) != knobs(case.asked):
            return other.resolve(problem)
    found = case.asked
    for name, value in mine.items():
        if not isinstance(value, bool | int | float | np.number):
            continue
        choices = [not value] if isinstance(value, bool) else [value * 2, value / 2, value + 1, value - 1, 0, 1]
        for choice in (choice for choice in choices if choice != value):
            try:
                changed = attrs.evolve(found, **{name: type(value)(choice)})  # type: ignore[arg-type]
                changed.resolve(problem)
            except (ValueError, TypeError, CorralError):
                continue
            found = changed
            break
    resolved = found.resolve(problem)
    return None if knobs(resolved) == mine or not kin(resolved, case.base) else resolved


@demand(when=lambda case: bool(knobs(case.asked)) and _kin_of(case) is not None)
def kin_equal_separate_bases(case: BaseCase) -> None:
    """Kin make the same plays in one block and apart: knobs are read from `given`, never from `self`."""
    other = _kin_of(case)
    assert other is not None
    rows = [0, 1, 2]
    block = Trial([case.base, other], case.environment, case.problem(), rows).run()
    for slot, base in enumerate((case.base, other)):
        ids = [slot * 1000 + row for row in rows]
        apart = Trial([base], case.environment, case.problem(), rows, ids=ids).run()
        values = ", ".join(f"{name} = {value}" for name, value in knobs(base).items())
        compare(apart, block, partial(_in_slot, slot * len(rows)), f"with {values}, apart and in one block")
