"""Bases, meta-algorithm, problem and options in plain words, to tell whether a file was saved with the same ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from corral_core.errors import CorralError
from corral_core.parsing import quoted
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta
from corral_core.protocols.problem import Problem
from corral_core.selection.options import Options


def described(bases: Sequence[Base], meta: Meta | None, problem: Problem, options: Options) -> dict[str, Any]:
    """What a selection is made of, as JSON."""
    return {
        "bases": [_plain(base) for base in bases],
        "meta": _plain(meta),
        "problem": _plain(problem),
        "options": _plain(options),
    }


def check_same(
    saved: dict[str, Any], bases: Sequence[Base], meta: Meta | None, problem: Problem, options: Options, name: str
) -> None:
    """Raise a `CorralError` that names the first difference between what was saved and what is given now."""
    now = described(bases, meta, problem, options)
    for number, (one, other) in enumerate(zip(saved["bases"], now["bases"], strict=False)):
        if one != other:
            raise CorralError(f"{name}: base {number} {_difference(one, other)}")
    if len(saved["bases"]) != len(bases):
        raise CorralError(f"{name} was saved with {len(saved['bases'])} bases, not {len(bases)}")
    for what, title in (("meta", "the meta-algorithm"), ("problem", "the problem"), ("options", "options")):
        if saved[what] != now[what]:
            raise CorralError(f"{name}: {title} {_difference(saved[what], now[what])}")


def _difference(saved: Any, now: Any) -> str:
    """How two descriptions differ, in words."""
    one, other = saved or {}, now or {}
    if one.get("class") != other.get("class"):
        before, after = (quoted(each.get("name", "none")) for each in (one, other))
        return f"was {before} when it was saved, and is {after} now"
    for key in {**one, **other}:
        if one.get(key) != other.get(key):
            before, after = (quoted(each.get(key)) for each in (one, other))
            return f"had {quoted(key)} = {before} when it was saved, and has {after} now"
    return "is another one now"


def _plain(value: Any) -> Any:
    """A value as JSON: classes by name and fields, arrays by a digest of their numbers, functions by name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest() if value.dtype != object else ""
        return f"{value.dtype} {list(value.shape)} {digest}"
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if attrs.has(type(value)):
        cls = type(value)
        known = {"class": f"{cls.__module__}:{cls.__qualname__}", "name": str(getattr(value, "name", cls.__name__))}
        return known | {field.name: _plain(getattr(value, field.name)) for field in attrs.fields(cls)}
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return type(value).__qualname__
