"""What a step of a finite MDP leads to, from a uniform number per row.

    outcome k = how many cumulative probabilities of its pair (s, a) are <= u
    gap = max_a' Q*(s, a') - Q*(s, a)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.twins import kernel

NO_PLACE = "there is no such stage, state or action"


def _arrays(
    cumulative: Any, reward: Any, optimal: Any, following: Any, ends: Any, stage: Any, state: Any, action: Any, u: Any
) -> Any:
    worlds, stages, states, actions, outcomes = cumulative.shape
    _, valued, _, _ = optimal.shape
    if not 0 <= stage < valued:
        raise ValueError(NO_PLACE)
    place = np.ravel_multi_index((state, action), (states, actions))
    pair, known = place, place + stage * (states * actions)
    if stages > 1:
        pair = known
    if worlds > 1:
        world = np.arange(worlds) * (states * actions)
        pair, known = pair + world * stages, known + world * valued
    outcome = np.add.reduce(cumulative.reshape(-1, outcomes).take(pair, axis=0) <= u[:, None], axis=1, dtype=np.intp)
    at = pair * outcomes
    at += outcome
    gap = np.maximum.reduce(optimal.reshape(-1, actions).take(known // actions, axis=0), axis=1)
    gap -= optimal.take(known)
    return (
        outcome if following is None else following.take(at),
        reward.take(at if reward.shape[4] > 1 else pair),
        None if ends is None else ends.take(at),
        gap,
    )


@kernel(_arrays)
def stepped(
    cumulative: Any, reward: Any, optimal: Any, following: Any, ends: Any, stage: Any, state: Any, action: Any, u: Any
) -> Any:
    """Next state, reward, whether the episode ends (None if it never does), and the gap of every row at this stage.

    The arrays are those of a `Model`, in C order, of one world or of one per row.
    """
    rows = len(state)
    worlds, stages, states, actions, outcomes = cumulative.shape
    if not 0 <= stage < optimal.shape[1]:
        raise ValueError(NO_PLACE)
    to, paid, gap = np.empty(rows, np.intp), np.empty(rows), np.empty(rows)
    over = None if ends is None else np.empty(rows, np.bool_)
    at = stage if stages > 1 else 0
    for row in range(rows):
        world, s, a = row if worlds > 1 else 0, state[row], action[row]
        if not (0 <= s < states and 0 <= a < actions):
            raise ValueError(NO_PLACE)
        k = 0
        for outcome in range(outcomes):
            k += cumulative[world, at, s, a, outcome] <= u[row]
        to[row] = k if following is None else following[world, at, s, a, k]
        paid[row] = reward[world, at, s, a, k if reward.shape[4] > 1 else 0]
        if over is not None:
            over[row] = ends[world, at, s, a, k]
        best = optimal[world, stage, s, 0]
        for other in range(1, actions):
            best = max(best, optimal[world, stage, s, other])
        gap[row] = best - optimal[world, stage, s, a]
    return to, paid, over, gap
