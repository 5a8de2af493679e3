"""Suggestions for a name that is unknown: "did you mean ...?"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggestion(word: str, allowed: Iterable[str]) -> str:
    """What the user may have meant, to end a sentence with."""
    allowed = list(allowed)
    if near := difflib.get_close_matches(word, allowed, n=3):
        return f"; did you mean {' or '.join(near)}?"
    return f"; it takes {', '.join(allowed)}" if allowed else "; it takes none"
