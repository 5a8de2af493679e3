"""Run chunks in this process, one after the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from corral_core.engines.chunks import Task
from corral_core.engines.engine import Done, Engine, Lost, run_task
from corral_core.engines.machine import keep_freed_memory
from corral_core.engines.progress import Watch
from corral_core.experiments.point import Point


class Serial(Engine):
    """Runs chunks in this process."""

    def run(self, points: Sequence[Point], tasks: Sequence[Task], watch: Watch) -> Generator[Done | Lost, None, None]:
        keep_freed_memory()
        for task in tasks:
            yield run_task(points[task.point], task, watch.played)
