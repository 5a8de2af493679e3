"""Records of arrays that share their first axis.

Everything in Corral is an array whose first axis is the *row*: one row is one independent learner, one replicate of
one base. `Rows` is the container; `Log` is an append-only store with one list of entries per row.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias, dataclass_transform

import attrs
import numpy as np
from numpy.typing import NDArray

from corral_core.errors import CorralError

Array: TypeAlias = NDArray[Any]
"""An array whose first axis is the row, unless its name says otherwise."""


@dataclass_transform(eq_default=False)
class Rows:
    """Base class of records: annotate the fields, and the subclass becomes an attrs class.

    A field holds an array, another `Rows`, a `Log`, or None if there is no value. An array of dtype object holds
    one Python object per row.

    >>> class State(Rows):
    ...     pulls: Array
    ...     total: Array
    >>> state = State(pulls=np.zeros((3, 2)), total=np.ones((3, 2)))
    >>> len(state), len(state.take(np.array([2, 0])))
    (3, 2)
    """

    names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        attrs.define(cls, slots=False, eq=False)
        cls.names = tuple(field.name for field in attrs.fields(cls))  # type: ignore[arg-type]

    def _values(self) -> Iterator[tuple[str, Any]]:
        for name in self.names:
            value = getattr(self, name)
            if value is not None:
                yield name, value

    def replace(self, **changes: Any) -> Self:
        """A copy of this record with other values in some fields."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.__dict__.update(changes)
        return other

    def __len__(self) -> int:
        for _, value in self._values():
            return len(value)
        return 0

    def take(self, rows: Array, axis: int = 0) -> Self:
        """A copy of these rows (a `Log` is shared, not copied). `axis` must be 0; arrays have the same signature."""
        other = object.__new__(type(self))
        taken = other.__dict__
        taken.update(self.__dict__)
        for name in self.names:
            value = taken[name]
            if value is not None:
                taken[name] = value.take(rows, axis=0)
        return other

    def put(self, rows: Array, other: Self) -> None:
        """Overwrite these rows, in place, with the rows of another record."""
        for name, value in self._values():
            replacement = getattr(other, name)
            if isinstance(value, np.ndarray):
                value[rows] = replacement
            else:
                value.put(rows, replacement)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """One record with the rows of all parts, in order."""
        joined: dict[str, Any] = {}
        for name, value in parts[0]._values():
            values = [getattr(part, name) for part in parts]
            joined[name] = np.concatenate(values) if isinstance(value, np.ndarray) else type(value).concatenate(values)
        return parts[0].replace(**joined)

    def detached(self) -> Self:
        """A record safe from later changes: Python objects are copied (with `snapshot` or deepcopy); arrays are not."""
        changed: dict[str, Any] = {}
        for name in self.names:
            value = getattr(self, name)
            if isinstance(value, Rows):
                changed[name] = value.detached()
            elif _holds_objects(value):
                changed[name] = object_array([snapshot(item) for item in value])
        return self.replace(**changed) if changed else self

    @property
    def nbytes(self) -> int:
        """Bytes held by all rows; Python objects count with the size of their pickle."""
        return sum(_object_bytes(value) if _holds_objects(value) else int(value.nbytes) for _, value in self._values())

    def to_arrays(self) -> dict[str, Array]:
        """Plain arrays by dotted name, ready for `np.savez`."""
        arrays: dict[str, Array] = {}
        for name, value in self._values():
            if not isinstance(value, np.ndarray):
                arrays |= {f"{name}.{key}": array for key, array in value.to_arrays().items()}
            elif value.dtype == object:
                raise CorralError(f"{type(self).__name__}.{name} holds Python objects, which cannot be saved as arrays")
            else:
                arrays[name] = value
        return arrays

    def from_arrays(self, arrays: Mapping[str, Array]) -> Self:
        """A record with the same layout as this one, filled from the result of `to_arrays`.

        An array that was None when the other was saved is None again, and the other way round.
        """
        loaded: dict[str, Any] = {}
        for name in self.names:
            value = getattr(self, name)
            if value is None and any(key.startswith(f"{name}.") for key in arrays):
                raise CorralError(f"{type(self).__name__}.{name} was saved, but is not there in a fresh record")
            if value is None or isinstance(value, np.ndarray):
                loaded[name] = np.array(arrays[name]) if name in arrays else None
            else:
                prefix = f"{name}."
                inner = {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}
                loaded[name] = value.from_arrays(inner)
        return self.replace(**loaded)


def object_array(items: Sequence[object]) -> Array:
    """An array with one Python object per row, even if numpy could convert the objects."""
    array = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        array[index] = item
    return array


def stack(parts: Sequence[Any]) -> Any:
    """Arrays or records of the same rows, stacked along a new second axis."""
    first = parts[0]
    if isinstance(first, np.ndarray):
        return np.stack(parts, axis=1)
    return first.replace(**{name: stack([getattr(part, name) for part in parts]) for name, _ in first._values()})


def _holds_objects(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "O"


def _object_bytes(array: Array) -> int:
    try:
        return array.nbytes + sum(len(pickle.dumps(item)) for item in array)
    except Exception:  # pickling an object may raise anything, and this is only an estimate
        return array.nbytes + 1000 * len(array)


def snapshot(item: Any) -> Any:
    """A copy that later learning cannot change."""
    return item.snapshot() if hasattr(item, "snapshot") else copy.deepcopy(item)
