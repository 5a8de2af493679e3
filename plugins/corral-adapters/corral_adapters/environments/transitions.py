"""The table P in which finite environments of Gymnasium list the outcomes of every action in every state.

    P[s][a] = [(probability, next state, reward, terminated), ...]

It is read into arrays and verified: it must be complete, and the environment itself may do nothing that it does not
list. This is tested for some steps. A refusal is always justified; rare events may go unnoticed.
"""

from __future__ import annotations

from itertools import chain
from operator import index
from typing import Any, Self

import attrs
import numpy as np

from corral_adapters.environments.spaces import finite
from corral_adapters.libraries import library
from corral_core import Array, CorralError
from corral_core.parsing import shown

MOST = 20_000_000  # maximum number of values or outcomes
CLOSE = 1e-6  # tolerance for sums of probabilities
LARGEST = 1e100  # reward, so that returns and their squares are finite
STEPS = 2000  # steps of the environment itself, to see whether the table lists them
INSTEAD = "use gymnasium, which needs no table"


@attrs.frozen(eq=False)
class Transitions:
    """The outcomes of every action in every state; one of probability 0 repeats the likeliest outcome."""

    probability: Array  # (states, actions, outcomes)
    following: Array  # the next state
    reward: Array
    ends: Array  # whether the episode ends
    start: Array  # (states,), probabilities of the first state

    @classmethod
    def of(cls, env: Any, stages: int) -> Self:
        """Read the table of an environment, or raise an error that says why it cannot be used."""
        states, actions = _size(env.observation_space, "observations"), _size(env.action_space, "actions")
        if states * actions * stages > MOST:
            raise CorralError(
                f"{states} states, {actions} actions and {stages} stages have more than {MOST} values, the maximum; "
                f"set fewer stages"
            )
        bare = env.unwrapped
        if env.render_mode is not None:
            raise CorralError("it is played from its table, which cannot be rendered; leave render_mode out")
        if getattr(bare, "fickle_passenger", False):
            raise CorralError(f"its fickle_passenger changes the destination, which P does not list; {INSTEAD}")
        chance, to, pays, ends = _outcomes(getattr(bare, "P", None), states, actions)
        return cls(*_sound(chance, to, pays, ends), _start(getattr(bare, "initial_state_distrib", None), states))

    def same(self, other: Transitions) -> bool:
        """Whether another table is equal."""
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in attrs.asdict(self))

    def returns(self, stages: int) -> tuple[float, float]:
        """The smallest and largest possible return of an episode, however improbable."""
        least = most = np.zeros(len(self.start))
        for _ in range(stages):
            least = (self.reward + np.where(self.ends, 0.0, least[self.following])).min(axis=(1, 2))
            most = (self.reward + np.where(self.ends, 0.0, most[self.following])).max(axis=(1, 2))
        return float(least[self.start > 0].min()), float(most[self.start > 0].max())

    def doubt(self, env: Any, stages: int) -> None:
        """Play the environment itself with uniform actions; raise an error if it does something that is not listed."""
        draws, actions, over, state, taken = np.random.default_rng(0), self.reward.shape[1], True, 0, 0
        for step in range(STEPS):
            if over:
                state, taken = index(env.reset(seed=step)[0]), 0
                if not 0 <= state < len(self.start) or self.start[state] == 0:
                    raise CorralError(
                        f"it started in state {state}, which has probability 0 as the first state; {INSTEAD}"
                    )
            action = int(draws.integers(actions))
            seen, earned, terminated, truncated, _ = env.step(action)
            following, reward, taken = index(seen), float(earned), taken + 1
            listed = self.following[state, action] == following
            listed &= abs(self.reward[state, action] - reward) <= 1e-6 * max(1.0, abs(reward))
            listed &= self.ends[state, action] == bool(terminated)
            if not listed.any():
                end = ", where the episode ended" if terminated else ""
                raise CorralError(
                    f"its P is incomplete: action {action} in state {state} paid {reward:g} and led to state "
                    f"{following}{end}, which is not listed; {INSTEAD}"
                )
            if truncated and not terminated and taken < stages:
                raise CorralError(
                    f"it cut an episode after {taken} of {stages} steps, which P does not list; {INSTEAD}"
                )
            state, over = following, terminated or truncated


