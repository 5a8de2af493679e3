"""Steps of finite MDPs: what a step leads to, and the regret of a whole episode.

The arrays are those of a `Model`, in C order, of one world or of one per row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.ranges import in_range
from corral_core.kernels.sums import summed
from corral_core.kernels.twins import kernel

NO_PLACE = "there is no such world, stage, state or action"


def _stepped_arrays(
    cumulative: Any, reward: Any, following: Any, ends: Any, stage: Any, state: Any, action: Any, uniform: Any
) -> Any:
    worlds, stages, states, actions, outcomes = cumulative.shape
    if worlds not in (1, len(state)) or not 0 <= stage < stages:
        raise ValueError(NO_PLACE)
    pair = np.ravel_multi_index((state, action), (states, actions))
    if worlds > 1:
        pair += np.arange(0, cumulative[..., 0].size, cumulative[0, ..., 0].size)
    pair += stage * (states * actions)
    # the first that is larger, as the last one is 1
    outcome = (cumulative.reshape(-1, outcomes).take(pair, axis=0) <= uniform[:, None]).argmin(axis=1)
    at = pair * outcomes
    at += outcome
    return (
        outcome if following is None else following.take(at),
        reward.take(at if reward.shape[4] > 1 else pair),
        None if ends is None else ends.take(at),
    )


@kernel(_stepped_arrays)
def stepped(
    cumulative: Any, reward: Any, following: Any, ends: Any, stage: Any, state: Any, action: Any, uniform: Any
) -> Any:
    """Next state, reward, and whether the episode ends (None if it never does), for a uniform number u of every row.

    The outcome of a state and an action is k if k of their cumulative probabilities are at most u.
    """
    rows = len(state)
    worlds, stages, states, actions, outcomes = cumulative.shape
    if (worlds != 1 and worlds != rows) or not 0 <= stage < stages:
        raise ValueError(NO_PLACE)
    to, paid = np.empty(rows, np.intp), np.empty(rows)
    over = None if ends is None else np.empty(rows, np.bool_)
    for row in range(rows):
        world, s, a = row if worlds > 1 else 0, state[row], action[row]
        if not (0 <= s < states and 0 <= a < actions):
            raise ValueError(NO_PLACE)
        k = 0
        for outcome in range(outcomes):
            k += cumulative[world, stage, s, a, outcome] <= uniform[row]
        to[row] = k if following is None else following[world, stage, s, a, k]
        paid[row] = reward[world, stage, s, a, k if reward.shape[4] > 1 else 0]
        if over is not None:
            over[row] = ends[world, stage, s, a, k]
    return to, paid, over


def _regret_arrays(optimal: Any, state: Any, action: Any, alive: Any) -> Any:
    worlds, stages, states, actions = optimal.shape
    rows, steps = state.shape
    inside = in_range(state.reshape(-1), 0, states - 1) and in_range(action.reshape(-1), 0, actions - 1)
    if worlds not in (1, rows) or steps > stages or not inside:
        raise ValueError(NO_PLACE)
    place = state.T + states * np.arange(state.shape[1])[:, None]
    if worlds > 1:
        place += np.arange(0, worlds * stages * states, stages * states)
    gap = np.maximum.reduce(optimal.reshape(-1, actions).take(place, axis=0), axis=2)
    gap -= optimal.take(place * actions + action.T)
    return summed(np.where(alive.T, gap, 0.0))


@kernel(_regret_arrays)
def episode_regret(optimal: Any, state: Any, action: Any, alive: Any) -> Any:
    """The sum over the steps, (rows, steps), of max_a' Q*_h(s, a') - Q*_h(s, a), while alive."""
    rows, steps = state.shape
    worlds, stages, states, actions = optimal.shape
    if (worlds != 1 and worlds != rows) or steps > stages:
        raise ValueError(NO_PLACE)
    regret = np.zeros(rows)
    for row in range(rows):
        world = row if worlds > 1 else 0
        for stage in range(steps):
            s, a = state[row, stage], action[row, stage]
            if not (0 <= s < states and 0 <= a < actions):
                raise ValueError(NO_PLACE)
            if alive[row, stage]:
                best = optimal[world, stage, s, 0]
                for other in range(1, actions):
                    best = max(best, optimal[world, stage, s, other])
                regret[row] += best - optimal[world, stage, s, a]
    return regret
