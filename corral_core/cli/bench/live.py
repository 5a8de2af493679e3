"""The workload `live`: one learner that decides and learns, decision after decision, as a live system does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from corral_core.protocols.base import Base
    from corral_core.protocols.problem import Observation, Problem
    from corral_core.selection.options import Preset
    from corral_core.selection.selection import Selection

ARMS, FEATURES, CONTEXTS = 50, 10, 16
REPEATS = 3  # of which the fastest counts
EIGHT = (5.0, 50.0, 500.0, 5000.0, 2.0, 20.0, 200.0)


@attrs.frozen
class LiveCase:
    """What plays; the bases are UCB and the first epsilon-greedy ones, or two LinUCB."""

    name: str
    bases: int
    preset: Preset = "practice"
    linear: bool = False


CASES = (
    LiveCase("two bases", 2),
    LiveCase("two bases, preset paper", 2, "paper"),
    LiveCase("eight bases", 8),
    LiveCase("two LinUCB", 2, linear=True),
)


def play_live(workload: str, rows: int, horizon: int) -> dict[str, Any]:
    """Time pairs of ask and tell, the fastest of several selections, and count their C calls."""
    from corral_core.cli.bench.calls import PLAYS, per_play

    cases = []
    for case in CASES:
        _seconds(case, min(horizon, 500))
        fastest = min(_seconds(case, horizon) for _ in range(REPEATS))
        calls = per_play(_pairs(case, horizon + PLAYS), min(PLAYS, horizon))
        cases.append({"case": case.name, "us_per_play": fastest / horizon * 1e6, "calls_per_play": calls})
    first = {name: value for name, value in cases[0].items() if name != "case"}
    return {**first, "cases": cases}


def _seconds(case: LiveCase, horizon: int) -> float:
    from time import perf_counter

    pair = _pairs(case, horizon)
    begun = perf_counter()
    for _ in range(horizon):
        pair()
    return perf_counter() - begun


def _pairs(case: LiveCase, horizon: int) -> Callable[[], None]:
    """A function that asks a fresh selection and tells it a reward."""
    import numpy as np

    rng = np.random.default_rng(1)
    select, observations = _selection(case, horizon), _observations(case)
    rewards = iter(rng.random((horizon, 1)))
    played = 0

    def pair() -> None:
        nonlocal played
        if observations:
            _, ticket = select.ask(observations[played % CONTEXTS])
            played += 1
        else:
            _, ticket = select.ask()
        select.tell(ticket, next(rewards))

    return pair


def _selection(case: LiveCase, horizon: int) -> Selection:
    from corral_core.metas.corral import Corral
    from corral_core.selection.options import PRESETS
    from corral_core.selection.selection import Selection

    problem = _problem(case, horizon)
    bases = [base.resolve(problem) for base in _bases(case)]
    rounds = horizon // 2 if case.preset == "paper" else horizon
    return Selection(bases, Corral(), problem, rounds=rounds, rng=1, options=PRESETS[case.preset])


def _problem(case: LiveCase, horizon: int) -> Problem:
    from corral_core.protocols.problem import Problem

    if case.linear:
        return Problem(
            arms=ARMS, dimension=FEATURES, changing=True, noise=0.3, low=-1.0, high=1.0, delta=0.01, horizon=horizon
        )
    return Problem(arms=2, noise=0.5, low=0.0, high=1.0, reward_low=0.0, reward_high=1.0, delta=0.01, horizon=horizon)


def _bases(case: LiveCase) -> list[Base]:
    from corral_core.registry.names import get_registry

    load = get_registry().load
    if case.linear:
        linucb = load("base", "corral-linucb:linucb")
        return [linucb(), linucb(dimension=FEATURES // 2)]
    ucb, greedy = load("base", "corral-mab:ucb"), load("base", "corral-mab:epsilon-greedy")
    return [ucb(), *(greedy(c=c) for c in EIGHT[: case.bases - 1])]


def _observations(case: LiveCase) -> list[Observation]:
    """What changes from play to play; empty if nothing does."""
    import numpy as np

    from corral_core.protocols.problem import Observation

    if not case.linear:
        return []
    features = np.random.default_rng(2).standard_normal((CONTEXTS, 1, ARMS, FEATURES)) / math.sqrt(FEATURES)
    return [Observation(features=each) for each in features]
