"""Watching a run from the command line: a live view in a terminal, a line a finished curve elsewhere.

The regret of a curve after n plays is the mean over all its chunks that have come that far, weighted by their
replicates. Work is counted in plays of all replicates, and the time left follows from what was done since the first
message.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Self

from corral_core.engines.chunks import Task
from corral_core.engines.progress import Progress, Watch
from corral_core.experiments.experiment import Experiment
from corral_core.simulation.curve import Curve
from corral_core.terminal import number, plays

if TYPE_CHECKING:
    from rich.console import Console

Clock = Callable[[], float]
SETTLING = 2.0  # seconds before which plain lines say nothing and nobody guesses the time left
BETWEEN_DRAWINGS = 0.25  # seconds


def watcher(points: Sequence[Experiment], *, quiet: bool, as_json: bool) -> Watch:
    """Whoever suits the place where standard error goes."""
    if quiet:
        return Silent()
    if sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown"):
        return Live(points)
    return Silent() if as_json else Lines(points)


class Silent(Watch):
    """Tells of trouble only."""

    def trouble(self, sentence: str) -> None:
        print(_warning(sentence), file=sys.stderr, flush=True)


class Lines(Silent):
    """A line for every curve that is finished; nothing in a run of a moment."""

    def __init__(self, points: Sequence[Experiment], clock: Clock = monotonic) -> None:
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
        if self._held and self._course.seconds >= SETTLING:
            print(*self._held, sep="\n", file=sys.stderr, flush=True)
            self._held.clear()

    def _line(self, ended: Standing) -> str:
        course = self._course
        name = ", ".join(filter(None, (ended.name, ended.at)))
        heard = ended.replicates_at(ended.furthest)
        part = "" if heard == ended.replicates else f" in {heard} of {ended.replicates} replicates"
        left = course.time_left()
        return (
            f"{printable(name)}: mean {ended.measure} {number(ended.mean(ended.furthest))} "
            f"after {plays(ended.furthest)}{part} ({course.ended} of {len(course.standings)} curves, "
            f"{course.percent}%{', ' + left if left else ''})"
        )


class Live(Watch):
    """A picture of the run in the terminal, drawn over and over; nothing of it remains."""

    def __init__(self, points: Sequence[Experiment], console: Console | None = None, clock: Clock = monotonic) -> None:
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
        self._console.print(Text(_warning(sentence)))

    def _draw(self) -> None:
        now = self._clock()
        if now - self._drawn_at < BETWEEN_DRAWINGS:
            return
        from rich.text import Text

        from corral_core.cli.progress.picture import Picture

        self._drawn_at = now
        self._erase_what_was_wrapped()
        options = self._console.options
        lines = Picture(self._course, options.max_width, options.size.height - 1, options.ascii_only).lines()
        self._lengths = [line.cell_len for line in lines]
        self._area.update(Text("\n", no_wrap=True, overflow="crop", end="").join(lines), refresh=True)

    def _erase_what_was_wrapped(self) -> None:
        """A terminal that has become narrower wraps the lines it shows, and the live area does not know of it."""
        from rich.control import Control
        from rich.segment import ControlType

        width = self._console.width
        for _ in range(sum(max(0, length - 1) // width for length in self._lengths)):
            self._console.control(
                Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1))
            )
        self._lengths = [min(length, width) for length in self._lengths]


class Standing:
    """Where one curve of one point stands."""

    def __init__(self, experiment: Experiment, curve: Curve) -> None:
        self.name, self.at, self.labels = curve.name, experiment.at, curve.labels
        self.chooses = curve.meta is not None and len(curve.labels) > 1
        self.replicates = experiment.replicates
        self.work = experiment.replicates * experiment.horizon
        self.done = 0  # of the work
        self.furthest = 0  # plays of the chunk that has come furthest
        self.measure = "regret"
        self.running: dict[int, Progress] = {}  # the last message of every chunk under way
        self._ended: set[int] = set()
        self._sums: dict[int, tuple[int, float]] = {}  # by plays: replicates, and the sum of their regret

    @property
    def ended(self) -> bool:
        return self.done == self.work

    def played(self, progress: Progress) -> int:
        """The work that a message adds: none where a chunk is played once more, up to where it had come."""
        task, before = progress.task, self.running.get(progress.task.chunk)
        added = task.rows * (progress.plays - (before.plays if before else 0))
        if task.chunk in self._ended or added <= 0:
            return 0
        if progress.regret is None:
            self.measure = "reward"
        value = progress.reward if progress.regret is None else progress.regret
        rows, total = self._sums.get(progress.plays, (0, 0.0))
        self._sums[progress.plays] = rows + task.rows, total + task.rows * value
        self.furthest = max(self.furthest, progress.plays)
        self.running[task.chunk] = progress
        if progress.plays == task.plays:
            self._end(task)
        self.done += added
        return added

    def finished(self, task: Task) -> int:
        """The work of a chunk of which nothing more was heard."""
        if task.chunk in self._ended:
            return 0
        before = self.running.get(task.chunk)
        self._end(task)
        added = task.work - (task.rows * before.plays if before else 0)
        self.done += added
        return added

    def replicates_at(self, reached: int) -> int:
        return self._sums[reached][0]

    def mean(self, reached: int) -> float:
        """Mean regret after so many plays, or reward where nobody knows the regret."""
        rows, total = self._sums[reached]
        return total / rows

    def shown(self, reached: int) -> str:
        """The mean for the table; nothing where no chunk has come that far under our eyes."""
        return number(self.mean(reached)) if reached in self._sums else ""

    def probabilities(self) -> list[float]:
        """Of the bases, over the chunks under way."""
        under_way = self.running.values()
        rows = sum(progress.task.rows for progress in under_way)
        columns = zip(*(progress.probabilities for progress in under_way), strict=True)
        weights = [progress.task.rows / rows for progress in under_way]
        return [sum(weight * value for weight, value in zip(weights, column, strict=True)) for column in columns]

    def _end(self, task: Task) -> None:
        self._ended.add(task.chunk)
        self.running.pop(task.chunk, None)


class Course:
    """What is known of a run under way."""

    def __init__(self, points: Sequence[Experiment], clock: Clock) -> None:
        self.standings = {
            (number, curve.name): Standing(point, curve)
            for number, point in enumerate(points)
            for curve in point.curves
        }
        self.points = [
            [self.standings[number, curve.name] for curve in point.curves] for number, point in enumerate(points)
        ]
        self._clock = clock
        self._begun: float | None = None  # when the first message came
        self._work = sum(standing.work for standing in self.standings.values())
        self._done = 0
        self._beforehand = 0  # work that was done by then: it says nothing of the speed
        self._last = 0  # the point that was last heard of

    def played(self, progress: Progress) -> Standing | None:
        """The curve, if it has ended with this."""
        standing = self.standings[progress.task.point, progress.task.curve]
        added = standing.played(progress)
        self._done += added
        self._last = progress.task.point
        if self._begun is None:
            self._begun, self._beforehand = self._clock(), self._done
        return standing if added and standing.ended else None

    def finished(self, task: Task) -> Standing | None:
        """The curve, if it has ended with this."""
        standing = self.standings[task.point, task.curve]
        added = standing.finished(task)
        self._done += added
        return standing if added and standing.ended else None

    def lost(self, task: Task) -> None:
        """Nothing more will be heard of this chunk: what is left of it is no work any more."""
        heard = self.standings[task.point, task.curve].running.pop(task.chunk, None)
        self._work -= task.work - (task.rows * heard.plays if heard else 0)

    @property
    def seconds(self) -> float:
        """Since the first message."""
        return 0.0 if self._begun is None else self._clock() - self._begun

    @property
    def share(self) -> float:
        return self._done / self._work

    @property
    def percent(self) -> int:
        return 100 * self._done // self._work

    @property
    def ended(self) -> int:
        """How many curves are finished."""
        return sum(standing.ended for standing in self.standings.values())

    def time_left(self) -> str:
        """As "about 2 min left"; nothing while there is too little to judge by, or nothing left."""
        done = self._done - self._beforehand
        if self.seconds < SETTLING or not done or self._done == self._work:
            return ""
        return f"about {duration(self.seconds * (self._work - self._done) / done)} left"

    def shown(self) -> list[list[Standing]]:
        """The points under way; between two of them, the one that was."""
        return [point for point in self.points if any(standing.running for standing in point)] or (
            [self.points[self._last]] if self._begun is not None else []
        )


def common_plays(standings: Sequence[Standing]) -> int:
    """The least that any curve under way has reached; where none is, what all that were played have."""
    running = [standing.furthest for standing in standings if standing.running]
    return min(running or [standing.furthest for standing in standings if standing.furthest], default=0)


def duration(seconds: float) -> str:
    """In words, without false precision."""
    if seconds < 20:
        return f"{max(1, round(seconds))} s"
    if seconds < 57.5:
        return f"{5 * round(seconds / 5)} s"
    if seconds < 90 * 60:
        return f"{max(1, round(seconds / 60))} min"
    return f"{round(seconds / 3600)} h" if seconds < 36 * 3600 else f"{round(seconds / 86400)} days"


def printable(name: str) -> str:
    """Without the signs that would move the cursor."""
    return name if name.isprintable() else "".join(sign if sign.isprintable() else "?" for sign in name)


def _warning(sentence: str) -> str:
    return f"Warning: {printable(' '.join(sentence.split()))}"
