"""Policies that bases of many kinds share."""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.rows import Array, Rows


class Pick(Rows):
    """The policy of a base that plays one arm."""

    arm: Array


def arm_type(arms: int) -> Any:
    """The smallest integers that number the arms: a policy is stored for every play."""
    return np.int16 if arms <= np.iinfo(np.int16).max else np.int64
