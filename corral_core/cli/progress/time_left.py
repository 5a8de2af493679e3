"""The time left: estimated from the work done since the first message of the run."""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], float]
SETTLING = 2.0  # seconds after the first message before anything is estimated or printed


class TimeLeft:
    """How much work is done and left, and how long the rest will take. Work is counted in plays of all replicates."""

    def __init__(self, work: int, clock: Clock) -> None:
        self.work = work
        self.done = 0
        self._clock = clock
        self._begun: float | None = None  # when the first message came
        self._done_before = 0  # work done before that: it says nothing about the speed

    def begin(self) -> None:
        """Note the time of the first message."""
        if self._begun is None:
            self._begun, self._done_before = self._clock(), self.done

    @property
    def begun(self) -> bool:
        """Whether the first message has come."""
        return self._begun is not None

    @property
    def seconds(self) -> float:
        """Seconds since the first message."""
        return 0.0 if self._begun is None else self._clock() - self._begun

    def words(self) -> str:
        """For example "about 2 min left"; empty if it is too early to estimate, or if nothing is left."""
        done = self.done - self._done_before
        if self.seconds < SETTLING or not done or self.done == self.work:
            return ""
        return f"about {duration(self.seconds * (self.work - self.done) / done)} left"


def duration(seconds: float) -> str:
    """A duration in words, without false precision."""
    if seconds < 20:
        return f"{max(1, round(seconds))} s"
    if seconds < 57.5:
        return f"{5 * round(seconds / 5)} s"
    if seconds < 90 * 60:
        return f"{max(1, round(seconds / 60))} min"
    return f"{round(seconds / 3600)} h" if seconds < 36 * 3600 else f"{round(seconds / 86400)} days"
