"""Whether bases, meta-algorithm, problem and options go together, and what each is told before the first play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corral_core.bounds import Bound
from corral_core.errors import CorralError
from corral_core.options import Options
from corral_core.protocols import Base, Meta, MetaProblem, Problem, fitted_names, kin, knobs
from corral_core.rows import Array, Rows


def given_rows(bases: Sequence[Base], shown: dict[str, Array], rows: int) -> Any:
    """What kin bases are told before the first play, a row a learner: knobs, and what the environment shows."""
    values: dict[str, Array] = {"row": np.tile(np.arange(rows), len(bases))}
    for name in knobs(bases[0]):
        values[name] = np.repeat(np.asarray([knobs(base)[name] for base in bases]), rows, axis=0)
    for name, array in shown.items():
        if name in values:
            raise CorralError(f"{bases[0].name} has a knob called {name}, and so has what the environment shows")
        values[name] = array.take(values["row"], axis=0)
    made: Any = type("Given", (Rows,), {"__annotations__": dict.fromkeys(values, Array)})
    return made(**values)


def group_kin(bases: Sequence[Base]) -> list[Array]:
    """The numbers of the bases, gathered by kinship."""
    groups: list[list[int]] = []
    for number, base in enumerate(bases):
        for group in groups:
            if kin(bases[group[0]], base):
                group.append(number)
                break
        else:
            groups.append([number])
    return [np.asarray(group, dtype=np.intp) for group in groups]


def meta_problem(bases: Sequence[Base], problem: Problem, options: Options, rounds: int) -> MetaProblem:
    """What the meta-algorithm is told: bounds and gains scaled so that mean rewards span [0, 1]."""
    low, high = problem.range
    span = (high - low) or 1.0
    delta = problem.delta if problem.delta is not None else 1 / rounds
    bounds: list[Bound | None] = []
    for base in bases:
        bound = base.bound(delta)
        bounds.append(bound.scaled(1 / span) if bound else None)
    gains = (-1.0, 1.0) if options.bias else (0.0, 1.0)
    return MetaProblem(bases=len(bases), horizon=rounds, delta=delta, gains=gains, bounds=tuple(bounds))


def check_fit(bases: Sequence[Base], meta: Meta | None, problem: Problem, options: Options) -> None:
    """One sentence where bases, meta, problem and options do not go together."""
    if not bases:
        raise CorralError("a selection needs at least one base")
    for base in bases:
        unset = [name for name in fitted_names(base) if getattr(base, name) is None]
        if unset:
            raise CorralError(f"{base.name} does not know its {unset[0]}: call resolve(problem) on it first")
    if meta is None:
        if len(bases) > 1:
            raise CorralError("several bases need a meta-algorithm to choose among them")
        return
    problem.range  # noqa: B018 - raises where it is unknown
    if meta.feedback != "raw" and options.player != "plain":
        raise CorralError(f"{meta.name} teaches every base at every play, so its bases cannot be {options.player}")
    if meta.feedback == "importance-weighted" and problem.episodic:
        raise CorralError(f"{meta.name} needs importance-weighted rewards, which episodes do not have")
    if options.base_test and options.player != "smooth":
        raise CorralError("base_test compares the two steps of a smoothed base; set player to smooth or base_test off")
    for base in bases:
        if meta.feedback == "shared" and not base.learns_from_others:
            raise CorralError(f"{meta.name} shares every play; {base.name} cannot learn from actions of others")
        needed = options.bias or options.base_test or meta.bounds == "every"
        if needed and base.bound(problem.delta or 0.01) is None:
            mend = "" if meta.bounds == "every" else ", or switch bias and base_test off"
            raise CorralError(
                f"{base.name} has no regret bound, which {meta.name} with these options needs; leave it out{mend}"
            )
