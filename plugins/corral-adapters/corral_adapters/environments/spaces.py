"""Numbering of the elements of Gymnasium's finite spaces: Discrete, MultiDiscrete, MultiBinary, Tuples of them.

In a product, the last part varies fastest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from corral_adapters.libraries import library


@attrs.frozen(eq=False)
class Finite:
    """A space whose elements consist of integers; `parts` are (first value, number of values) of each."""

    parts: tuple[tuple[int, int], ...]
    take_apart: Callable[[Any], Iterator[int]]
    assemble: Callable[[Iterator[int]], Any]

    @property
    def size(self) -> int:
        return math.prod(count for _, count in self.parts)

    def number(self, element: Any) -> int:
        """The number of an element, from 0."""
        found = 0
        for (first, count), value in zip(self.parts, self.take_apart(element), strict=True):
            found = found * count + value - first
        return found

    def element(self, number: int) -> Any:
        """The element of this number, as the environment expects it."""
        values = []
        for first, count in reversed(self.parts):
            values.append(first + number % count)
            number //= count
        return self.assemble(reversed(values))


def finite(space: Any) -> Finite | None:
    """The numbering of a space, or None if the space is not one of these kinds."""
    spaces = library("gymnasium.spaces", "gymnasium")
    if isinstance(space, spaces.Discrete):
        return Finite(((int(space.start), int(space.n)),), lambda element: iter((int(element),)), next)
    if isinstance(space, spaces.MultiDiscrete):
        starts = getattr(space, "start", np.zeros_like(space.nvec))
        pairs = zip(starts.flat, space.nvec.flat, strict=True)
        return _array(tuple((int(first), int(count)) for first, count in pairs), space)
    if isinstance(space, spaces.MultiBinary):
        return _array(((0, 2),) * math.prod(space.shape), space)
    if isinstance(space, spaces.Tuple):
        inner = [finite(each) for each in space.spaces]
        return None if None in inner else _together([each for each in inner if each is not None])
    return None


def _array(parts: tuple[tuple[int, int], ...], space: Any) -> Finite:
    def assemble(values: Iterator[int]) -> Any:
        found = [next(values) for _ in parts]
        return np.asarray(found, dtype=space.dtype).reshape(space.shape)

    return Finite(parts, lambda element: (int(value) for value in np.ravel(element)), assemble)


def _together(inner: list[Finite]) -> Finite:
    def take_apart(element: Any) -> Iterator[int]:
        for each, part in zip(inner, element, strict=True):
            yield from each.take_apart(part)

    return Finite(
        tuple(part for each in inner for part in each.parts),
        take_apart,
        lambda values: tuple(each.assemble(values) for each in inner),
    )
