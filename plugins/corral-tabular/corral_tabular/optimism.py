"""Extended value iteration: the best transition within a given distance of the likeliest one, in closed form.

Among all probabilities p' with |p' - p|_1 <= w, the mean of V is largest if w/2 is added to the best outcome (up to
probability 1) and the same amount is taken from the worst outcomes first. With outcomes in descending order of V,
B = 1 - p'_1 and C_i = p_2 + ... + p_i this is

    p'_1 = min(1, p_1 + w/2),   p'_i = min(C_i, B) - min(C_{i-1}, B)

If values are equal, the outcome with the highest number counts as the best, the one with the lowest as the worst.
Backward induction takes p' at every stage:

    Q_h(s, a) = r(s, a) + sum_i p'_i V_{h+1, i},   V_h(s) = max_a Q_h(s, a),   V_H = 0

Source: Jaksch, Ortner, Auer, "Near-optimal regret bounds for reinforcement learning", 2010, Figure 2.

>>> one, half = np.ones((1, 1, 1)), np.full((1, 1, 1, 2), 0.5)  # one state, or the end, whose value is 0
>>> optimistic_values(one, half, np.full((1, 1, 1), 0.2), 3, False)[0, :, 0, 0].round(6)
array([1.96, 1.6 , 1.  ])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.sums import summed
from corral_core.kernels.twins import kernel


def _arrays(reward: Any, transition: Any, width: Any, stages: Any, aliased: Any) -> Any:
    rows, states, actions, outcomes = transition.shape
    found = np.empty((rows, stages, states, actions))
    # (outcomes, rows, pairs): the terms of sums first
    pairs = states * actions
    p = np.ascontiguousarray(transition.reshape(rows, pairs, outcomes).transpose(2, 0, 1))
    half = width.reshape(rows, pairs) / 2
    value, everyone = np.zeros((outcomes, rows)), np.arange(rows)
    for stage in range(stages - 1, -1, -1):
        order = np.argsort(value, axis=0, kind="stable")[::-1]
        order *= rows
        order += everyone
        best = p.reshape(outcomes * rows, pairs).take(order, axis=0)
        most = np.minimum(best[0] + half, 1.0)
        kept = np.minimum(np.add.accumulate(best[1:], axis=0), 1 - most)
        best[0] = most
        best[1:2] = kept[:1]
        np.subtract(kept[1:], kept[:-1], out=best[2:])
        if aliased:
            certain, spread = (best == 1.0).any(axis=0), np.empty_like(p)
            spread.reshape(outcomes * rows, pairs)[order] = best
            p = np.where(certain, p, spread)
        best *= value.take(order)[:, :, None]
        values = summed(best).reshape(rows, states, actions)
        values += reward
        found[:, stage] = values
        value[:states] = np.maximum.reduce(values, axis=2).T
    return found


@kernel(_arrays)
def optimistic_values(reward: Any, transition: Any, width: Any, stages: Any, aliased: Any) -> Any:
    """Q, (rows, stages, states, actions), for rewards r and widths w, (rows, states, actions), all in C order.

    `transition` is p, (rows, states, actions, outcomes); outcomes beyond the states end the episode. If `aliased`, p'
    takes the place of p at earlier stages, except where some outcome is certain.
    """
    rows, states, actions, outcomes = transition.shape
    if reward.shape != (rows, states, actions) or width.shape != reward.shape or outcomes < states:
        raise IndexError("rewards, transitions and widths do not fit together")
    found = np.empty((rows, stages, states, actions))
    p, best, value, order = transition, np.empty(outcomes), np.empty(outcomes), np.empty(outcomes, np.intp)
    if aliased:
        p = transition.copy()
    for row in range(rows):
        value[:] = 0.0
        for stage in range(stages - 1, -1, -1):
            for outcome in range(outcomes):
                place = outcome
                while place > 0 and value[order[place - 1]] <= value[outcome]:
                    order[place] = order[place - 1]
                    place -= 1
                order[place] = outcome
            for state in range(states):
                for action in range(actions):
                    most = min(p[row, state, action, order[0]] + width[row, state, action] / 2, 1.0)
                    best[0], certain, reached, before = most, most == 1.0, 0.0, 0.0
                    onward = most * value[order[0]]
                    for i in range(1, outcomes):
                        reached += p[row, state, action, order[i]]
                        kept = min(reached, 1 - most)
                        best[i] = kept - before
                        certain |= best[i] == 1.0
                        onward += best[i] * value[order[i]]
                        before = kept
                    if aliased and not certain:
                        for i in range(outcomes):
                            p[row, state, action, order[i]] = best[i]
                    found[row, stage, state, action] = onward + reward[row, state, action]
            for state in range(states):
                value[state] = found[row, stage, state, 0]
                for action in range(1, actions):
                    value[state] = max(value[state], found[row, stage, state, action])
    return found
