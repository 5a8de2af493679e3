"""Which rule each broken twin breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def rules() -> tuple[dict[type[Any], str], Callable[[str], Callable[[Any], Any]]]:
    """A list of broken classes, and the decorator that adds one to it."""
    broken: dict[type[Any], str] = {}

    def breaks(rule: str) -> Callable[[Any], Any]:
        def note(cls: Any) -> Any:
            broken[cls] = rule
            return cls

        return note

    return broken, breaks
