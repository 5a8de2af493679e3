"""Progress in a terminal: a view of the run that is redrawn again and again."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Self

from corral_core.cli.progress.silent import warning
from corral_core.cli.progress.standings import Course
from corral_core.cli.progress.time_left import Clock
from corral_core.engines.chunks import Task
from corral_core.engines.progress import Progress, Watch
from corral_core.experiments.point import Point

if TYPE_CHECKING:
    from rich.console import Console

BETWEEN_DRAWINGS = 0.25  # seconds


class Live(Watch):
    """A view of the run in the terminal; when the run ends, it is erased."""

    def __init__(self, points: Sequence[Point], console: Console | None = None, clock: Clock = monotonic) -> None:
        from rich.console import Console
        from rich.live import Live as Area

        self._course = Course(points, clock)
        self._clock = clock
        self._drawn_at = -math.inf
        self._lengths: list[int] = []  # columns of the lines that were drawn last
        self._console = console or Console(stderr=True, force_terminal=True, markup=False, emoji=False, highlight=False)
        self._area = Area(
            console=self._console,
            auto_refresh=False,
            transient=True,
            vertical_overflow="crop",
            redirect_stdout=sys.stdout.isatty(),
        )

    def __enter__(self) -> Self:
        self._area.start()
        self._draw()
        return self

    def __exit__(self, *_: object) -> None:
        self._erase_what_was_wrapped()
        self._area.update("")
        self._area.stop()

    def played(self, progress: Progress) -> None:
        self._course.played(progress)
        self._draw()

    def finished(self, task: Task) -> None:
        self._course.finished(task)
        self._draw()

    def lost(self, task: Task) -> None:
        self._course.lost(task)
        self._draw()

    def trouble(self, sentence: str) -> None:
        from rich.text import Text

        self._erase_what_was_wrapped()
        self._console.print(Text(warning(sentence)))

    def _draw(self) -> None:
        now = self._clock()
        if now - self._drawn_at < BETWEEN_DRAWINGS:
            return
        from rich.text import Text

        from corral_core.cli.progress.screen import Screen

        self._drawn_at = now
        self._erase_what_was_wrapped()
        options = self._console.options
        lines = Screen(self._course, options.max_width, options.size.height - 1, options.ascii_only).lines()
        self._lengths = [line.cell_len for line in lines]
        self._area.update(Text("\n", no_wrap=True, overflow="crop", end="").join(lines), refresh=True)

    def _erase_what_was_wrapped(self) -> None:
        """Erase wrapped lines: a terminal that became narrower wraps them, and the live area does not notice."""
        from rich.control import Control
        from rich.segment import ControlType

        width = self._console.width
        for _ in range(sum(max(0, length - 1) // width for length in self._lengths)):
            self._console.control(
                Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1))
            )
        self._lengths = [min(length, width) for length in self._lengths]
