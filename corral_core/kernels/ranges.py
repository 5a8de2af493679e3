"""Whether all numbers are in a range: the check of what bases, metas and callers hand over at every play."""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.kernels.twins import kernel


def _arrays(values: Any, least: Any, most: Any) -> Any:
    if values.size == 1:
        return bool(least <= values.item() <= most)
    return bool(np.minimum.reduce(values) >= least and np.maximum.reduce(values) <= most)


@kernel(_arrays)
def in_range(values: Any, least: Any, most: Any) -> Any:
    """Whether least <= value <= most for every value of an array with one axis; NaN is in no range."""
    fits = True
    for value in values:
        fits &= (value >= least) & (value <= most)
    return fits
