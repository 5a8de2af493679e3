"""Validate what bases, metas and environments return: each error is one sentence that names who returned what."""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.errors import CorralError
from corral_core.log import Log
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta, Verdict
from corral_core.protocols.problem import Observation, Problem, Trajectory
from corral_core.rows import Array, Rows


def observation_in(observation: Any, problem: Problem, rows: int) -> None:
    """Check an observation before anything is drawn or recorded: features and mask must have the problem's shapes."""
    if not isinstance(observation, Observation):
        raise CorralError(f"ask needs an Observation, not {_kind(observation)}")
    mask, features = observation.mask, observation.features
    if mask is not None:
        wanted = "(rows, arms)" if problem.arms is None else f"({rows}, {problem.arms}): rows, arms"
        if not _is_array(mask, "b", rows, 2) or problem.arms not in (None, mask.shape[1]):
            raise CorralError(f"the mask must be booleans of shape {wanted}, not {_array(mask)}")
        if not mask.any(axis=1).all():
            raise CorralError(
                f"no arm is available in row {int(mask.any(axis=1).argmin())}; a mask must leave at least one"
            )
    if features is not None:
        features_in(features, problem, rows, mask)
    elif problem.changing and problem.dimension is not None:
        raise CorralError(f"{problem.environment} has features that change; every observation must show them")
    if problem.episodic:
        _numbers_in(observation.state, "the state", problem.states, (rows,))
        _numbers_in(observation.stage, "the stage", problem.stages, (rows,))


def _numbers_in(value: Any, what: str, count: int | None, shape: tuple[int, ...]) -> None:
    """Check that these are whole numbers of this shape, from 0 to count - 1."""
    if not (isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.shape == shape):
        raise CorralError(f"in an episode {what} must be whole numbers of shape {shape}, not {_array(value)}")
    if value.size and (value.min() < 0 or (count is not None and value.max() >= count)):
        wrong = value.min() if value.min() < 0 else value.max()
        allowed = "be at least 0" if count is None else f"be from 0 to {count - 1}"
        raise CorralError(f"in an episode {what} must {allowed}, not {wrong}")


def trajectory_in(experience: Any, problem: Problem, rows: int) -> Trajectory:
    """The trajectory of an episode, checked: all steps of every row."""
    if not isinstance(experience, Trajectory):
        raise CorralError(f"tell needs the Trajectory of an episode as well as its return, not {_kind(experience)}")
    alive = experience.alive
    if not _is_array(alive, "b", rows, 2) or not 1 <= alive.shape[1] <= (problem.stages or np.inf):
        most = "" if problem.stages is None else f", at most {problem.stages}"
        raise CorralError(
            f"alive of a Trajectory must be booleans of shape ({rows}, steps taken{most}), not {_array(alive)}"
        )
    if not np.all(alive[:, 0]) or np.any(alive[:, 1:] > alive[:, :-1]):
        raise CorralError("alive of a Trajectory must be true up to the last step of a row, and false after it")
    if problem.fixed_length and not (alive.all() and alive.shape[1] == problem.stages):
        taken = int(alive.sum(axis=1).min())
        raise CorralError(f"every episode takes {problem.stages} stages, but one in this Trajectory took {taken}")
    counts = {"state": problem.states, "next_state": problem.states}
    for name, count in (counts | {"action": problem.arms} if problem.actions == "finite" else counts).items():
        _numbers_in(getattr(experience, name), f"{name} of a Trajectory", count, alive.shape)
    reward = experience.reward
    if not (_is_array(reward, "fiu", rows, 2) and reward.shape == alive.shape and np.isfinite(reward).all()):
        raise CorralError(f"reward of a Trajectory must be finite numbers of shape {alive.shape}, not {_array(reward)}")
    return experience


def features_in(features: Any, problem: Problem, rows: int, mask: Array | None = None) -> None:
    """Check that features are finite and have the problem's shape; features of masked arms may be anything."""
    each = problem.actions == "finite" and not problem.shared
    sizes = {"arms": problem.arms, "features": problem.dimension} if each else {"features": problem.dimension}
    if problem.episodic:
        sizes = {"states": problem.states, **sizes}
    shape, axes = (rows, *sizes.values()), ", ".join(("rows", *sizes))
    named = None not in shape
    if not _is_array(features, "fiu", rows, len(shape)) or (named and features.shape != shape):
        wanted = f"of shape {shape}: {axes}" if named else f"({axes})"
        raise CorralError(
            f"{problem.environment}: features must be numbers {wanted}, with rows = {rows}, not {_array(features)}"
        )
    if np.isfinite(features).all():
        return
    finite = np.isfinite(features).all(axis=-1)
    if mask is not None and finite.ndim == 2:
        finite |= ~mask
    if not finite.all():
        row = int(np.argwhere(~finite)[0][0])
        raise CorralError(f"{problem.environment}: features of row {row} are not finite numbers")


