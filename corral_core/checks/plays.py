"""Checks that every base must pass before the others can run; and the smallest problems."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np

from corral_core.checks.rules import Checks, broken, nothing_global_drawn, shown
from corral_core.checks.streams import draw_by_rows
from corral_core.checks.trial import BaseCase, Trial, arrays_of, compare
from corral_core.errors import CorralError
from corral_core.protocols.base import Base
from corral_core.rows import Rows

PLAYS = Checks()
demand = PLAYS.demand


@demand(first=True)
def fits_or_refuses(case: BaseCase) -> None:
    """`resolve` fits the base to the problem, or refuses with a CorralError: one sentence."""
    case.resolve()


@demand(first=True)
def draws_have_rows_first(case: BaseCase) -> None:
    """Every draw from the generator has rows as its first axis, including rows that need no number."""
    draw_by_rows(lambda: case.trial().run())


@demand(first=True)
def shapes(case: BaseCase) -> None:
    """`init` and `policy` return Rows with one row per learner; `act` returns one available action per row."""
    trial = case.trial()
    _own_arrays(trial.state, 5)
    if case.base.rarely_changes:
        _says_where(case.base, trial.state)
    trial.run().play([1, 3])


def _says_where(base: Base, state: Rows) -> None:
    if type(base).changed is Base.changed:
        broken("`rarely_changes` is True, but `changed`, which says when it changes, is not defined")
    flags = base.changed(state, np.array([1, 3]))
    if not isinstance(flags, np.ndarray) or flags.shape != (2,) or flags.dtype != bool:
        broken(f"changed(state, rows) for 2 rows must be an array of 2 booleans, not {shown(flags)}")


def _own_arrays(state: Rows, rows: int) -> None:
    """Each array has one row per learner, and none shares memory: after saving and loading they would not."""
    arrays = arrays_of(state)
    for name, array in arrays.items():
        if len(array) != rows:
            broken(f"init: {name} must have {rows} rows, not {shown(array)}")
    for (name, one), (other, two) in itertools.combinations(sorted(arrays.items()), 2):
        if np.shares_memory(one, two):
            broken(f"init: {name} and {other} share memory; make them separate arrays")


@demand(first=True)
def single_row(case: BaseCase) -> None:
    """A single learner can play alone."""
    case.trial(rows=[3]).run()


@demand(first=True)
def no_global_randomness(case: BaseCase) -> None:
    """Neither `random` nor `np.random` is drawn from or seeded."""
    with nothing_global_drawn():
        case.trial().run(3)


@demand(first=True)
def same_seed_same_actions(case: BaseCase) -> None:
    """The same seed gives the same actions: all randomness comes from the generator passed in."""
    compare(case.trial().run(), case.trial().run(), lambda row: row, "played twice with the same streams")


@demand()
def horizon_of_one(case: BaseCase) -> None:
    """With a horizon of one play it plays once."""
    problem = case.problem(horizon=1)
    base = case.asked.resolve(problem)
    Trial([base], case.environment, problem, [0, 1]).play()
    base.bound(0.5)


@demand(when=lambda case: any(field.name == "arms" for field in attrs.fields(type(case.environment))))
def single_arm(case: BaseCase) -> None:
    """With one arm it plays that arm, or refuses with a CorralError."""
    try:
        environment: Any = attrs.evolve(case.environment, arms=1)  # type: ignore[call-arg]
    except (CorralError, ValueError):
        return  # the environment requires more arms
    only = BaseCase(case.asked, environment)
    try:
        base = only.base
    except CorralError:
        return
    only.trial().run()
    base.bound(0.1)
