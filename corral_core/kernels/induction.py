"""The optimal action-values of a model that is the same at every stage, by backward induction.

    Q_h(s, a) = r(s, a) + sum over s' of P(s' | s, a) V_{h+1}(s'),   V_h(s) = max_a Q_h(s, a),   V_H = 0

The sum runs over s' in order, for every pair alike, so equal actions have equal values to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.sums import summed
from corral_core.kernels.twins import kernel


def _arrays(reward: Any, transition: Any, stages: Any) -> Any:
    rows, states, actions = reward.shape
    found = np.empty((rows, stages, states, actions))
    probability = np.ascontiguousarray(transition.transpose(3, 0, 1, 2))  # the terms of the sum first
    terms, value = np.empty_like(probability), np.zeros((rows, states))
    for stage in range(stages - 1, -1, -1):
        np.multiply(probability, value.T[:, :, None, None], out=terms)
        values = summed(terms)
        values += reward
        found[:, stage] = values
        np.maximum.reduce(values, axis=2, out=value)
    return found


@kernel(_arrays)
def best_values(reward: Any, transition: Any, stages: Any) -> Any:
    """Q for rewards (rows, states, actions) and probabilities (rows, states, actions, states), both in C order."""
    rows, states, actions = reward.shape
    if transition.shape != (rows, states, actions, states):
        raise IndexError("rewards and transitions do not fit together")
    found, value = np.empty((rows, stages, states, actions)), np.empty(states)
    for row in range(rows):
        value[:] = 0.0
        for stage in range(stages - 1, -1, -1):
            for state in range(states):
                for action in range(actions):
                    onward = transition[row, state, action, 0] * value[0]
                    for k in range(1, states):
                        onward += transition[row, state, action, k] * value[k]
                    found[row, stage, state, action] = onward + reward[row, state, action]
            for state in range(states):
                value[state] = found[row, stage, state, 0]
                for action in range(1, actions):
                    value[state] = max(value[state], found[row, stage, state, action])
    return found
