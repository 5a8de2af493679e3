"""What bases, environments and metas have in common: a name, and examples for the checks."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Self


class Named(ABC):
    """Something that is registered under a name."""

    __slots__ = ()
    name: ClassVar[str]

    @classmethod
    def examples(cls) -> list[Self]:
        """Settings that conformance checks try, under which it plays differently (default: the default parameters)."""
        return [cls()]
