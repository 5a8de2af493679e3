"""Sums that numpy adds up in the order of a loop.

numpy adds up the last axis of an array in pairs, and so any axis if it is the only one that is longer than one. It adds
up the first axis of an array in C order term after term, as a loop does, if there are at least two columns. So kernels
put the terms of a sum first.

>>> summed(np.array([[0.1, 1.0], [0.2, 2.0], [0.3, 3.0]]))[0] == 0.1 + 0.2 + 0.3
np.True_
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def summed(terms: Array) -> Array:
    """The sum over the first axis of an array in C order, term after term."""
    if terms.size == len(terms):
        return np.asarray(np.add.accumulate(terms, axis=0)[-1]) if terms.size else np.zeros(terms.shape[1:])
    found: Array = np.add.reduce(terms, axis=0)
    return found


def products(one: Array, other: Array) -> Array:
    """The products of two arrays, in C order, whatever the order of the factors is."""
    found: Array = np.multiply(one, other, order="C")
    return found
