"""Where numba keeps what it compiled: what is damaged there, or cannot be written, must not end a run."""

from __future__ import annotations

import contextlib
from typing import Any


class ForgivingCache:
    """The cache of a compiled kernel. What cannot be read is compiled again, and written again if possible."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *arguments: Any) -> Any:
        """What was compiled for these types; None if there is nothing that can be read."""
        try:
            return self._cache.load_overload(*arguments)
        except Exception:  # unpickling a damaged file may raise anything
            with contextlib.suppress(Exception):
                self._cache.flush()
            return None

    def save_overload(self, *arguments: Any) -> None:
        """Keep what was compiled, unless the disk is full or the like."""
        with contextlib.suppress(Exception):
            self._cache.save_overload(*arguments)
