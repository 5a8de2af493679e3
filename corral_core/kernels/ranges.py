"""Whether all numbers are in a range: the check of what bases, metas and callers hand over at every play."""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.twins import kernel

LEAST = float(np.nextafter(0.0, 1.0))  # the smallest probability of a choice
ROUNDING = 1e-6  # by which probabilities may miss one
MOST = 1 + ROUNDING
FEW = 24  # whole numbers; so few are compared faster without numpy
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
LARGEST = {1: 2**7 - 1, 2: 2**15 - 1, 4: 2**31 - 1, 8: 2**63 - 1}  # of signed numbers


def in_range(values: Any, least: Any, most: Any) -> bool:
    """Whether least <= value <= most for every value of an array with one axis; NaN is in no range."""
    if values.size < 2:  # quicker than any kernel
        return not values.size or bool(least <= values.item() <= most)
    found: bool = within(values, least, most)
    return found


def _arrays(values: Any, least: Any, most: Any) -> Any:
    dtype = values.dtype
    if values.size < FEW and dtype.kind in "iu":
        numbers = values.tolist()
        return bool(least <= min(numbers) and max(numbers) <= most)
    if least == 0 and dtype.kind == "i" and most <= LARGEST[dtype.itemsize]:  # then negative ones are above it
        return bool(np.maximum.reduce(values.view(UNSIGNED[dtype.itemsize])) <= most)
    return bool(np.minimum.reduce(values) >= least and np.maximum.reduce(values) <= most)


@kernel(_arrays)
def within(values: Any, least: Any, most: Any) -> Any:
    """`in_range`, for at least one value."""
    fits = True
    for value in values:
        fits &= (value >= least) & (value <= most)
    return fits


def _are_choices_arrays(chosen: Any, probability: Any, bases: Any) -> Any:
    return in_range(chosen, 0, bases - 1) and in_range(probability, LEAST, MOST)


@kernel(_are_choices_arrays)
def are_choices(chosen: Any, probability: Any, bases: Any) -> Any:
    """Whether these are numbers of bases, and probabilities above 0 and at most 1."""
    fits = True
    for row in range(len(chosen)):
        fits &= (chosen[row] >= 0) & (chosen[row] < bases) & (probability[row] > 0) & (probability[row] <= MOST)
    return fits
