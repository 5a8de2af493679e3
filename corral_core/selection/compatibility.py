"""Check what a selection is made of, and that bases, meta-algorithm, problem and options fit together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corral_core.errors import CorralError
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta
from corral_core.protocols.parameters import fitted_names
from corral_core.protocols.problem import Problem
from corral_core.selection.options import Options
from corral_core.selection.stated import check_declared
from corral_core.selection.validation import array_kind, kind
from corral_core.terminal import counted


def check_parts(bases: Any, meta: Any, problem: Any, options: Any) -> None:
    """Raise a `CorralError` if one of these is not what it should be: above all a class where an object belongs."""
    if isinstance(bases, Base | type | Mapping | str) or not isinstance(bases, Sequence):
        raise CorralError(f"bases must be a list of bases, like [Ucb(), Exp3()], not {kind(bases)}")
    wanted: list[tuple[str, Any, Any]] = [("a base", base, Base) for base in bases]
    wanted += [("meta", meta, Meta | None), ("problem", problem, Problem), ("options", options, Options | None)]
    for name, value, cls in wanted:
        if isinstance(value, type):
            raise CorralError(f"{name} must be an object, not a class: write {value.__name__}(...)")
        if not isinstance(value, cls):
            what = {"options": 'Options, like PRESETS["practice"]', "problem": "a Problem", "meta": "a Meta or None"}
            raise CorralError(f"{name} must be {what.get(name, 'a Base')}, not {kind(value)}")
    if meta is not None:
        check_declared(meta, meta.name)


def check_sizes(rows: Any, rounds: Any) -> None:
    """Raise a `CorralError` if the number of rows or rounds is wrong."""
    for name, value in (("rows", rows), ("rounds", 1 if rounds is None else rounds)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise CorralError(f"{name} must be a whole number of at least 1, not {kind(value)}")


def check_unknown_rounds(meta: Meta | None, problem: Problem, options: Options) -> None:
    """Raise a `CorralError` if a selection that is told no number of rounds needs it."""
    if meta is None:
        return
    if meta.needs_horizon:
        raise CorralError(f"{meta.name} needs rounds: the number of rounds that it plans for")
    if problem.delta is None:
        raise CorralError(f"{meta.name} without rounds needs a problem with delta, which otherwise is 1/rounds")
    if options.base_test:
        raise CorralError("base_test needs to know the number of rounds for its width; switch base_test off")


def check_shown(shown: Any, rows: int) -> None:
    """Raise a `CorralError` unless this is a table of arrays with one entry per row."""
    if not isinstance(shown, Mapping):
        raise CorralError(f"shown must be a table of arrays by name, not {kind(shown)}")
    for name, value in shown.items():
        if not isinstance(value, np.ndarray) or value.shape[:1] != (rows,):
            raise CorralError(f"shown[{name!r}] must be an array with {counted(rows, 'row')}, not {array_kind(value)}")


def check_fit(bases: Sequence[Base], meta: Meta | None, problem: Problem, options: Options) -> None:
    """Raise a `CorralError` if bases, meta, problem and options do not fit together."""
    if not bases:
        raise CorralError("a selection needs at least one base")
    for base in bases:
        unset = [name for name in fitted_names(base) if getattr(base, name) is None]
        if unset:
            raise CorralError(f"{base.name} does not know its {unset[0]}: call resolve(problem) on it first")
        if problem.renewable and not base.renews:
            raise CorralError(f"{base.name} cannot forget an arm; {problem.environment} replaces arms by new ones")
    if options.share and options.player != "plain":
        raise CorralError(
            f"share needs plain players, which learn from every play: set player to plain, not {options.player}"
        )
    if meta is None:
        if len(bases) > 1:
            raise CorralError("several bases need a meta-algorithm to choose among them")
        return
    problem.check_range()
    if meta.feedback != "raw" and options.player != "plain":
        raise CorralError(f"{meta.name} teaches every base at every play: player must be plain, not {options.player}")
    if options.share and meta.feedback != "raw":
        raise CorralError(
            f"share needs raw feedback, but {meta.name} takes {meta.feedback} feedback: set share to false"
        )
    if meta.feedback == "importance-weighted" and problem.episodic:
        raise CorralError(f"{meta.name} needs importance-weighted rewards, which episodes do not have")
    if options.base_test and options.player != "smooth":
        raise CorralError("base_test compares the two steps of a smoothed base; set player to smooth or base_test off")
    unlimited = options.clip == "none" and options.test_variance == "auto" and problem.noise is None
    if options.base_test and unlimited:
        raise CorralError(
            f"base_test needs the noise of {problem.environment}, which is unknown: set clip or test_variance"
        )
    for base in bases:
        needed = options.bias or options.base_test or meta.needs_bounds == "every"
        if needed and base.stated_bound(problem.delta or 0.01) is None:
            mend = "" if meta.needs_bounds == "every" else ", or switch off bias and base_test"
            raise CorralError(
                f"{base.name} has no regret bound in {problem.environment}, but {meta.name} with these options needs "
                f"one; claim a bound for it, remove it{mend}"
            )
