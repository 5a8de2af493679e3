"""Validate what bases and metas return: each error is one sentence that names who returned what."""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.errors import CorralError
from corral_core.kernels.ranges import ROUNDING, are_choices, in_range
from corral_core.log import Log
from corral_core.parsing import shown
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta, Verdict
from corral_core.protocols.problem import Observation, Problem
from corral_core.rows import Array, Rows

LARGEST = 1e150  # value of a curve; the square of a larger one, which a deviation needs, is infinite


def actions_in(decision: Any, base: Base, problem: Problem, observation: Observation, rows: int) -> Array:
    """The actions in what `act` returned, checked: one per row, each of them available."""
    actions = actions_like(decision, base, problem, rows)
    check_available(actions, base, problem, observation)
    return actions


def actions_like(decision: Any, base: Base, problem: Problem, rows: int) -> Array:
    """The actions in what `act` returned, one per row, of the right kind; `check_available` checks what they are.

    Numbers without a sign, or in the byte order of another machine, become usual ones, as kernels know only those.
    """
    actions = decision if isinstance(decision, np.ndarray) else getattr(decision, "action", None)
    if not isinstance(actions, np.ndarray):
        raise CorralError(f"{base.name}: act must return an array, or Rows with action, not {kind(decision)}")
    dtype, is_finite = actions.dtype, problem.actions == "finite"
    if is_finite and dtype.kind == "i" and dtype.isnative and actions.shape == (rows,):
        return actions
    if len(actions.shape) == 0 or len(actions) != rows:
        raise CorralError(f"{base.name}: act must return one action per row, {rows} in all, not shape {actions.shape}")
    if not is_finite:
        shape = (rows, problem.dimension)
        if actions.shape != shape or dtype.kind != "f":
            raise CorralError(f"{base.name}: act must return floats of shape {shape}, not {dtype} of {actions.shape}")
        return actions if dtype.char in "df" and dtype.isnative else actions.astype(np.float64)
    if actions.shape != (rows,) or dtype.kind not in "iu":
        raise CorralError(
            f"{base.name}: act must return whole numbers of shape ({rows},), not {dtype} of {actions.shape}"
        )
    return actions.astype(np.intp)


def with_actions(decision: Any, actions: Array) -> Any:
    """What `act` returned, with these actions in place of its own, unless they are the same."""
    if isinstance(decision, np.ndarray):
        return actions
    return decision if decision.action is actions else decision.replace(action=actions)


def are_available(actions: Array, problem: Problem, observation: Observation) -> bool:
    """Whether these actions, of the right kind, are finite or among the arms that are available."""
    if problem.actions != "finite":
        return bool(np.isfinite(actions).all())
    mask = observation.mask
    arms = problem.arms if mask is None else mask.shape[1]
    if arms is not None and not in_range(actions, 0, arms - 1):
        return False
    return mask is None or bool(mask[np.arange(len(actions)), actions].all())


def check_available(actions: Array, base: Base, problem: Problem, observation: Observation) -> None:
    """Raise an error unless these actions of a base are available."""
    if problem.actions != "finite":
        if not np.isfinite(actions).all():
            raise CorralError(f"{base.name}: act returned an action that is not finite")
        return
    mask = observation.mask
    arms = problem.arms if mask is None else mask.shape[1]
    if arms is not None and not in_range(actions, 0, arms - 1):
        wrong = actions[(actions < 0) | (actions >= arms)][0]
        raise CorralError(f"{base.name}: act returned arm {wrong}; {problem.environment} has 0 to {arms - 1}")
    if mask is not None and not mask[np.arange(len(actions)), actions].all():
        raise CorralError(f"{base.name}: act returned an arm that the mask excludes")


def choice_of(meta: Meta, choice: Any, bases: int, rows: int) -> tuple[Array, Array | None]:
    """What `choose` returned, checked: the base of every row and its probability."""
    if not isinstance(choice, tuple) or len(choice) != 2:
        raise CorralError(f"{meta.name}: choose must return bases and probabilities, not {kind(choice)}")
    chosen, probability = choice
    if not isinstance(chosen, np.ndarray) or chosen.shape != (rows,) or chosen.dtype.kind not in "iu":
        raise CorralError(f"{meta.name}: choose must return one whole number per row, of shape ({rows},)")
    chosen = np.asarray(chosen, dtype=np.intp)
    if probability is None:
        if meta.feedback == "importance-weighted":
            raise CorralError(f"{meta.name}: importance-weighted feedback needs the probabilities of choices, not None")
        fits = in_range(chosen, 0, bases - 1)
    elif is_array(probability, "f", rows, 1):
        probability = np.asarray(probability, dtype=np.float64)
        fits = are_choices(chosen, probability, bases)
    else:
        wanted = f"one probability per row, of shape ({rows},), or None"
        raise CorralError(f"{meta.name}: choose must return {wanted}, not {array_kind(probability)}")
    if not fits:
        _refuse_choices(meta, chosen, probability, bases)
    return chosen, probability


