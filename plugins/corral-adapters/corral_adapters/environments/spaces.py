"""Numbers for the elements of Gymnasium's finite spaces: Discrete, MultiDiscrete, MultiBinary, and Tuples of them.

The elements of a product are counted with the last part running fastest.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corral_adapters.libraries import library


def size(space: Any) -> int | None:
    """How many elements a space has; None where it is not one of these."""
    found = _parts(space)
    return None if found is None else math.prod(count for _, count in found)


def number(space: Any, element: Any) -> int:
    """The number of an element, from 0."""
    found = 0
    for (first, count), value in zip(_parts(space) or (), _values(space, element), strict=True):
        found = found * count + int(value) - first
    return found


def element(space: Any, number: int) -> Any:
    """The element of this number, as the environment wants it."""
    values = []
    for first, count in reversed(_parts(space) or []):
        values.append(first + number % count)
        number //= count
    return _assembled(space, values[::-1])


def _parts(space: Any) -> list[tuple[int, int]] | None:
    """First value and count of every number that an element is made of."""
    spaces = library("gymnasium.spaces", "gymnasium")
    if isinstance(space, spaces.Discrete):
        return [(int(space.start), int(space.n))]
    if isinstance(space, spaces.MultiDiscrete):
        starts = getattr(space, "start", np.zeros_like(space.nvec))
        return [(int(first), int(count)) for first, count in zip(starts.flat, space.nvec.flat, strict=True)]
    if isinstance(space, spaces.MultiBinary):
        return [(0, 2)] * math.prod(space.shape)
    if isinstance(space, spaces.Tuple):
        inner = [_parts(each) for each in space.spaces]
        return None if None in inner else [part for each in inner for part in each or ()]
    return None


def _values(space: Any, element: Any) -> list[int]:
    spaces = library("gymnasium.spaces", "gymnasium")
    if isinstance(space, spaces.Tuple):
        return [value for each, part in zip(space.spaces, element, strict=True) for value in _values(each, part)]
    return [int(value) for value in np.ravel(element)]


def _assembled(space: Any, values: list[int]) -> Any:
    spaces = library("gymnasium.spaces", "gymnasium")
    if isinstance(space, spaces.Discrete):
        return values[0]
    if isinstance(space, spaces.Tuple):
        made = []
        for each in space.spaces:
            count = len(_parts(each) or ())
            made.append(_assembled(each, values[:count]))
            values = values[count:]
        return tuple(made)
    return np.asarray(values, dtype=space.dtype).reshape(space.shape)
