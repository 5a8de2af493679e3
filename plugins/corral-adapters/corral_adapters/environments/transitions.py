"""The table P in which finite environments of Gymnasium list what every action in every state can lead to.

    P[s][a] = [(probability, next state, reward, terminated), ...]

It is read into arrays, and doubted: it must be whole, and nothing may happen in the environment itself that it does not
list. That is tried for some steps; whatever is refused is proved, and what is rare may go unnoticed.
"""

from __future__ import annotations

from itertools import chain
from operator import index
from typing import Any, Self

import attrs
import numpy as np

from corral_adapters.environments.spaces import finite
from corral_adapters.libraries import library
from corral_core.errors import CorralError
from corral_core.parsing import shown
from corral_core.rows import Array

MOST = 20_000_000  # numbers of one kind that are kept
CLOSE = 1e-6  # how far from 1 probabilities may sum
LARGEST = 1e100  # reward, so that returns and their squares are numbers
STEPS = 2000  # of the environment itself, to see whether the table lists them
INSTEAD = "take gymnasium, which needs no table"


@attrs.frozen(eq=False)
class Transitions:
    """What every action in every state can lead to; an outcome of probability 0 is the likeliest once more."""

    probability: Array  # (states, actions, outcomes)
    following: Array  # the next state
    reward: Array
    ends: Array  # whether the episode ends
    start: Array  # (states,), probabilities of the first state

    @classmethod
    def of(cls, env: Any, stages: int) -> Self:
        """What the table of an environment says, or one sentence why it cannot be used."""
        states, actions = _size(env.observation_space, "observations"), _size(env.action_space, "actions")
        if states * actions * stages > MOST:
            raise CorralError(
                f"{states} states, {actions} actions and {stages} stages have more than {MOST} values, which is the "
                f"most that is kept; give it fewer stages"
            )
        bare = env.unwrapped
        if env.render_mode is not None:
            raise CorralError("its table is played, of which there is nothing to see; leave render_mode out")
        if getattr(bare, "fickle_passenger", False):
            raise CorralError(f"its fickle_passenger changes the destination, which P does not tell; {INSTEAD}")
        chance, to, pays, ends = _outcomes(getattr(bare, "P", None), states, actions)
        return cls(*_sound(chance, to, pays, ends), _start(getattr(bare, "initial_state_distrib", None), states))

    def same(self, other: Transitions) -> bool:
        """Whether another table says the same."""
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in attrs.asdict(self))

    def returns(self, stages: int) -> tuple[float, float]:
        """The least and the most that an episode can pay, however improbable."""
        least = most = np.zeros(len(self.start))
        for _ in range(stages):
            least = (self.reward + np.where(self.ends, 0.0, least[self.following])).min(axis=(1, 2))
            most = (self.reward + np.where(self.ends, 0.0, most[self.following])).max(axis=(1, 2))
        return float(least[self.start > 0].min()), float(most[self.start > 0].max())

    def doubt(self, env: Any, stages: int) -> None:
        """Play the environment itself, with actions drawn uniformly: one sentence where it does what is not listed."""
        draws, actions, over, state, taken = np.random.default_rng(0), self.reward.shape[1], True, 0, 0
        for step in range(STEPS):
            if over:
                state, taken = index(env.reset(seed=step)[0]), 0
                if not 0 <= state < len(self.start) or self.start[state] == 0:
                    raise CorralError(
                        f"it started in state {state}, which has no probability to be the first; {INSTEAD}"
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
                    f"its P is not all that happens: action {action} in state {state} paid {reward:g} and led to state "
                    f"{following}{end}, which is not listed; {INSTEAD}"
                )
            if truncated and not terminated and taken < stages:
                raise CorralError(f"it cut an episode after {taken} of {stages} steps, as P does not tell; {INSTEAD}")
            state, over = following, terminated or truncated


def _size(space: Any, what: str) -> int:
    if finite(space) is None:
        raise CorralError(f"its {what} must be finitely many, and are a {type(space).__name__}")
    if not isinstance(space, library("gymnasium.spaces", "gymnasium").Discrete) or space.start != 0:
        raise CorralError(f"its {what} must be numbered from 0 on, as in P, and are {shown(space)}; {INSTEAD}")
    return int(space.n)


def _outcomes(table: Any, states: int, actions: int) -> list[Array]:
    """Probability, next state, reward and end of everything listed, with zeros where a list is shorter than another."""
    if table is None:
        raise CorralError(f"it has no table P of what actions lead to; {INSTEAD}")
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
    except Exception:  # whatever an object may do that is no table
        raise CorralError(
            f"its P must have {states} states, each with {actions} actions, each with a list of (probability, next "
            f"state, reward, terminated); {INSTEAD}"
        ) from None
    length = np.array([len(each) for each in listed])
    if states * actions * int(length.max()) > MOST:
        raise CorralError(
            f"{states} states and {actions} actions with {length.max()} outcomes each are more than {MOST} outcomes, "
            f"which is the most that is kept; {INSTEAD}"
        )
    there = np.arange(length.max()) < length[:, None]
    found = [np.zeros(there.shape, dtype=column.dtype) for column in values]
    for array, column in zip(found, values, strict=True):
        array[there] = column
    return [array.reshape(states, actions, -1) for array in found]


def _sound(chance: Array, to: Array, pays: Array, ends: Array) -> tuple[Array, Array, Array, Array]:
    """The same, with sums of exactly 1 and without what never happens; or one sentence where it cannot be true."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = chance.sum(axis=-1, keepdims=True)
    if at := _first(~((chance >= 0) & (abs(total - 1) <= CLOSE))):
        raise CorralError(
            f"its P gives {_said(at)} the probabilities {shown(chance[at].tolist())}; they must sum to 1, none below 0"
        )
    # Who draws an outcome takes the last where rounding leaves something, so it must be one that happens.
    likeliest = chance.argmax(axis=-1)[..., None]
    to, pays, ends = (
        np.where(chance > 0, each, np.take_along_axis(each, likeliest, axis=-1)) for each in (to, pays, ends)
    )
    if at := _first(~(abs(pays) <= LARGEST)):
        raise CorralError(
            f"its P gives {_said(at)} the rewards {shown(pays[at].tolist())}; they must be finite, {LARGEST:g} at most"
        )
    states = len(to)
    if at := _first((to < 0) | (to >= states)):
        raise CorralError(f"its P leads {_said(at)} to states {shown(to[at].tolist())}; there are 0 to {states - 1}")
    return chance / total, to, pays, ends


def _first(wrong: Array) -> tuple[int, int] | None:
    """The first state and action of which an outcome is wrong."""
    for state, action in np.argwhere(wrong.any(axis=-1)):
        return int(state), int(action)
    return None


def _said(at: tuple[int, int]) -> str:
    state, action = at
    return f"action {action} in state {state}"


def _start(chance: Any, states: int) -> Array:
    if chance is None:
        raise CorralError(f"it has no initial_state_distrib, the probabilities of first states; {INSTEAD}")
    try:
        found = np.asarray(chance, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full(states, np.nan)
    with np.errstate(over="ignore", invalid="ignore"):
        total = found.sum()
    if found.shape != (states,) or not ((found >= 0).all() and abs(total - 1) <= CLOSE):
        raise CorralError(
            f"its initial_state_distrib must be {states} probabilities that sum to 1, none below 0, and is "
            f"{shown(found.tolist())}"
        )
    return np.asarray(found / total)
