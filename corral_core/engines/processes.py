"""Chunks run in processes of their own, as many at a time as there are workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from time import perf_counter
from typing import Any

from corral_core.chunks import Task, run_chunk
from corral_core.engines import Done, Engine, Report
from corral_core.errors import CorralError
from corral_core.experiment import Experiment, parse

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_sources: list[dict[str, Any]] = []


def _start(sources: list[dict[str, Any]]) -> None:
    """In a worker: an interrupt is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _sources[:] = sources


@cache
def _point(number: int) -> Experiment:
    return parse(_sources[number])


def _work(task: Task) -> Done:
    begun = perf_counter()
    record = run_chunk(_point(task.point), task.curve, task.chunk)
    return Done(task, record, perf_counter() - begun)


class Processes(Engine):
    """In worker processes, each with one thread."""

    def run(self, points: Sequence[Experiment], tasks: Sequence[Task], report: Report) -> Iterator[Done]:
        before = {name: os.environ.get(name) for name in THREADS}
        os.environ.update(dict.fromkeys(THREADS, "1"))  # workers read it when they import numpy
        pool = ProcessPoolExecutor(
            max_workers=max(1, min(self.workers, len(tasks))),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start,
            initargs=([point.source for point in points],),
        )
        try:
            # The longest first, so that no worker idles at the end.
            futures = [pool.submit(_work, task) for task in sorted(tasks, key=lambda task: -task.work)]
            for future in as_completed(futures):
                done = future.result()
                report(done.task.work)
                yield done
        except BrokenProcessPool:
            raise CorralError("a worker process died; run again, or with --workers 1 to see why") from None
        finally:
            for process in list((pool._processes or {}).values()):
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)
            for name, value in before.items():
                os.environ.pop(name, None) if value is None else os.environ.update({name: value})
