"""Bases that failed in a live selection and are set aside: where, why, and a warning for each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corral_core.errors import CorralError, place, reason
from corral_core.protocols.base import Base
from corral_core.rows import Array
from corral_core.selection.judge import Judge


class SetAside(Exception):  # noqa: N818 - nothing is wrong with the caller
    """A base failed and has been set aside; `__cause__` is what it raised."""


class Failures:
    """The bases that were set aside, of a selection with these bases and rows."""

    def __init__(self, bases: Sequence[Base], rows: int, judge: Judge, *, live: bool) -> None:
        self.reasons: dict[int, str] = {}  # by the number of the base
        self.at: Array = np.zeros(len(bases) * rows, dtype=bool)  # flat (bases, rows)
        self._bases, self._rows = bases, rows
        self._judge, self._live = judge, live
        self._unsaid: list[str] = []

    def call(self, at: Array, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a base for the learners at these places. If it raises and other bases are left, it is set aside."""
        try:
            return function(*arguments)
        except Exception as error:
            self.caught(at, error)
            raise

    def caught(self, at: Array, error: Exception) -> None:
        """The base of the learners at these places raised this: if other bases are left, it is set aside."""
        if self._live and self._judge.set_aside(at):
            self.note(at, error)
            raise SetAside from error

    def note(self, at: Array, error: Exception) -> None:
        """Note that the bases at these places raised an error."""
        self.at[at] = True
        why = str(error) if isinstance(error, CorralError) else f"{reason(error)}{place(error)}"
        for number in np.unique(at // self._rows).tolist():
            if number not in self.reasons:
                self.reasons[number] = why
                self._unsaid.append(f"{self._bases[number].name} failed and is set aside: {why}")

    def warn(self) -> None:
        """Warn of every base that was set aside since the last call."""
        while self._unsaid:
            warnings.warn(self._unsaid.pop(0), RuntimeWarning, stacklevel=3)

    def saved(self) -> dict[str, Any]:
        """Everything that must be saved, by name."""
        reasons = [[number, why] for number, why in self.reasons.items()]
        return {"reasons": reasons, "at": self.at, "unsaid": self._unsaid}

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue with what another selection `saved`."""
        self.reasons = dict(saved["reasons"])
        self.at, self._unsaid = saved["at"], saved["unsaid"]
