"""Extended value iteration: the best transition within a given distance of the likeliest one, in closed form.

Among all probabilities p' with |p' - p|_1 <= w, the mean of V is largest if w/2 is added to the best outcome (up to
probability 1) and the same amount is taken from the worst outcomes first. With outcomes in descending order of V,
B = 1 - p'_1 and C_i = p_2 + ... + p_i this is

    p'_1 = min(1, p_1 + w/2),   p'_i = min(C_i, B) - min(C_{i-1}, B)

Source: Jaksch, Ortner, Auer, "Near-optimal regret bounds for reinforcement learning", 2010, Figure 2.

>>> optimistic(np.array([[[[0.5, 0.25, 0.25]]]]), np.array([[[0.2]]]), np.array([[0.0, 1.0, 2.0]])).round(6)
array([[[[0.4 , 0.25, 0.35]]]])
"""

from __future__ import annotations

import numpy as np

from corral_core import Array


def optimistic(transition: Array, width: Array, value: Array) -> Array:
    """p' for probabilities (rows, states, actions, outcomes), widths (rows, states, actions), values (rows, outcomes).

    If values are equal, the outcome with the highest number counts as the best, the one with the lowest as the worst.
    """
    order = np.argsort(value, axis=1, kind="stable")[:, ::-1]
    place = np.broadcast_to(order[:, None, None], transition.shape)
    sorted_by_value = np.take_along_axis(transition, place, axis=3)
    most = np.minimum(1.0, sorted_by_value[..., :1] + width[..., None] / 2)
    kept = np.minimum(np.cumsum(sorted_by_value[..., 1:], axis=3), 1 - most)
    found = np.empty_like(transition)
    np.put_along_axis(found, place, np.concatenate([most, np.diff(kept, axis=3, prepend=0.0)], axis=3), axis=3)
    return found
