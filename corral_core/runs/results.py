"""Results of a run: one per curve, gathered from its chunks one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from corral_core.engines.engine import Done
from corral_core.rows import Array
from corral_core.runs.description import CurveDescription, PointDescription
from corral_core.runs.standard_errors import Moments
from corral_core.simulation.record import Record, checkpoints, interval_shares


@attrs.frozen(eq=False)
class Result:
    """One curve of one point, over its replicates. Arrays are (checkpoints,) and (checkpoints, bases)."""

    point: PointDescription
    curve: CurveDescription
    plays: Array  # plays at each checkpoint
    regret: Moments | None  # summed over plays; None if the environment does not report regret
    reward: Moments
    probabilities: Moments | None  # of the bases; None if the choices of the meta are deterministic
    shares: Moments  # of the plays since the previous checkpoint, of each base
    plays_of: Array  # mean plays of each base
    dropped: Array  # share of replicates in which the base is dropped
    final: Array  # final regret of each replicate, or reward if the regret is unknown
    seconds: float  # computing time of all chunks
    recorded: dict[str, Moments] = attrs.field(factory=dict)  # of the bases, by the names of `curve.records`

    @property
    def replicates(self) -> int:
        return len(self.final)

    @property
    def measured(self) -> Moments:
        """The regret, or the reward if the regret is unknown."""
        return self.reward if self.regret is None else self.regret

    @property
    def chosen(self) -> Moments:
        """The probability of each base, or its share of plays if the choices of the meta are deterministic."""
        return self.shares if self.probabilities is None else self.probabilities

    def summary(self) -> dict[str, Any]:
        """The object that `--json` prints for this curve. What is not a finite number is None."""
        return {
            "name": self.curve.name,
            "at": self.point.at,
            "mean_regret": None if self.regret is None else _finite(self.regret.mean[-1]),
            "mean_reward": _finite(self.reward.mean[-1]),
            "standard_error": _finite(self.measured.error[-1]),
            "replicates": self.replicates,
            "plays": self.point.horizon,
            "plays_per_base": dict(zip(self.curve.bases, map(float, self.plays_of[-1]), strict=True)),
            "choices": list(self.curve.choices),
            "seconds": round(self.seconds, 3),
        }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


class Fold:
    """Builds a result from the chunks of one curve, which must come in order."""

    def __init__(self, point: PointDescription, curve: CurveDescription) -> None:
        self._point, self._curve = point, curve
        self._at = checkpoints(point.horizon)
        self._regret: Moments | None = Moments()
        self._probabilities: Moments | None = Moments()
        self._reward, self._shares, self._plays, self._dropped = (Moments() for _ in range(4))
        self._recorded = {name: Moments() for name in curve.records}
        self._final: list[Array] = []
        self._seconds = 0.0

    def add(self, record: Record, seconds: float) -> None:
        """Add the next chunk."""
        if record.regret is None:
            self._regret = None
        elif self._regret is not None:
            self._regret.add(record.regret)
        self._reward.add(record.reward)
        if record.probabilities is None:
            self._probabilities = None
        elif self._probabilities is not None:
            self._probabilities.add(record.probabilities)
        self._shares.add(interval_shares(record.plays, self._at))
        self._plays.add(record.plays)
        self._dropped.add(record.dropped)
        for place, moments in enumerate(self._recorded.values()):
            assert record.recorded is not None
            moments.add(record.recorded[:, :, place])
        measured = record.reward if record.regret is None else record.regret
        self._final.append(measured[:, -1].copy())
        self._seconds += seconds

    def result(self) -> Result:
        """The result of the chunks so far; there must be at least one."""
        return Result(
            point=self._point,
            curve=self._curve,
            plays=self._at,
            regret=self._regret,
            reward=self._reward,
            probabilities=self._probabilities,
            shares=self._shares,
            plays_of=self._plays.mean,
            dropped=self._dropped.mean,
            final=np.concatenate(self._final),
            seconds=self._seconds,
            recorded=self._recorded,
        )


def gather(points: Sequence[PointDescription], done: Iterable[Done]) -> list[Result]:
    """One result per curve that has chunks, in the order of the experiment. Chunks of a curve must come in order."""
    folds = {(number, curve.name): Fold(point, curve) for number, point in enumerate(points) for curve in point.curves}
    begun = set()
    for each in done:
        key = (each.task.point, each.task.curve)
        folds[key].add(each.record, each.seconds)
        begun.add(key)
    return [fold.result() for key, fold in folds.items() if key in begun]


def in_order(done: Iterable[Done]) -> Iterator[Done]:
    """The chunks of each curve by number, so that sums have the same bits every time. Few chunks have to wait."""
    awaited: dict[tuple[int, str], int] = {}
    waiting: dict[tuple[int, str, int], Done] = {}
    for each in done:
        point, curve = key = (each.task.point, each.task.curve)
        waiting[point, curve, each.task.chunk_number] = each
        while (next_one := (point, curve, awaited.setdefault(key, 0))) in waiting:
            awaited[key] += 1
            yield waiting.pop(next_one)
