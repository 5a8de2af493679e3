"""Grids in experiment files: lists, geometric sequences, powers of two; and values that follow the horizon.

c = [1, 10, 100]
c = { geometric = [1, 100000], count = 18 }
dimension = { powers-of-two = [1, 64] }
c = { geometric = [1, "2 * horizon"], count = 18 }
"""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from corral_core.errors import CorralError
from corral_core.parsing import check_keys, shown

MOST = 10_000  # maximum number of values of a grid
FOLLOWS = re.compile(r"^\s*(?:(\d+(?:\.\d+)?)\s*\*\s*)?horizon\s*$")


def follow_horizon(value: Any, horizon: int) -> Any:
    """The value with every "horizon" or "2 * horizon" in it replaced by the number."""
    if isinstance(value, Mapping):
        return {key: follow_horizon(each, horizon) for key, each in value.items()}
    if isinstance(value, list):
        return [follow_horizon(each, horizon) for each in value]
    match = FOLLOWS.match(value) if isinstance(value, str) else None
    if match is None:
        return value
    product = float(match.group(1) or 1) * horizon
    return int(product) if product.is_integer() else product


def expand(grid: Any, where: str) -> list[Any]:
    """The values of one grid."""
    if isinstance(grid, list):
        values = list(grid)
    elif not isinstance(grid, Mapping):
        raise CorralError(f"{where} must be a list, geometric or powers-of-two, not {shown(grid)}")
    elif "geometric" in grid:
        check_keys(grid, ["geometric", "count"], where)
        low, high = _ends(grid["geometric"], f"{where}.geometric")
        count = grid.get("count")
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST:
            raise CorralError(f"{where}.count must be a whole number from 1 to {MOST:,}, not {shown(count)}")
        values = [float(value) for value in np.geomspace(low, high, count)]
    elif "powers-of-two" in grid:
        check_keys(grid, ["powers-of-two"], where)
        low, high = _ends(grid["powers-of-two"], f"{where}.powers-of-two")
        exponents = range(math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9) + 1)
        values = [2**exponent if exponent >= 0 else 2.0**exponent for exponent in exponents]
    else:
        raise CorralError(f"{where} must be a list, geometric or powers-of-two, not {shown(dict(grid))}")
    if not values:
        raise CorralError(f"{where} is an empty grid; give it at least one value")
    return values


def product(grids: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    """Every combination of the values of several grids."""
    columns = [[(name, value) for value in expand(grid, f"{where}.{name}")] for name, grid in grids.items()]
    if math.prod(map(len, columns)) > MOST:
        raise CorralError(f"{where} has more than {MOST:,} combinations; remove some values")
    return [dict(combination) for combination in itertools.product(*columns)]


def _ends(ends: Any, where: str) -> tuple[float, float]:
    numbers = isinstance(ends, list) and len(ends) == 2 and all(_positive(end) for end in ends)
    if not numbers or ends[0] > ends[1]:
        raise CorralError(f"{where} must be two positive numbers, the smaller first, not {shown(ends)}")
    return float(ends[0]), float(ends[1])


def _positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= sys.float_info.max
