"""Progress in a file or a pipe: one line per finished curve."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import monotonic

from corral_core.cli.progress.silent import Silent
from corral_core.cli.progress.standings import Course, Standing
from corral_core.cli.progress.time_left import SETTLING, Clock
from corral_core.engines.chunks import Task
from corral_core.engines.progress import Progress
from corral_core.experiments.point import Point
from corral_core.terminal import number, plays, printable


class Lines(Silent):
    """One line per finished curve; nothing if the run takes only a moment."""

    def __init__(self, points: Sequence[Point], clock: Clock = monotonic) -> None:
        self._course = Course(points, clock)
        self._held: list[str] = []

    def played(self, progress: Progress) -> None:
        self._tell(self._course.played(progress))

    def finished(self, task: Task) -> None:
        self._tell(self._course.finished(task))

    def lost(self, task: Task) -> None:
        self._course.lost(task)

    def _tell(self, ended: Standing | None) -> None:
        if ended is not None and ended.furthest:
            self._held.append(self._line(ended))
        if self._held and self._course.time_left.seconds >= SETTLING:
            print(*self._held, sep="\n", file=sys.stderr, flush=True)
            self._held.clear()

    def _line(self, ended: Standing) -> str:
        course = self._course
        name = ", ".join(filter(None, (ended.name, ended.at)))
        heard = ended.replicates_at(ended.furthest)
        part = "" if heard == ended.replicates else f" in {heard} of {ended.replicates} replicates"
        left = course.time_left.words()
        return (
            f"{printable(name)}: mean {ended.measure} {number(ended.mean(ended.furthest))} "
            f"after {plays(ended.furthest)}{part} ({course.ended} of {len(course.standings)} curves, "
            f"{course.percent}%{', ' + left if left else ''})"
        )
