"""What bases, metas and environments hand over, met at the door: one sentence that names who handed over what."""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.errors import CorralError
from corral_core.protocols import Base, Meta, Observation, Problem
from corral_core.rows import Array, Rows


def actions_in(decision: Any, base: Base, problem: Problem, observation: Observation, rows: int) -> Array:
    """The actions in what `act` returned, one a row and each one that is there."""
    actions = decision if isinstance(decision, np.ndarray) else getattr(decision, "action", None)
    if not isinstance(actions, np.ndarray):
        raise CorralError(f"{base.name}: act must return an array, or Rows with action, not {_kind(decision)}")
    if len(actions.shape) == 0 or len(actions) != rows:
        raise CorralError(f"{base.name}: act must return an action a row, {rows} of them, not shape {actions.shape}")
    if problem.actions != "finite":
        shape = (rows, problem.dimension)
        if actions.shape != shape or actions.dtype.kind != "f":
            found = f"{actions.dtype} of {actions.shape}"
            raise CorralError(f"{base.name}: act must return floats of shape {shape}, not {found}")
        if not np.isfinite(actions).all():
            raise CorralError(f"{base.name}: act returned an action that is not made of finite numbers")
        return actions
    if actions.shape != (rows,) or actions.dtype.kind not in "iu":
        raise CorralError(
            f"{base.name}: act must return whole numbers of shape ({rows},), not {actions.dtype} of {actions.shape}"
        )
    if problem.arms is not None and (actions.min() < 0 or actions.max() >= problem.arms):
        wrong = actions[(actions < 0) | (actions >= problem.arms)][0]
        raise CorralError(f"{base.name}: act returned arm {wrong}; {problem.environment} has 0 to {problem.arms - 1}")
    mask = observation.mask
    if mask is not None and not mask[np.arange(rows), actions].all():
        raise CorralError(f"{base.name}: act returned an arm that the mask takes away")
    return actions


def choice_of(meta: Meta, choice: Any, bases: int, rows: int) -> tuple[Array, Array | None]:
    """What `choose` returned: a base for every row and its probability."""
    if not isinstance(choice, tuple) or len(choice) != 2:
        raise CorralError(f"{meta.name}: choose must return bases and probabilities, not {_kind(choice)}")
    chosen, probability = choice
    if not isinstance(chosen, np.ndarray) or chosen.shape != (rows,) or chosen.dtype.kind not in "iu":
        raise CorralError(f"{meta.name}: choose must return a whole number a row, of shape ({rows},)")
    if chosen.min() < 0 or chosen.max() >= bases:
        wrong = chosen[(chosen < 0) | (chosen >= bases)][0]
        raise CorralError(f"{meta.name}: choose must return bases 0 to {bases - 1}, not {wrong}")
    if probability is not None and np.shape(probability) != (rows,):
        raise CorralError(f"{meta.name}: choose must return a probability a row, not shape {np.shape(probability)}")
    return chosen, probability


def reward_of(reward: Any, rows: int) -> Array:
    """Finite rewards, one a row."""
    try:
        reward = np.asarray(reward, dtype=np.float64)
    except (TypeError, ValueError):
        raise CorralError(f"rewards must be numbers, not {_kind(reward)}") from None
    if reward.shape != (rows,):
        raise CorralError(f"tell needs one reward a row, of shape ({rows},), not {reward.shape}")
    if not np.isfinite(reward).all():
        row = int(np.flatnonzero(~np.isfinite(reward))[0])
        raise CorralError(f"the reward of row {row} is {reward[row]}; rewards must be finite numbers")
    found: Array = reward
    return found


def record_of(value: Any, base: Base, method: str) -> Any:
    """What `init` or `policy` returned: `Rows`."""
    if not isinstance(value, Rows):
        raise CorralError(f"{base.name}: {method} must return Rows, not {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"[:60]
