"""What a caller passes to a selection, checked before anything changes: each error is one sentence.

If one row is played, plain values are welcome: a number as the reward, lists as features and mask, with or without the
row's axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from corral_core.errors import CorralError
from corral_core.kernels.ranges import in_range
from corral_core.protocols.problem import NOTHING, Observation, Problem, Trajectory
from corral_core.rows import Array, Rows
from corral_core.selection.round import Ticket
from corral_core.selection.validation import array_kind, is_array, kind

FINITE = float(np.finfo(np.float64).max)
KNOWN = "bhilqfd"  # the types that kernels know: signed whole numbers, single and double precision
SEEN = {"features": np.float64}
EPISODIC = {"features": np.float64, "state": np.intp, "stage": np.intp}
STEPS = {"state": np.intp, "action": np.intp, "reward": np.float64, "next_state": np.intp}
R = TypeVar("R", bound=Rows)


def observation_of(observation: Any, problem: Problem, rows: int) -> Observation:
    """The observation as arrays, checked: features and mask must have the problem's shapes."""
    if observation is NOTHING and not (problem.changing or problem.masked or problem.episodic):
        nothing: Observation = observation
        return nothing
    if not isinstance(observation, Observation):
        raise CorralError(f"ask needs an Observation, not {kind(observation)}")
    seen = _with_rows(observation, problem) if rows == 1 and observation is not NOTHING else observation
    seen = _usual(seen, EPISODIC if problem.episodic else SEEN)
    if problem.masked or seen.mask is not None:
        _check_mask(seen.mask, problem, rows)
    if seen.features is not None:
        features_in(seen.features, problem, rows, seen.mask)
    elif problem.changing and problem.dimension is not None:
        raise CorralError(f"{problem.environment} has features that change; every observation must show them")
    if problem.episodic:
        _check_numbers(seen.state, "the state", problem.states, (rows,))
        _check_numbers(seen.stage, "the stage", problem.stages, (rows,))
        if seen.alive is not None and not is_array(seen.alive, "b", rows, 1):
            raise CorralError(f"alive must be booleans of shape ({rows},), not {array_kind(seen.alive)}")
    return seen


def _usual(record: R, kinds: Mapping[str, type]) -> R:
    """The record with numbers of types that kernels know; others, such as half precision, become of these kinds."""
    found: dict[str, Array] = {}
    for name, usual in kinds.items():
        value = getattr(record, name)
        if not isinstance(value, np.ndarray) or ((dtype := value.dtype).char in KNOWN and dtype.isnative):
            continue
        if dtype.kind in ("iuf" if usual is np.float64 else "iu"):
            with np.errstate(over="ignore"):  # what is too large is refused later
                found[name] = value.astype(usual)
    return record.replace(**found) if found else record


def _with_rows(observation: Observation, problem: Problem) -> Observation:
    """Plain values of a single row as arrays with the row's axis."""
    axes = {"features": len(_sizes(problem)) + 1, "mask": 2, "state": 1, "stage": 1, "alive": 1}
    found: dict[str, Any] = {}
    for name, value in observation._values():
        array = value
        if isinstance(value, list | tuple | bool | int):
            try:
                array = np.asarray(value)
            except ValueError:  # lists of different lengths
                raise CorralError(f"{name} must be numbers of one shape, not {kind(value)}") from None
        if isinstance(array, np.ndarray) and array.ndim == axes[name] - 1:
            array = array[None]
        if array is not value:
            found[name] = array
    return observation.replace(**found) if found else observation


def _check_mask(mask: Any, problem: Problem, rows: int) -> None:
    if mask is None:
        raise CorralError(f"{problem.environment} masks arms; every observation needs a mask of the available ones")
    if not problem.masked:
        raise CorralError(f"{problem.environment} has no masks; to pass one, set masked=True in its Problem")
    wanted = "(rows, arms)" if problem.arms is None else f"({rows}, {problem.arms}): rows, arms"
    if not is_array(mask, "b", rows, 2) or problem.arms not in (None, mask.shape[1]):
        raise CorralError(f"the mask must be booleans of shape {wanted}, not {array_kind(mask)}")
    if not mask.any(axis=1).all():
        row = int(mask.any(axis=1).argmin())
        raise CorralError(f"no arm is available in row {row}; a mask must leave at least one")


def _sizes(problem: Problem) -> dict[str, int | None]:
    """The axes of features after the row, with their sizes."""
    each = problem.actions == "finite" and not problem.shared
    sizes = {"arms": problem.arms, "features": problem.dimension} if each else {"features": problem.dimension}
    return {"states": problem.states, **sizes} if problem.episodic else sizes


