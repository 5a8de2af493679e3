"""Kernels that read a table at one stage and state per row: its action, or one drawn among those that tie.

Bits are packed as in `numpy.packbits`: action a is bit 7 - a mod 8 of byte a div 8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.twins import kernel

NO_PLACE = "there is no such stage or state in the table"
UNLIKE = "the table is of other rows or actions"
# For each byte: how many bits are set, and the number of the first, second, ... of them.
COUNT = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.intp)
NUMBER = np.argsort(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) == 0, axis=1, kind="stable")


def _place(table: Any, stage: Any, state: Any) -> Any:
    """Where the entries of these rows are, if the first three axes are one."""
    return np.ravel_multi_index((np.arange(len(table)), stage, state), table.shape[:3])


def _looked_up_arrays(action: Any, stage: Any, state: Any) -> Any:
    return action.take(_place(action, stage, state)).astype(np.intp)


@kernel(_looked_up_arrays)
def looked_up(action: Any, stage: Any, state: Any) -> Any:
    """The action of every row, from a table (rows, stages, states)."""
    rows, stages, states = action.shape
    if not len(stage) == len(state) == rows:
        raise IndexError(UNLIKE)
    found = np.empty(rows, np.intp)
    for row in range(rows):
        if not (0 <= stage[row] < stages and 0 <= state[row] < states):
            raise ValueError(NO_PLACE)
        found[row] = action[row, stage[row], state[row]]
    return found


def _drawn_arrays(best: Any, epsilon: Any, stage: Any, state: Any, uniform: Any, actions: Any) -> Any:
    rows, width = best.shape[0], best.shape[3]
    place = _place(best, stage, state)
    explores = uniform[:, 0] < epsilon
    if width == 1:
        bits = best.take(place)
        np.putmask(bits, explores, 256 - (256 >> actions))
        at = bits.astype(np.intp)
        rank = (uniform[:, 1] * COUNT.take(at)).astype(np.intp)
        at <<= 3
        at += rank
        return NUMBER.take(at)
    there = np.unpackbits(best.reshape(-1, width).take(place, axis=0), axis=1, count=actions).astype(np.bool_)
    there[explores] = True
    order = np.add.accumulate(there, axis=1, dtype=np.intp)
    rank = (uniform[:, 1] * order[:, -1]).astype(np.intp)
    return (order > rank.reshape(rows, 1)).argmax(axis=1)


@kernel(_drawn_arrays)
def drawn(best: Any, epsilon: Any, stage: Any, state: Any, uniform: Any, actions: Any) -> Any:
    """One of n actions: number floor(u_1 n) of the best or, if u_0 < epsilon, of all, for uniform numbers (rows, 2).

    `best` holds the bits (rows, stages, states, bytes) of the best actions.
    """
    rows, stages, states, width = best.shape
    if 8 * width < actions or not len(stage) == len(state) == len(epsilon) == len(uniform) == rows:
        raise IndexError(UNLIKE)
    found = np.empty(rows, np.intp)
    for row in range(rows):
        if not (0 <= stage[row] < stages and 0 <= state[row] < states):
            raise ValueError(NO_PLACE)
        bits = best[row, stage[row], state[row]]
        count = 0
        for action in range(actions):
            count += bits[action >> 3] >> (7 - (action & 7)) & 1
        if uniform[row, 0] < epsilon[row]:
            found[row] = int(uniform[row, 1] * actions)
        elif count == 0:  # no value is the largest if one of them is not a number
            found[row] = 0
        else:
            left, action = int(uniform[row, 1] * count), 0
            while left > 0 or not bits[action >> 3] >> (7 - (action & 7)) & 1:
                left -= bits[action >> 3] >> (7 - (action & 7)) & 1
                action += 1
            found[row] = action
    return found
