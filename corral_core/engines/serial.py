"""Chunks run here, one after the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from corral_core.chunks import Task
from corral_core.engines import Done, Engine, Report, run_task
from corral_core.experiment import Experiment


class Serial(Engine):
    """In this process."""

    def run(self, points: Sequence[Experiment], tasks: Sequence[Task], report: Report) -> Generator[Done, None, None]:
        for task in tasks:
            yield run_task(points[task.point], task, report)
