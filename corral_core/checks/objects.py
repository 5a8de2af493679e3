"""Whether a Python object, such as a lifted learner, has changed, and which of its attributes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from corral_core.bases.lift import BesideArms
from corral_core.checks.rules import shown

DEPTH = 6  # levels of attributes and items that are searched


class Parts(dict[str, bytes]):
    """The fingerprints of the attributes of an object that cannot be pickled as a whole."""


def fingerprint(item: Any) -> bytes:
    """Bytes that differ if a Python object has changed; if it cannot be pickled, its attributes are used."""
    try:
        return pickle.dumps(item)
    except Exception:
        inside = getattr(item, "__dict__", None)
        if inside is None:
            return pickle.dumps(repr(item))
        return pickle.dumps(Parts({name: fingerprint(value) for name, value in inside.items()}))


def what_changed(before: bytes, now: bytes) -> str:
    """What differs between two fingerprints: "attribute `counts[2]` went from 0 to 1"; "it changed" if unknown."""
    try:
        path, old, new = _difference(pickle.loads(before), pickle.loads(now), "", DEPTH)
    except Exception:  # objects may refuse to be loaded or read
        return "it changed"
    if not path:
        return "it changed"
    return f"attribute `{path}` went from {shown(old)} to {shown(new)}"


def _difference(old: Any, new: Any, path: str, depth: int) -> tuple[str, Any, Any]:
    """The path of the first part that differs, as far inside as the search goes, and its two values."""
    if depth and type(old) is type(new):
        before, now = _inside(old), _inside(new)
        for name in before | now:
            one, other = before.get(name, "nothing"), now.get(name, "nothing")
            if fingerprint(one) != fingerprint(other):
                return _difference(one, other, f"{path}{name}".removeprefix("."), depth - 1)
    return path, old, new


def _inside(item: Any) -> dict[str, Any]:
    """The attributes of an object, or the items of a container, by what is written behind its name."""
    if isinstance(item, Parts):
        return {f".{name}": pickle.loads(value) for name, value in item.items()}
    if isinstance(item, BesideArms):  # not the author's: show the learner that it holds
        return {**_inside(item.learner), ".features": item.features}
    if isinstance(item, dict):
        return {f"[{key!r}]": value for key, value in item.items()}
    if isinstance(item, list | tuple):
        return {f"[{place}]": value for place, value in enumerate(item)}
    if isinstance(item, np.ndarray | np.generic | str | bytes):
        return {}
    slots = [name for cls in type(item).__mro__ for name in getattr(cls, "__slots__", ())]
    names = [*getattr(item, "__dict__", {}), *(name for name in slots if hasattr(item, name))]
    return {f".{name}": getattr(item, name) for name in names if not name.startswith("__")}
