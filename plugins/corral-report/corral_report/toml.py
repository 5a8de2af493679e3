"""Write TOML, so that you can save the experiment of a run from a report and run it again."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any


def to_toml(table: Mapping[str, Any]) -> str:
    """The text that `tomllib` reads as this table; None is left out, because TOML cannot express it."""
    said = {key: value for key, value in table.items() if value is not None}
    plain = {key: value for key, value in said.items() if not _tables(value)}
    blocks = [_pairs(plain)] if plain else []  # first, because what follows a header belongs to it
    for key, value in said.items():
        header = f"[{_key(key)}]" if isinstance(value, Mapping) else f"[[{_key(key)}]]"
        blocks += [f"{header}\n{_pairs(each)}".rstrip("\n") for each in _tables(value)]
    return "\n\n".join(blocks) + "\n"


def inline(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        pairs = [f"{_key(key)} = {inline(each)}" for key, each in value.items() if each is not None]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(inline(each) for each in value if each is not None)}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _tables(value: Any) -> list[Mapping[str, Any]]:
    """The tables that get their own headers: the value itself, or the items of a list that contains only tables."""
    if isinstance(value, Mapping):
        return [value]
    whole = isinstance(value, (list, tuple)) and all(isinstance(each, Mapping) for each in value)
    return list(value) if whole else []


def _pairs(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{_key(key)} = {inline(value)}" for key, value in table.items() if value is not None)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else inline(key)
