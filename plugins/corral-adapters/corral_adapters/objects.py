"""What an object of a wrapped library knows, as plain values, and back into a fresh object that was made alike.

Generators, functions and classes are left as the fresh object has them. An object that hides what it holds, as those
written in another language do, is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core import CorralError


def known(value: Any, who: str) -> Any:
    """Everything in `value`, as numbers, strings, arrays, lists, tuples and dicts of them."""
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        by_columns = value.flags.f_contiguous and not value.flags.c_contiguous
        return {"columns": value.T.copy()} if by_columns else value.copy()  # BLAS writes only into that order
    if isinstance(value, list | tuple):
        return type(value)(known(each, who) for each in value)
    if isinstance(value, dict):
        return {"keys": list(value), "values": [known(each, who) for each in value.values()]}
    if callable(value) and not hasattr(value, "__dict__"):
        return {}
    if not hasattr(value, "__dict__"):
        kind = type(value).__name__
        raise CorralError(f"{who} cannot be saved: it holds a {kind}, which does not show what it knows; use another")
    return {"fields": {name: known(each, who) for name, each in vars(value).items()}}


def filled(fresh: Any, state: Any) -> Any:
    """`fresh` with what `known` returned: objects and dicts are filled in place, other values replaced."""
    if isinstance(state, list | tuple):
        olds = fresh if isinstance(fresh, list | tuple) and len(fresh) == len(state) else [None] * len(state)
        return type(state)(filled(old, each) for old, each in zip(olds, state, strict=True))
    if not isinstance(state, dict):
        return state
    if "columns" in state:
        return state["columns"].T
    if "keys" in state:
        pairs = list(zip(state["keys"], state["values"], strict=True))
        found = {key: filled(fresh[key] if _is_object(each) else None, each) for key, each in pairs}
        fresh = {} if fresh is None else fresh
        fresh.clear()
        fresh.update(found)
    for name, each in state.get("fields", {}).items():
        setattr(fresh, name, filled(getattr(fresh, name, None), each))
    return fresh


def _is_object(state: Any) -> bool:
    return isinstance(state, dict) and "fields" in state