def _refuse_choices(meta: Meta, chosen: Array, probability: Array | None, bases: int) -> None:
    """Say which base or probability of a choice is out of range."""
    strange = chosen[(chosen < 0) | (chosen >= bases)]
    if len(strange):
        raise CorralError(f"{meta.name}: choose must return bases 0 to {bases - 1}, not {strange[0]}")
    assert probability is not None
    wrong = probability[~((probability > 0) & (probability <= 1 + ROUNDING))][0]
    raise CorralError(f"{meta.name}: choose must return probabilities above 0 and at most 1, not {wrong:.3g}")


def check_active(meta: Meta, chosen: Array, active: Array) -> None:
    """Refuse the choice of a base that was dropped or set aside."""
    may = active[chosen, np.arange(len(chosen))]
    if not may.all():
        raise CorralError(f"{meta.name}: choose must choose an active base, but base {chosen[~may][0]} is not active")


def probabilities_of(meta: Meta, found: Any, bases: int, rows: int) -> Array | None:
    """What `probabilities` returned, checked: (bases, rows), at least 0, summing to one in every row; or None."""
    if found is None:
        return None
    if not is_array(found, "f", bases, 2) or found.shape != (bases, rows):
        wanted = f"floats of shape ({bases}, {rows}): bases, rows"
        raise CorralError(f"{meta.name}: probabilities must be {wanted}, not {array_kind(found)}")
    total = found.sum(axis=0)
    if not (found >= 0).all() or not (np.abs(total - 1) <= ROUNDING).all():
        row = int(np.argmax((found < 0).any(axis=0) | ~(np.abs(total - 1) <= ROUNDING)))
        raise CorralError(
            f"{meta.name}: probabilities must be at least 0 and sum to one, not {shown(found[:, row].tolist())}"
        )
    checked: Array = found
    return checked


def verdict_of(meta: Meta, verdict: Any, bases: int, rows: int) -> Verdict | None:
    """What `update` returned, checked: None, or masks of bases to restart, to drop and to readmit."""
    if verdict is None:
        return None
    if not isinstance(verdict, Verdict):
        raise CorralError(f"{meta.name}: update must return a Verdict or None, not {kind(verdict)}")
    for name in ("restart", "drop", "readmit"):
        mask = getattr(verdict, name)
        if mask is not None and not (is_array(mask, "b", bases, 2) and mask.shape == (bases, rows)):
            wanted = f"booleans of shape ({bases}, {rows}): bases, rows"
            raise CorralError(f"{meta.name}: {name} of a Verdict must be {wanted}, not {array_kind(mask)}")
    if verdict.drop is not None and verdict.readmit is not None and (verdict.drop & verdict.readmit).any():
        raise CorralError(f"{meta.name}: a Verdict must not drop and readmit the same base of a row")
    return verdict


def recorded_of(meta: Meta, found: Any, bases: int, rows: int) -> dict[str, Array]:
    """What `recorded` returned, checked: the quantities in `records`, each (bases, rows), finite numbers."""
    if not isinstance(found, dict) or set(found) != set(meta.records):
        what = ", ".join(map(shown, found)) or "nothing" if isinstance(found, dict) else kind(found)
        wanted = ", ".join(meta.records) or "nothing"
        raise CorralError(f"{meta.name}: recorded must return a dict of what records names ({wanted}), not {what}")
    for name in meta.records:
        values = found[name]
        if not is_array(values, "biuf", bases, 2) or values.shape != (bases, rows):
            wanted = f"numbers of shape ({bases}, {rows}): bases, rows"
            raise CorralError(f"{meta.name}: {name} of recorded must be {wanted}, not {array_kind(values)}")
        if not (np.abs(values) <= LARGEST).all():
            raise CorralError(f"{meta.name}: {name} of recorded must be finite numbers, at most {LARGEST:g}")
    return found


def record_of(value: Any, base: Base, method: str) -> Any:
    """What `init` or `policy` returned, checked: `Rows` of arrays, logs and other `Rows`."""
    if not isinstance(value, Rows):
        raise CorralError(f"{base.name}: {method} must return Rows, not {kind(value)}")
    for name, field in value._values():
        if isinstance(field, Rows):
            record_of(field, base, method)
        elif not isinstance(field, np.ndarray | Log):
            what = f"{type(value).__name__}.{name}"
            raise CorralError(f"{base.name}: {method}: {what} must be an array, Rows or a Log, not {kind(field)}")
    return value


def is_array(value: Any, kinds: str, rows: int, axes: int) -> bool:
    """Whether this is an array of one of these kinds of numbers, with this many rows and axes."""
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        return False
    return value.dtype.kind in kinds and value.ndim == axes and len(value) == rows


def array_kind(value: Any) -> str:
    """What was passed in place of an array, in words."""
    return f"{value.dtype} of {value.shape}" if isinstance(value, np.ndarray) else kind(value)


def kind(value: Any) -> str:
    """What a value is, in words: its type and how it prints, shortened."""
    return f"{type(value).__name__} {shown(value)}"