def _size(space: Any, what: str) -> int:
    if finite(space) is None:
        raise CorralError(f"its {what} must be finitely many, but are of type {type(space).__name__}")
    if not isinstance(space, library("gymnasium.spaces", "gymnasium").Discrete) or space.start != 0:
        raise CorralError(f"its {what} must be numbered from 0, as in P, but are {shown(space)}; {INSTEAD}")
    return int(space.n)


def _outcomes(table: Any, states: int, actions: int) -> list[Array]:
    """Probability, next state, reward and end of everything listed; shorter lists are padded with zeros."""
    if table is None:
        raise CorralError(f"it has no transition table P; {INSTEAD}")
    try:
        if len(table) != states or any(len(table[state]) != actions for state in range(states)):
            raise ValueError
        listed = [
            [(float(chance), index(to), float(pays), bool(ends)) for chance, to, pays, ends in table[state][action]]
            for state in range(states)
            for action in range(actions)
        ]
        columns = zip(*chain.from_iterable(listed), strict=True)
        kinds = (np.float64, np.intp, np.float64, np.bool_)
        values: list[Array] = [np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)]
    except Exception:  # an object that is not a table may raise anything
        raise CorralError(
            f"its P must have {states} states, each with {actions} actions, each with a list of (probability, next "
            f"state, reward, terminated); {INSTEAD}"
        ) from None
    length = np.array([len(each) for each in listed])
    if states * actions * int(length.max()) > MOST:
        raise CorralError(
            f"{states} states and {actions} actions with {length.max()} outcomes each are more than {MOST} outcomes, "
            f"the maximum; {INSTEAD}"
        )
    there = np.arange(length.max()) < length[:, None]
    found = [np.zeros(there.shape, dtype=column.dtype) for column in values]
    for array, column in zip(found, values, strict=True):
        array[there] = column
    return [array.reshape(states, actions, -1) for array in found]


def _sound(chance: Array, to: Array, pays: Array, ends: Array) -> tuple[Array, Array, Array, Array]:
    """The same, normalised and without impossible outcomes, or an error if the table is invalid."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = chance.sum(axis=-1, keepdims=True)
    if at := _first(~((chance >= 0) & (abs(total - 1) <= CLOSE))):
        raise CorralError(
            f"its P gives {_said(at)} the probabilities {shown(chance[at].tolist())}; they must sum to 1, none below 0"
        )
    # If rounding leaves a remainder, the last outcome is drawn, so it must be one that can happen.
    likeliest = chance.argmax(axis=-1)[..., None]
    to, pays, ends = (
        np.where(chance > 0, each, np.take_along_axis(each, likeliest, axis=-1)) for each in (to, pays, ends)
    )
    if at := _first(~(abs(pays) <= LARGEST)):
        raise CorralError(
            f"its P gives {_said(at)} the rewards {shown(pays[at].tolist())}; they must be finite, at most {LARGEST:g}"
        )
    states = len(to)
    if at := _first((to < 0) | (to >= states)):
        raise CorralError(f"its P leads {_said(at)} to states {shown(to[at].tolist())}; states are 0 to {states - 1}")
    return chance / total, to, pays, ends


def _first(wrong: Array) -> tuple[int, int] | None:
    """The first state and action with a wrong outcome, or None."""
    for state, action in np.argwhere(wrong.any(axis=-1)):
        return int(state), int(action)
    return None


def _said(at: tuple[int, int]) -> str:
    state, action = at
    return f"action {action} in state {state}"


def _start(chance: Any, states: int) -> Array:
    if chance is None:
        raise CorralError(f"it has no initial_state_distrib, the probabilities of the first state; {INSTEAD}")
    try:
        found = np.asarray(chance, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full(states, np.nan)
    with np.errstate(over="ignore", invalid="ignore"):
        total = found.sum()
    if found.shape != (states,) or not ((found >= 0).all() and abs(total - 1) <= CLOSE):
        raise CorralError(
            f"its initial_state_distrib must be {states} probabilities that sum to 1, none below 0, not "
            f"{shown(found.tolist())}"
        )
    return np.asarray(found / total)