def _is_array(value: Any, kinds: str, rows: int, axes: int) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.ndim == axes and len(value) == rows


def _array(value: Any) -> str:
    return f"{value.dtype} of {value.shape}" if isinstance(value, np.ndarray) else _kind(value)


def actions_in(decision: Any, base: Base, problem: Problem, observation: Observation, rows: int) -> Array:
    """The actions in what `act` returned, checked: one per row, each of them available."""
    actions = decision if isinstance(decision, np.ndarray) else getattr(decision, "action", None)
    if not isinstance(actions, np.ndarray):
        raise CorralError(f"{base.name}: act must return an array, or Rows with action, not {_kind(decision)}")
    if len(actions.shape) == 0 or len(actions) != rows:
        raise CorralError(f"{base.name}: act must return one action per row, {rows} in all, not shape {actions.shape}")
    if problem.actions != "finite":
        shape = (rows, problem.dimension)
        if actions.shape != shape or actions.dtype.kind != "f":
            found = f"{actions.dtype} of {actions.shape}"
            raise CorralError(f"{base.name}: act must return floats of shape {shape}, not {found}")
        if not np.isfinite(actions).all():
            raise CorralError(f"{base.name}: act returned an action that is not finite")
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
        raise CorralError(f"{base.name}: act returned an arm that the mask excludes")
    return actions


def choice_of(meta: Meta, choice: Any, bases: int, rows: int) -> tuple[Array, Array | None]:
    """What `choose` returned, checked: the base of every row and its probability."""
    if not isinstance(choice, tuple) or len(choice) != 2:
        raise CorralError(f"{meta.name}: choose must return bases and probabilities, not {_kind(choice)}")
    chosen, probability = choice
    if not isinstance(chosen, np.ndarray) or chosen.shape != (rows,) or chosen.dtype.kind not in "iu":
        raise CorralError(f"{meta.name}: choose must return one whole number per row, of shape ({rows},)")
    if chosen.min() < 0 or chosen.max() >= bases:
        wrong = chosen[(chosen < 0) | (chosen >= bases)][0]
        raise CorralError(f"{meta.name}: choose must return bases 0 to {bases - 1}, not {wrong}")
    if probability is not None and np.shape(probability) != (rows,):
        raise CorralError(f"{meta.name}: choose must return one probability per row, not shape {np.shape(probability)}")
    if probability is None and meta.feedback == "importance-weighted":
        raise CorralError(f"{meta.name}: importance-weighted feedback needs the probabilities of choices, not None")
    return chosen, probability


def verdict_of(meta: Meta, verdict: Any, bases: int, rows: int) -> Verdict | None:
    """What `update` returned, checked: None, or masks of bases to restart and to drop."""
    if verdict is None:
        return None
    if not isinstance(verdict, Verdict):
        raise CorralError(f"{meta.name}: update must return a Verdict or None, not {_kind(verdict)}")
    for name in ("restart", "drop"):
        mask = getattr(verdict, name)
        if mask is not None and not (_is_array(mask, "b", bases, 2) and mask.shape == (bases, rows)):
            wanted = f"booleans of shape ({bases}, {rows}): bases, rows"
            raise CorralError(f"{meta.name}: {name} of a Verdict must be {wanted}, not {_array(mask)}")
    return verdict


def reward_of(reward: Any, rows: int) -> Array:
    """Rewards as floats, checked: finite, one per row."""
    try:
        reward = np.asarray(reward, dtype=np.float64)
    except (TypeError, ValueError):
        raise CorralError(f"rewards must be numbers, not {_kind(reward)}") from None
    if reward.shape != (rows,):
        raise CorralError(f"tell needs one reward per row, of shape ({rows},), not {reward.shape}")
    if not np.isfinite(reward).all():
        row = int(np.flatnonzero(~np.isfinite(reward))[0])
        raise CorralError(f"the reward of row {row} is {reward[row]}; rewards must be finite numbers")
    found: Array = reward
    return found


def record_of(value: Any, base: Base, method: str) -> Any:
    """What `init` or `policy` returned, checked: `Rows` of arrays, logs and other `Rows`."""
    if not isinstance(value, Rows):
        raise CorralError(f"{base.name}: {method} must return Rows, not {_kind(value)}")
    for name, field in value._values():
        if isinstance(field, Rows):
            record_of(field, base, method)
        elif not isinstance(field, np.ndarray | Log):
            what = f"{type(value).__name__}.{name}"
            raise CorralError(f"{base.name}: {method}: {what} must be an array, Rows or a Log, not {_kind(field)}")
    return value


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"[:60]
