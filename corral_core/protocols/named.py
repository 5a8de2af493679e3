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
        """What conformance checks try: settings under which it plays differently. The defaults, unless said."""
        return [cls()]
