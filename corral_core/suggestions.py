"""Suggestions for a name that is unknown: "did you mean ...?"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from corral_core.errors import shortened

LONGEST = 200  # characters of a word that may be a misspelt name; comparing longer ones takes long
MOST_NAMES = 20  # that a sentence lists


def near(word: str, names: Iterable[str], most: int = 3, cutoff: float = 0.6) -> list[str]:
    """The names that look like this word, the closest first."""
    if len(word) > LONGEST:
        return []
    return difflib.get_close_matches(word, [name for name in names if len(name) <= LONGEST], n=most, cutoff=cutoff)


def suggestion(word: str, allowed: Iterable[str]) -> str:
    """What the user may have meant, to end a sentence with."""
    allowed = list(allowed)
    if found := near(word, allowed):
        return f"; did you mean {' or '.join(map(shortened, found))}?"
    listed = [*map(shortened, allowed[:MOST_NAMES]), *(["..."] if len(allowed) > MOST_NAMES else [])]
    return f"; it takes {', '.join(listed)}" if allowed else "; it takes none"
