"""A run in which chunks were lost: the results of the other curves, and what went wrong in each of these."""

from __future__ import annotations

import math
from collections.abc import Sequence

from corral_core.engines.chunks import Task
from corral_core.engines.engine import Lost
from corral_core.errors import CorralError
from corral_core.runs.description import PointDescription
from corral_core.runs.results import Result


class RunFailed(CorralError):  # noqa: N818 - the run has failed; its results are here
    """Some curves could not be played. `results` has the others, `lost` the first lost chunk of each failed curve."""

    def __init__(self, sentence: str, results: list[Result], lost: tuple[Lost, ...]) -> None:
        super().__init__(sentence)
        self.results = results
        self.lost = lost

    @property
    def exit_code(self) -> int:
        """1 if a plugin has a bug, otherwise 2, as for everything that the user can fix."""
        return 1 if any(each.failure and not each.failure.refused for each in self.lost) else 2


def complete_curves(
    results: list[Result],
    points: Sequence[PointDescription],
    lost: Sequence[Lost],
    wanted: Sequence[Task],
    resume: str | None = None,
) -> list[Result]:
    """The results if nothing was lost; otherwise `RunFailed` with those of the curves that are complete."""
    if not lost:
        return results
    first: dict[tuple[int, str], Lost] = {}
    # Failures by chunk number; then what else was lost, as it came, because later chunks were not even started.
    for each in sorted(lost, key=lambda each: each.task.chunk_number if each.failure else math.inf):
        first.setdefault(each.task.place, each)
    failed = tuple(first[place] for place in _in_order(points) if place in first)
    number = {point.at: number for number, point in enumerate(points)}
    whole = [result for result in results if (number[result.point.at], result.curve.name) not in first]
    raise _noted(RunFailed(_sentence(failed[0], len(lost), len(wanted), resume), whole, failed))


def _in_order(points: Sequence[PointDescription]) -> list[tuple[int, str]]:
    return [(number, name) for number, point in enumerate(points) for name in point.names]


def _sentence(first: Lost, lost: int, wanted: int, resume: str | None) -> str:
    memory = "" if first.failure else "; if memory is short, set a smaller chunk_size in the experiment file"
    kept = f"; finished chunks are kept, resume with: {resume}" if resume else ""
    return f"{lost} of {wanted} chunks could not be played: {first.task.words}: {first.reason}{memory}{kept}"


def _noted(error: RunFailed) -> RunFailed:
    """With the tracebacks as notes, which Python shows below an uncaught exception."""
    for each in error.lost:
        if each.failure and each.failure.traceback:
            error.add_note(f"In {each.task.words}:\n{each.failure.traceback}")
    return error
