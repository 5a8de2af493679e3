"""Checks of what a meta-algorithm states about itself: its guarantee, and that it needs no horizon."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

from corral_core.bounds import Bound, Term
from corral_core.checks.contests import ROUNDS, Contest, MetaCase
from corral_core.checks.rules import Checks, broken, shown
from corral_core.errors import CorralError
from corral_core.experiments.guarantee import FAR
from corral_core.protocols.meta import Guarantee, MetaProblem
from corral_core.selection.stated import stated_choices, stated_guarantee, stated_order

GUARANTEES = Checks()
demand = GUARANTEES.demand
TERMS = (Term(1.0, 0.5), Term(20.0, 0.5), Term(0.1, 2 / 3), Term(3.0, 0.9))
HORIZONS: tuple[Any, ...] = (1, 2, 1000, 10**9, FAR)


def told(case: MetaCase, horizon: int | None, bases: int = 3) -> MetaProblem:
    """What a meta is told over bases of the bound 2 s^(1/2), or without a bound."""
    bound = Bound(lambda s: 2 * np.sqrt(s), (Term(2.0, 0.5),)) if case.bounded else None
    return MetaProblem(bases=bases, horizon=horizon, delta=0.001, bounds=(bound,) * bases)


def problems(case: MetaCase) -> list[MetaProblem]:
    """What it may be told: few and many rounds and bases, and no number of rounds if it needs none."""
    horizons = HORIZONS if case.meta.needs_horizon else (*HORIZONS, None)
    return [told(case, horizon, bases) for horizon in horizons for bases in (1, 3)]


@demand()
def guarantee_has_an_order(case: MetaCase) -> None:
    """The order of a guarantee is a positive, finite number for every term and number of rounds.

    The number of rounds may be huge: exponents of theory are measured at 2^400 rounds.
    """
    for problem in problems(case):
        found = case.meta.guarantee(problem)
        if found is None:
            continue
        if not isinstance(found, Guarantee):
            broken(f"`guarantee` must return a Guarantee or None, not {shown(found)}")
        horizons = HORIZONS if problem.horizon is None else (problem.horizon,)
        for term, rounds in itertools.product(TERMS, horizons):
            with _sentences():
                stated_order(case.meta, found, term, rounds)


@demand()
def guarantee_says_what_it_requires(case: MetaCase) -> None:
    """A guarantee has a source and a formula, requires options that exist, and its conditions are `Condition`s."""
    for problem in problems(case):
        if isinstance(case.meta.guarantee(problem), Guarantee):
            with _sentences():
                stated_guarantee(case.meta, problem)


@demand()
def choices_are_sentences(case: MetaCase) -> None:
    """`choices` returns a list of sentences."""
    for problem in problems(case):
        with _sentences():
            stated_choices(case.meta, problem)


@contextmanager
def _sentences() -> Iterator[None]:
    """What is refused breaks the check."""
    try:
        yield
    except CorralError as refused:
        broken(str(refused))


def _needs_no_horizon(case: MetaCase) -> bool:
    return not case.meta.needs_horizon


@demand(when=_needs_no_horizon)
def unknown_horizon(case: MetaCase) -> None:
    """A meta that needs no horizon plays without one."""
    problem = attrs.evolve(told(case, ROUNDS), horizon=None)
    contest = Contest(case.meta, problem, range(3)).run()
    if not contest.finite:
        broken(f"without a horizon the probabilities are {shown(contest.chances)}")
