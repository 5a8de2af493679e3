"""Parameters of bases, environments and metas: plain fields, knobs and fitted fields; which bases are kin."""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs
import numpy as np

from corral_core.errors import CorralError, shortened


def parameter(default: Any = attrs.NOTHING, *, help: str, validator: Any = None, **options: Any) -> Any:
    """A field the user may set."""
    return attrs.field(default=default, validator=validator, metadata={"help": help}, **options)


def knob(default: Any = attrs.NOTHING, *, help: str, validator: Any = None) -> Any:
    """A field in which kin may differ: `init` finds it in `given`, one value per row; do not read it from `self`."""
    return attrs.field(default=default, validator=validator, metadata={"help": help, "knob": True})


def fitted(*, help: str, validator: Any = None, knob: bool = False, hidden: bool = False) -> Any:
    """A field that `resolve` takes from the field of the same name in the problem, unless the user set it.

    If it is `hidden`, users cannot set it in a file, and it is not listed among the parameters.
    """
    if validator is not None:
        validator = attrs.validators.optional(validator)
    metadata = {"help": help, "fitted": True} | ({"knob": True} if knob else {})
    if hidden:
        return attrs.field(default=None, kw_only=True, repr=False, metadata=metadata | {"hidden": True})
    return attrs.field(default=None, validator=validator, metadata=metadata)


def is_knob(cls: type, field: Any) -> bool:
    """Whether a field is a knob of this class."""
    return "knob" in field.metadata or field.name in _more_knobs(cls)


@cache
def _more_knobs(cls: type) -> frozenset[str]:
    """The inherited fields that the class or its parents made knobs, and that no class below them declares anew."""
    names = {field.name for field in attrs.fields(cls)}
    found, declared = set(), set[str]()
    for each in cls.__mro__:
        for name in vars(each).get("more_knobs", ()):
            if name not in names:
                raise CorralError(f"{each.__name__}: more_knobs has {shortened(name)}, which is not one of its fields")
            if name not in declared:
                found.add(name)
        declared |= vars(each).get("__annotations__", {}).keys()
    return frozenset(found)


def knobs(base: Any) -> dict[str, Any]:
    """The values of a base's knobs."""
    cls = type(base)
    return {field.name: getattr(base, field.name) for field in attrs.fields(cls) if is_knob(cls, field)}


def fitted_names(base: Any) -> list[str]:
    """The names of the fields that `resolve` fills."""
    return [field.name for field in attrs.fields(type(base)) if "fitted" in field.metadata]


def kin(one: Any, other: Any) -> bool:
    """Whether two bases differ only in their knobs, so that they can advance as one block of rows."""
    cls = type(one)
    if cls is not type(other) or (hasattr(cls, "kinship") and len({one.kinship, other.kinship}) > 1):
        return False
    fields = [field for field in attrs.fields(cls) if not is_knob(cls, field)]
    fixed = [field.name for field in fields if "claimed" not in field.metadata]  # a claim does not change any play
    return all(_same(getattr(one, name), getattr(other, name)) for name in fixed)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return type(one) is type(other) and bool(one == other)
