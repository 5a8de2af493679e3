"""An experiment to watch, a clock to set, and messages as engines send them."""

from __future__ import annotations

from typing import Any

from corral_core.engines.chunks import Task, rows_of
from corral_core.engines.progress import Progress
from corral_core.experiments.point import Point, parse_point
from corral_core.experiments.source import sweep

HORIZON = 400


def experiment(bases: int = 2, **changes: Any) -> list[Point]:
    """Two metas and their bases alone; five replicates in chunks of two make chunks of 2, 2 and 1."""
    source: dict[str, Any] = {
        "name": "watched",
        "horizon": HORIZON,
        "replicates": 5,
        "chunk_size": 2,
        "environment": {"name": "bernoulli-arms", "means": [0.5, 0.3]},
        "meta": {"name": "corral"},
        "bases": [{"name": "epsilon-greedy", "grid": {"c": [float(c) for c in range(1, bases + 1)]}}],
        "compare": {"metas": [{"name": "exp3p"}]},
    }
    return [parse_point(point) for point in sweep({**source, **changes})]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def task_of(points: list[Point], curve: str, chunk: int, point: int = 0) -> Task:
    return Task(point, curve, chunk, rows_of(points[point], chunk), points[point].horizon)


def message(
    points: list[Point], curve: str, chunk: int, plays: int, value: float, point: int = 0, known: bool = True
) -> Progress:
    bases = len(points[point].curve(curve).labels)
    chances = tuple((base + 1) / (bases * (bases + 1) / 2) for base in range(bases))
    regret, reward = (value, -1.0) if known else (None, value)
    return Progress(task_of(points, curve, chunk, point), plays, regret, reward, chances)
