"""How far `corral check` is: one line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from corral_core.cli.progress.time_left import Clock

if TYPE_CHECKING:
    from rich.status import Status

    from corral_core.checks.rules import Check

BETWEEN_LINES = 10.0  # seconds, in a file or a pipe


class Meter:
    """Shows on standard error which check of which case runs; inside `with` the line on a terminal is visible."""

    def __init__(self, cases: int, clock: Clock = monotonic) -> None:
        self._cases, self._clock = cases, clock
        self._case = 0
        self._told_at = clock()
        self._status: Status | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True, markup=False, emoji=False, highlight=False).status("")
            self._status.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._status:
            self._status.stop()
            self._status = None

    def begin(self, case: str, number: int, checks: Sequence[Check]) -> None:
        """The check of this number, of these of the case, runs now."""
        from corral_core.terminal import printable

        self._case += number == 0
        what = f"case {self._case} of {self._cases}, check {number + 1} of {len(checks)}"
        line = f"{what}: {printable(case)}: {checks[number].name}"
        if self._status:
            room = self._status.console.width - 4  # beside the spinner
            self._status.update(line if len(line) <= room else line[: room - 3] + "...")
        elif self._clock() - self._told_at >= BETWEEN_LINES:
            self._told_at = self._clock()
            print(line, file=sys.stderr, flush=True)
