"""What a run comes to: a result a curve, folded from its chunks one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from corral_core.engines.engine import Done
from corral_core.rows import Array
from corral_core.runs.description import CurveDescription, PointDescription
from corral_core.runs.standard_errors import Moments
from corral_core.simulation.record import Record, checkpoints


@attrs.frozen(eq=False)
class Result:
    """A curve of one point, over its replicates. Arrays are (points,) and (points, bases), over time."""

    point: PointDescription
    curve: CurveDescription
    plays: Array  # after how many plays the numbers were taken
    regret: Moments | None  # summed over plays; None where nobody knows it
    reward: Moments
    probabilities: Moments  # of the bases
    plays_of: Array  # mean plays of each base
    dropped: Array  # share of replicates in which the base is dropped
    final: Array  # what each replicate came to: regret, or reward where nobody knows the regret
    seconds: float  # of computing, over all chunks

    @property
    def replicates(self) -> int:
        return len(self.final)

    @property
    def measured(self) -> Moments:
        """The regret, or the reward where nobody knows the regret."""
        return self.reward if self.regret is None else self.regret

    def summary(self) -> dict[str, Any]:
        """For `--json` and the table."""
        error = float(self.measured.error[-1])
        return {
            "name": self.curve.name,
            "at": self.point.at,
            "mean_regret": None if self.regret is None else float(self.regret.mean[-1]),
            "mean_reward": float(self.reward.mean[-1]),
            "standard_error": error if self.replicates > 1 else None,
            "replicates": self.replicates,
            "plays": self.point.horizon,
            "plays_per_base": dict(zip(self.curve.bases, map(float, self.plays_of[-1]), strict=True)),
            "choices": list(self.curve.choices),
            "seconds": round(self.seconds, 3),
        }


class Fold:
    """A result in the making: takes the chunks of one curve in their order."""

    def __init__(self, point: PointDescription, curve: CurveDescription) -> None:
        self._point, self._curve = point, curve
        self._regret: Moments | None = Moments()
        self._reward, self._probabilities, self._plays, self._dropped = (Moments() for _ in range(4))
        self._final: list[Array] = []
        self._seconds = 0.0

    def add(self, record: Record, seconds: float) -> None:
        """The next chunk."""
        if record.regret is None:
            self._regret = None
        elif self._regret is not None:
            self._regret.add(record.regret)
        self._reward.add(record.reward)
        self._probabilities.add(record.probabilities)
        self._plays.add(record.plays)
        self._dropped.add(record.dropped)
        measured = record.reward if record.regret is None else record.regret
        self._final.append(measured[:, -1].copy())
        self._seconds += seconds

    def result(self) -> Result:
        """What the chunks so far come to; at least one."""
        return Result(
            point=self._point,
            curve=self._curve,
            plays=checkpoints(self._point.horizon),
            regret=self._regret,
            reward=self._reward,
            probabilities=self._probabilities,
            plays_of=self._plays.mean,
            dropped=self._dropped.mean,
            final=np.concatenate(self._final),
            seconds=self._seconds,
        )


def gather(points: Sequence[PointDescription], done: Iterable[Done]) -> list[Result]:
    """A result for every curve that has chunks, in the order of the experiment; the chunks of each come in order."""
    folds = {(number, curve.name): Fold(point, curve) for number, point in enumerate(points) for curve in point.curves}
    begun = set()
    for each in done:
        key = (each.task.point, each.task.curve)
        folds[key].add(each.record, each.seconds)
        begun.add(key)
    return [fold.result() for key, fold in folds.items() if key in begun]


def in_order(done: Iterable[Done]) -> Iterator[Done]:
    """The chunks of each curve by number, so that sums have the same bits every time; few ever have to wait."""
    awaited: dict[tuple[int, str], int] = {}
    waiting: dict[tuple[int, str, int], Done] = {}
    for each in done:
        point, curve = key = (each.task.point, each.task.curve)
        waiting[point, curve, each.task.chunk_number] = each
        while (next_one := (point, curve, awaited.setdefault(key, 0))) in waiting:
            awaited[key] += 1
            yield waiting.pop(next_one)
