"""The state of a meta-algorithm as plain arrays: an attrs class of arrays, numbers, strings, and classes of these."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from corral_core.errors import CorralError
from corral_core.parsing import shown
from corral_core.rows import Array, Rows

SAVED = "biufcUS"  # kinds of numpy types: booleans, numbers and text
SIMPLE = (np.ndarray, np.generic, bool, int, float, str)


def state_arrays(state: Any, owner: str) -> dict[str, Array]:
    """Plain arrays by dotted name; a field that is None is left out. `owner` is named if something cannot be saved."""
    if isinstance(state, Rows):
        found = state.to_arrays()
        for name, array in found.items():
            if array.dtype.kind not in SAVED:
                _refuse(owner, f"{type(state).__name__}.{name}", array)
        return found
    if state is None:
        return {}
    if not attrs.has(type(state)):
        _refuse(owner, "its state", state)
    arrays: dict[str, Array] = {}
    for field in attrs.fields(type(state)):
        value = getattr(state, field.name)
        if isinstance(value, SIMPLE):
            arrays[field.name] = np.asarray(value)
            if arrays[field.name].dtype.kind not in SAVED:
                _refuse(owner, f"{type(state).__name__}.{field.name}", value)
        elif isinstance(value, Rows) or attrs.has(type(value)):
            inner = state_arrays(value, owner)
            arrays |= {f"{field.name}.{name}": array for name, array in inner.items()}
        elif value is not None:
            _refuse(owner, f"{type(state).__name__}.{field.name}", value)
    return arrays


def state_from_arrays(fresh: Any, arrays: Mapping[str, Array]) -> Any:
    """A state like this fresh one, filled from the result of `state_arrays`."""
    if isinstance(fresh, Rows):
        return fresh.from_arrays(arrays)
    state = copy.copy(fresh)
    for field in attrs.fields(type(fresh)) if attrs.has(type(fresh)) else ():
        value = getattr(fresh, field.name)
        if isinstance(value, Rows) or attrs.has(type(value)):
            prefix = f"{field.name}."
            inner = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            found = state_from_arrays(value, inner)
        elif any(name.startswith(f"{field.name}.") for name in arrays):
            what = f"{type(fresh).__name__}.{field.name}"
            raise CorralError(
                f"{what} was saved, but is not there in a fresh state; override to_arrays and from_arrays"
            )
        elif field.name not in arrays:
            found = None
        else:
            array = np.array(arrays[field.name])
            found = array if isinstance(value, np.ndarray) or array.ndim else array.item()
            found = array[()] if isinstance(value, np.generic) else found
        object.__setattr__(state, field.name, found)
    return state


def _refuse(owner: str, what: str, value: Any) -> None:
    raise CorralError(
        f"{owner} cannot be saved: {what} is {type(value).__name__} {shown(value)}; keep arrays and numbers in attrs "
        f"classes, or override to_arrays and from_arrays"
    )
