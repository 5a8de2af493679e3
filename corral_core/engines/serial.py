"""Chunks run here, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

from corral_core.chunks import Task, run_chunk
from corral_core.engines import Done, Engine, Report
from corral_core.experiment import Experiment


class Serial(Engine):
    """In this process."""

    def run(self, points: Sequence[Experiment], tasks: Sequence[Task], report: Report) -> Iterator[Done]:
        for task in tasks:
            begun, heard = perf_counter(), 0

            def progress(plays: int, rows: int = task.rows) -> None:
                nonlocal heard
                report((plays - heard) * rows)
                heard = plays

            record = run_chunk(points[task.point], task.curve, task.chunk, progress)
            yield Done(task, record, perf_counter() - begun)
