"""How far a run has advanced: one `Standing` per curve and point, and the `Course` of the whole run.

The regret of a curve after n plays is the mean over all its chunks that have reached n plays, weighted by their
replicates.
"""

from __future__ import annotations

from collections.abc import Sequence

from corral_core.cli.progress.time_left import Clock, TimeLeft
from corral_core.engines.chunks import Task
from corral_core.engines.progress import Progress
from corral_core.experiments.point import Point
from corral_core.simulation.curve import Curve
from corral_core.terminal import number


class Standing:
    """The progress of one curve of one point."""

    def __init__(self, point: Point, curve: Curve) -> None:
        self.name, self.at, self.labels = curve.name, point.at, curve.labels
        self.chooses = curve.meta is not None and len(curve.labels) > 1
        self.replicates = point.replicates
        self.work = point.replicates * point.horizon
        self.done = 0  # of the work
        self.failed = False  # a chunk was given up, so the curve will not be complete
        self.furthest = 0  # plays of the most advanced chunk
        self.measure = "regret"
        self.running: dict[int, Progress] = {}  # the last message of every running chunk
        self._ended: set[int] = set()
        self._sums: dict[int, tuple[int, float]] = {}  # by plays: replicates, and the sum of their regret

    @property
    def ended(self) -> bool:
        return self.done == self.work

    def played(self, progress: Progress) -> int:
        """The work that a message adds; none while a retried chunk repeats plays that were already counted."""
        task, before = progress.task, self.running.get(progress.task.chunk_number)
        added = task.rows * (progress.plays - (before.plays if before else 0))
        if task.chunk_number in self._ended or added <= 0:
            return 0
        if progress.regret is None:
            self.measure = "reward"
        value = progress.reward if progress.regret is None else progress.regret
        rows, total = self._sums.get(progress.plays, (0, 0.0))
        self._sums[progress.plays] = rows + task.rows, total + task.rows * value
        self.furthest = max(self.furthest, progress.plays)
        self.running[task.chunk_number] = progress
        if progress.plays == task.plays:
            self._end(task)
        self.done += added
        return added

    def finished(self, task: Task) -> int:
        """The work that a finished chunk adds: what its messages have not yet counted."""
        if task.chunk_number in self._ended:
            return 0
        before = self.running.get(task.chunk_number)
        self._end(task)
        added = task.work - (task.rows * before.plays if before else 0)
        self.done += added
        return added

    def replicates_at(self, reached: int) -> int:
        return self._sums[reached][0]

    def mean(self, reached: int) -> float:
        """Mean regret after this many plays, or reward if the regret is unknown."""
        rows, total = self._sums[reached]
        return total / rows

    def shown(self, reached: int) -> str:
        """The mean for the table; empty if no chunk has reported this many plays."""
        return number(self.mean(reached)) if reached in self._sums else ""

    @property
    def draws(self) -> bool:
        """Whether the meta draws bases with probabilities; otherwise shares of plays are shown."""
        return all(progress.draws for progress in self.running.values())

    def chosen(self) -> list[float]:
        """The probability of each base, or its share of the latest plays, averaged over the running chunks."""
        under_way = self.running.values()
        rows = sum(progress.task.rows for progress in under_way)
        columns = zip(*(progress.chosen for progress in under_way), strict=True)
        weights = [progress.task.rows / rows for progress in under_way]
        return [sum(weight * value for weight, value in zip(weights, column, strict=True)) for column in columns]

    def _end(self, task: Task) -> None:
        self._ended.add(task.chunk_number)
        self.running.pop(task.chunk_number, None)


class Course:
    """The progress of a whole run."""

    def __init__(self, points: Sequence[Point], clock: Clock) -> None:
        self.standings = {
            (number, curve.name): Standing(point, curve)
            for number, point in enumerate(points)
            for curve in point.curves
        }
        self.points = [
            [self.standings[number, curve.name] for curve in point.curves] for number, point in enumerate(points)
        ]
        self.time_left = TimeLeft(sum(standing.work for standing in self.standings.values()), clock)
        self._last = 0  # number of the point that the last message was about

    def played(self, progress: Progress) -> Standing | None:
        """Note a message. Returns the curve if this completes it."""
        standing = self.standings[progress.task.point, progress.task.curve]
        added = standing.played(progress)
        self.time_left.done += added
        self._last = progress.task.point
        self.time_left.begin()
        return standing if added and standing.ended else None

    def finished(self, task: Task) -> Standing | None:
        """Note a finished chunk. Returns the curve if this completes it."""
        standing = self.standings[task.point, task.curve]
        added = standing.finished(task)
        self.time_left.done += added
        return standing if added and standing.ended else None

    def lost(self, task: Task) -> None:
        """Note a chunk that was given up: the rest of it no longer counts as work."""
        standing = self.standings[task.point, task.curve]
        standing.failed = True
        heard = standing.running.pop(task.chunk_number, None)
        self.time_left.work -= task.work - (task.rows * heard.plays if heard else 0)

    @property
    def share(self) -> float:
        return self.time_left.done / self.time_left.work if self.time_left.work else 1.0

    @property
    def percent(self) -> int:
        return 100 * self.time_left.done // self.time_left.work if self.time_left.work else 100

    @property
    def ended(self) -> int:
        """Number of finished curves."""
        return sum(standing.ended for standing in self.standings.values())

    def shown(self) -> list[list[Standing]]:
        """The running points; between two points, the last one that was running."""
        return [point for point in self.points if any(standing.running for standing in point)] or (
            [self.points[self._last]] if self.time_left.begun else []
        )


def common_plays(standings: Sequence[Standing]) -> int:
    """Minimum of the plays that the running curves have reached; if none is running, of all curves that were played."""
    running = [standing.furthest for standing in standings if standing.running]
    return min(running or [standing.furthest for standing in standings if standing.furthest], default=0)
