"""Checks of what a meta-algorithm states about itself: its guarantee, and that it needs no horizon."""

from __future__ import annotations

import itertools
import math
from typing import Any

import attrs
import numpy as np

from corral_core.bounds import Bound, Term
from corral_core.checks.contests import ROUNDS, Contest, MetaCase
from corral_core.checks.rules import Checks, broken, shown
from corral_core.parsing import build
from corral_core.protocols.meta import Condition, Guarantee, MetaProblem
from corral_core.selection.options import Options

GUARANTEES = Checks()
demand = GUARANTEES.demand
TERMS = (Term(1.0, 0.5), Term(20.0, 0.5), Term(0.1, 2 / 3), Term(3.0, 0.9))
HORIZONS = (1, 2, 1000, 10**9)


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
    """The order of a guarantee is a positive, finite number for every term and number of rounds."""
    for problem in problems(case):
        found = case.meta.guarantee(problem)
        if found is None:
            continue
        if not isinstance(found, Guarantee):
            broken(f"`guarantee` must return a Guarantee or None, not {shown(found)}")
        for term, rounds in itertools.product(TERMS, HORIZONS if problem.horizon is None else (problem.horizon,)):
            order = found.order(term, rounds)
            if not isinstance(order, int | float | np.number) or not 0 < order < math.inf:
                broken(f"its order for {term} and {rounds:,} rounds must be a positive number, not {shown(order)}")


@demand()
def guarantee_says_what_it_requires(case: MetaCase) -> None:
    """A guarantee has a source and a formula, requires options that exist, and its conditions are `Condition`s."""
    for problem in problems(case):
        found = case.meta.guarantee(problem)
        if not isinstance(found, Guarantee):
            continue
        for name in ("source", "formula"):
            if not isinstance(text := getattr(found, name), str) or not text.strip():
                broken(f"its guarantee needs a {name}, not {shown(text)}")
        build(Options, dict(found.requires), "what its guarantee requires")
        for condition in found.conditions:
            if not _is_condition(condition):
                broken(f"its guarantee has the condition {shown(condition)}; use Condition(text, True, False or None)")


def _is_condition(value: Any) -> bool:
    if not isinstance(value, Condition) or not isinstance(value.text, str) or not value.text.strip():
        return False
    return value.holds is None or isinstance(value.holds, bool)


def _needs_no_horizon(case: MetaCase) -> bool:
    return not case.meta.needs_horizon


@demand(when=_needs_no_horizon)
def unknown_horizon(case: MetaCase) -> None:
    """A meta that needs no horizon plays without one, and says what it chose."""
    problem = attrs.evolve(told(case, ROUNDS), horizon=None)
    contest = Contest(case.meta, problem, range(3)).run()
    if not contest.finite:
        broken(f"without a horizon the probabilities are {shown(contest.chances)}")
    case.meta.choices(problem)
