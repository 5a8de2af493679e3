"""Run chunks in this process, one after the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from corral_core.engines.chunks import Task
from corral_core.engines.engine import Done, Engine, GivenUp, Lost, run_task
from corral_core.engines.machine import keep_freed_memory
from corral_core.engines.progress import Progress, Watch
from corral_core.engines.stalls import Stalls, watched
from corral_core.experiments.point import Point


class Serial(Engine):
    """Runs chunks in this process."""

    def run(self, points: Sequence[Point], tasks: Sequence[Task], watch: Watch) -> Generator[Done | Lost, None, None]:
        keep_freed_memory()
        stalls, given_up = Stalls(), GivenUp()

        def played(progress: Progress) -> None:
            stalls.heard(progress.task)
            watch.played(progress)

        with watched(stalls, watch):
            for task in tasks:
                stalls.heard(task)
                outcome = given_up.left_out(task) or run_task(points[task.point], task, played)
                stalls.ended(task)
                given_up.note(outcome)
                yield outcome
