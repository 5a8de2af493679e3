"""Turn tables of values into attrs classes: every key and type is checked, and each error is one sentence."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import attrs

from corral_core.errors import CorralError, shortened
from corral_core.suggestions import suggestion

T = TypeVar("T")

NAMES = {float: "a number", int: "a whole number", str: "a string", bool: "true or false", type(None): "nothing"}


def build(cls: type[T], values: Mapping[str, Any], where: str) -> T:
    """An instance of an attrs class from a table of values."""
    fields = {field.name: field for field in parameters(cls)}
    check_keys(values, fields, where)
    for name, field in fields.items():
        if field.default is attrs.NOTHING and name not in values:
            raise CorralError(f"{where} needs {name}: {field.metadata.get('help', 'it has no default')}")
    converted = {name: convert(value, fields[name].type, f"{where}: {name}") for name, value in values.items()}
    try:
        return cls(**converted)
    except (ValueError, TypeError) as problem:
        raise CorralError(f"{where}: {_first(problem)}") from None


def parameters(cls: type[Any]) -> list[attrs.Attribute[Any]]:
    """The fields of an attrs class that a user may set, with their types resolved."""
    try:
        resolved = attrs.resolve_types(cls)
    except NameError as unknown:
        raise CorralError(f"cannot resolve an annotation of {cls.__name__}: {unknown}") from None
    return [field for field in attrs.fields(resolved) if "hidden" not in field.metadata]


def check_keys(values: Mapping[str, Any], allowed: Iterable[str], where: str) -> None:
    """Raise an error for a key that is not allowed here."""
    allowed = list(allowed)
    for key in values:
        if key not in allowed:
            raise CorralError(f"{where} has no {shown(key)}{suggestion(key, allowed)}")


def convert(value: Any, kind: Any, where: str) -> Any:
    """The value converted to this type; raises an error if it does not fit."""
    if kind is Any or kind is None:
        return value
    if get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        raise CorralError(f"{where} must be {_choices(kind)}, not {shown(value)}")
    if get_origin(kind) in (Union, types.UnionType):
        choices = [choice for choice in get_args(kind) if choice is not type(None)]
        if len(choices) == 1 and value is not None:
            return convert(value, choices[0], where)
        for choice in get_args(kind):
            try:
                return convert(value, choice, where)
            except CorralError:
                continue
        raise CorralError(f"{where} must be {_choices(kind)}, not {shown(value)}")
    if get_origin(kind) is tuple:
        if not isinstance(value, (list, tuple)):
            raise CorralError(f"{where} must be a list, not {shown(value)}")
        item = get_args(kind)[0]
        return tuple(convert(each, item, f"{where}[{index}]") for index, each in enumerate(value))
    return _convert_simple(value, kind, where)


def _convert_simple(value: Any, kind: Any, where: str) -> Any:
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if not abs(value) <= sys.float_info.max:
            raise CorralError(f"{where} must be finite, not {shown(value)}")
        return float(value)
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        if not abs(value) < 2**63:
            raise CorralError(f"{where} must be less than 2^63, not {shown(value)}")
        return value
    if kind in (str, bool, type(None)) and isinstance(value, kind):
        return value
    if isinstance(kind, type) and kind not in NAMES and isinstance(value, kind):
        return value
    raise CorralError(f"{where} must be {NAMES.get(kind, str(kind))}, not {shown(value)}")


def _choices(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(str(choice) for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return "a list of numbers" if get_args(kind)[0] in (int, float) else "a list"
    shown = [_choices(choice) if get_args(choice) else NAMES.get(choice, "a list") for choice in get_args(kind)]
    return " or ".join(name for name in shown if name != "nothing")


def shown(value: Any) -> str:
    """What the user wrote, in one line, shortened if it is long."""
    try:
        text = repr(value[:60] if isinstance(value, (str, bytes, list, tuple)) else value)
    except ValueError:  # Python refuses to print thousands of digits
        return "a number with thousands of digits"
    except RecursionError:
        return "something very deep"
    except Exception:  # `repr` of somebody's class may raise anything
        return "something that cannot be printed"
    return shortened(" ".join(text.splitlines()), 60)


def quoted(value: Any) -> str:
    """What a file says, in one printable line: text without quotes, shortened if it is long."""
    text = str(value) if isinstance(value, str | int | float | bool | None) else ""
    return shortened(text) if text and text.isprintable() else shown(value)


def _first(problem: Exception) -> str:
    """The message of a failed validator, without the objects that come with it."""
    text = str(problem.args[0]) if problem.args else str(problem)
    return shortened(re.sub(r"^'(\w+)'", r"\1", text), 160)
