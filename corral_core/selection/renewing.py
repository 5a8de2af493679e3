"""Renewing arms: which arms a caller means, checked before anything changes, and the bases that forget them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corral_core.errors import CorralError
from corral_core.protocols.problem import Problem
from corral_core.rows import Array
from corral_core.selection.failures import Failures, SetAside
from corral_core.selection.options import Options
from corral_core.selection.round import Part
from corral_core.selection.validation import array_kind, kind


def renewed_arms(arms: Any, rows: Any, problem: Problem, options: Options, count: int) -> Array:
    """The arms to renew, as (rows, arms) booleans, from numbers or booleans, in all `count` rows or only in some."""
    if not problem.renewable or problem.actions != "finite" or problem.arms is None:
        raise CorralError(f"{problem.environment} has no arms that can be renewed; set renewable=True in its Problem")
    if options.player != "plain":
        raise CorralError(f"renew needs plain players: the past that {options.player} players keep cannot be renewed")
    some = np.zeros(count, dtype=bool)
    some[_numbers(rows, "rows", count)] = True
    found = np.zeros((count, problem.arms), dtype=bool)
    marks = _as_array(arms, "arms")
    if marks.dtype == bool and marks.shape == found.shape:
        found |= marks
    else:
        found[:, _numbers(arms, "arms", problem.arms)] = True
    return np.asarray(found & some[:, None])


def _numbers(value: Any, what: str, count: int) -> Array | slice:
    """Numbers from 0 to count - 1, or as many booleans; None stands for all."""
    if value is None and what == "rows":
        return slice(None)
    array = _as_array(value, what)
    if array.dtype == bool:
        if array.shape != (count,):
            raise CorralError(f"{what} to renew must be numbers, or {count} booleans, not {array_kind(array)}")
        return np.flatnonzero(array)
    if array.size == 0:
        return np.zeros(0, dtype=np.intp)
    if array.ndim > 1 or array.dtype.kind not in "iu":
        raise CorralError(f"{what} to renew must be whole numbers or booleans, not {array_kind(array)}")
    array = np.atleast_1d(array)
    if array.min() < 0 or array.max() >= count:
        wrong = array.min() if array.min() < 0 else array.max()
        raise CorralError(f"{what} to renew must be from 0 to {count - 1}, not {wrong}")
    return array


def _as_array(value: Any, what: str) -> Array:
    try:
        return np.asarray(value)
    except ValueError:  # lists of different lengths
        raise CorralError(f"{what} to renew must be whole numbers or booleans, not {kind(value)}") from None


def renew(parts: Sequence[Part], renewed: Array, failures: Failures) -> bool:
    """Let the learners of these parts forget the renewed arms. False if a base failed and was set aside."""
    done = True
    for part in parts:
        player = part.block.player
        own = renewed.take(part.rows, axis=0)[:, : getattr(player.base, "arms", None)]
        touched = np.flatnonzero(own.any(axis=1))
        try:
            if len(touched):
                failures.call(part.at[touched], player.renew, part.learners[touched], own[touched])
        except SetAside:
            done = False
    return done