def features_in(features: Any, problem: Problem, rows: int, mask: Array | None = None) -> None:
    """Check that features are finite and have the problem's shape; features of masked arms may be anything."""
    sizes = _sizes(problem)
    shape, axes = (rows, *sizes.values()), ", ".join(("rows", *sizes))
    named = None not in shape
    if not is_array(features, "fiu", rows, len(shape)) or (named and features.shape != shape):
        wanted = f"of shape {shape}: {axes}" if named else f"({axes})"
        raise CorralError(
            f"{problem.environment}: features must be numbers {wanted}, with rows = {rows}, not {array_kind(features)}"
        )
    if np.isfinite(features).all():
        return
    finite = np.isfinite(features).all(axis=-1)
    if mask is not None and finite.ndim == 2:
        finite |= ~mask
    if not finite.all():
        row = int(np.argwhere(~finite)[0][0])
        raise CorralError(f"{problem.environment}: features of row {row} are not finite numbers")


def reward_of(reward: Any, rows: int) -> Array:
    """Rewards as floats, checked: finite real numbers, one per row."""
    if rows == 1 and type(reward) is float and -FINITE <= reward <= FINITE:
        return np.array((reward,))
    found = reward if type(reward) is np.ndarray else _as_array(reward)
    if found is None or found.dtype.kind not in "biuf":
        raise CorralError(f"rewards must be numbers, not {kind(reward)}")
    if rows == 1 and found.ndim == 0:
        found = found[None]
    if found.shape != (rows,):
        raise CorralError(f"tell needs one reward per row, of shape ({rows},), not {found.shape}")
    paid: Array = np.asarray(found, dtype=np.float64)
    if not math.isfinite(paid.dot(paid)) and not np.isfinite(paid).all():  # squares may be too large
        row = int(np.flatnonzero(~np.isfinite(paid))[0])
        raise CorralError(f"the reward of row {row} is {paid[row]}; rewards must be finite numbers")
    return paid


def _as_array(reward: Any) -> Array | None:
    """Rewards as an array; None if some are masked, or they have no shape."""
    parts = reward if isinstance(reward, list | tuple) else ()
    if np.ma.is_masked(reward) or any(part is np.ma.masked for part in parts):
        return None
    try:
        return np.asarray(reward)
    except (TypeError, ValueError, OverflowError):
        return None


def experience_of(experience: Any, ticket: Ticket, problem: Problem, rows: int) -> Rows:
    """What bases learn from, checked: the trajectory of an episode, otherwise what was observed."""
    if problem.episodic:
        return trajectory_of(experience, problem, rows)
    if experience is None or experience is ticket.observation:
        return ticket.observation
    if not isinstance(experience, Observation):
        raise CorralError(f"tell needs the Observation that was passed to ask, or nothing, not {kind(experience)}")
    return observation_of(experience, problem, rows)


def trajectory_of(told: Any, problem: Problem, rows: int) -> Trajectory:
    """The trajectory of an episode, checked: all steps of every row."""
    if not isinstance(told, Trajectory):
        raise CorralError(f"tell needs the Trajectory of an episode as well as its return, not {kind(told)}")
    experience = _usual(told, STEPS)
    alive = experience.alive
    if not is_array(alive, "b", rows, 2) or not 1 <= alive.shape[1] <= (problem.stages or np.inf):
        most = "" if problem.stages is None else f", at most {problem.stages}"
        raise CorralError(
            f"alive of a Trajectory must be booleans of shape ({rows}, steps taken{most}), not {array_kind(alive)}"
        )
    if not np.all(alive[:, 0]) or np.any(alive[:, 1:] > alive[:, :-1]):
        raise CorralError("alive of a Trajectory must be true up to the last step of a row, and false after it")
    if problem.fixed_length and not (alive.all() and alive.shape[1] == problem.stages):
        taken = int(alive.sum(axis=1).min())
        raise CorralError(f"every episode takes {problem.stages} stages, but one in this Trajectory took {taken}")
    counts = {"state": problem.states, "next_state": problem.states}
    for name, count in (counts | {"action": problem.arms} if problem.actions == "finite" else counts).items():
        _check_numbers(getattr(experience, name), f"{name} of a Trajectory", count, alive.shape)
    reward = experience.reward
    if not (is_array(reward, "fiu", rows, 2) and reward.shape == alive.shape and np.isfinite(reward).all()):
        raise CorralError(
            f"reward of a Trajectory must be finite numbers of shape {alive.shape}, not {array_kind(reward)}"
        )
    return experience


def _check_numbers(value: Any, what: str, count: int | None, shape: tuple[int, ...]) -> None:
    """Check that these are whole numbers of this shape, from 0 to count - 1."""
    if not (isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.shape == shape):
        raise CorralError(f"in an episode {what} must be whole numbers of shape {shape}, not {array_kind(value)}")
    flat = value if value.ndim == 1 else value.reshape(-1)
    if not in_range(flat, 0, math.inf if count is None else count - 1):
        wrong = value.min() if value.min() < 0 else value.max()
        allowed = "be at least 0" if count is None else f"be from 0 to {count - 1}"
        raise CorralError(f"in an episode {what} must {allowed}, not {wrong}")


def copied(record: Any) -> Any:
    """The record with arrays of its own, which the caller cannot change."""
    return record.replace(**{name: value.copy() for name, value in record._values()})
