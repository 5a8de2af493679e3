"""What a run comes to: a line a curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from corral_core.engines import Done
from corral_core.experiment import Experiment
from corral_core.simulation import Curve, Record


@attrs.frozen(eq=False)
class Result:
    """A curve of one point, all its replicates together."""

    experiment: Experiment
    curve: Curve
    record: Record
    seconds: float  # of computing, over all chunks

    @property
    def final(self) -> np.ndarray[Any, Any]:
        """What each replicate came to: regret, or reward where nobody knows the regret."""
        last = self.record.reward if self.record.regret is None else self.record.regret
        return np.asarray(last[:, -1])

    def summary(self) -> dict[str, Any]:
        """For `--json` and the table."""
        final, count = self.final, len(self.final)
        error = float(final.std(ddof=1) / np.sqrt(count)) if count > 1 else None
        plays = self.record.plays[:, -1].mean(axis=0)
        known = self.record.regret is not None
        return {
            "name": self.curve.name,
            "at": self.experiment.at,
            "mean_regret": float(final.mean()) if known else None,
            "mean_reward": float(self.record.reward[:, -1].mean()),
            "standard_error": error,
            "replicates": count,
            "plays": self.experiment.horizon,
            "plays_per_base": dict(zip(self.curve.labels, map(float, plays), strict=True)),
            "choices": self.experiment.choices(self.curve),
            "seconds": round(self.seconds, 3),
        }


def gather(points: Sequence[Experiment], done: Iterable[Done]) -> list[Result]:
    """Join the chunks of every curve, in the order of the experiment, whatever order they finished in."""
    finished = sorted(done, key=lambda each: each.task.chunk)
    results = []
    for number, experiment in enumerate(points):
        for curve in experiment.curves:
            mine = [each for each in finished if (each.task.point, each.task.curve) == (number, curve.name)]
            record = Record.concatenate([each.record for each in mine])
            results.append(Result(experiment, curve, record, sum(each.seconds for each in mine)))
    return results
