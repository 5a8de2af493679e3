"""What bases and the meta-algorithm are told before the first play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corral_core.bounds import Bound
from corral_core.errors import CorralError
from corral_core.protocols.base import Base
from corral_core.protocols.meta import MetaProblem
from corral_core.protocols.parameters import kin, knobs
from corral_core.protocols.problem import Problem
from corral_core.rows import Array, Rows
from corral_core.selection.options import Options


def given_rows(bases: Sequence[Base], shown: dict[str, Array], rows: int) -> Any:
    """What kin bases are told before the first play, one row per learner: knobs, and what the environment shows."""
    values: dict[str, Array] = {"row": np.tile(np.arange(rows), len(bases))}
    for name in knobs(bases[0]):
        values[name] = np.repeat(np.asarray([knobs(base)[name] for base in bases]), rows, axis=0)
    for name, array in shown.items():
        if name in values:
            raise CorralError(f"{bases[0].name} has a knob called {name}, but the environment shows {name} too")
        values[name] = array.take(values["row"], axis=0)
    made: Any = type("Given", (Rows,), {"__annotations__": dict.fromkeys(values, Array)})
    return made(**values)


def group_kin(bases: Sequence[Base]) -> list[Array]:
    """The numbers of the bases, grouped into kin."""
    groups: list[list[int]] = []
    for number, base in enumerate(bases):
        for group in groups:
            if kin(bases[group[0]], base):
                group.append(number)
                break
        else:
            groups.append([number])
    return [np.asarray(group, dtype=np.intp) for group in groups]


def units(problem: Problem, options: Options) -> tuple[float, float, float]:
    """Where the rewards that a meta sees begin, their unit, and the range of mean rewards in it."""
    low, high = problem.range
    span = (high - low) or 1.0
    return (0.0, 1.0, span) if options.units == "raw" else (low, span, 1.0)


def meta_problem(bases: Sequence[Base], problem: Problem, options: Options, rounds: int | None) -> MetaProblem:
    """What the meta-algorithm is told: bounds and gains in its units, in which mean rewards usually span [0, 1]."""
    _, span, most = units(problem, options)
    delta = problem.delta
    if delta is None:
        if rounds is None:
            raise CorralError("delta must be set if the number of rounds is unknown")
        delta = 1 / rounds
    bounds: list[Bound | None] = []
    for base in bases:
        bound = base.stated_bound(delta)
        bounds.append(bound.scaled(1 / span) if bound else None)
    low, high = problem.range if options.units == "raw" else (0.0, 1.0)
    if not isinstance(options.clip, str):
        low, high = options.clip[0], options.clip[1]
    gains = (low - most, high) if options.bias else (low, high)
    plays = None
    if rounds is not None:
        plays = rounds * options.steps if problem.horizon is None else problem.horizon
    return MetaProblem(bases=len(bases), horizon=rounds, delta=delta, plays=plays, gains=gains, bounds=tuple(bounds))
