"""Chunks run in processes of their own, as many at a time as there are workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from corral_core import ONE_THREAD
from corral_core.chunks import Task
from corral_core.engines import Done, Engine, Report, run_task
from corral_core.errors import CorralError
from corral_core.experiment import Experiment, parse

T = TypeVar("T")

_shared: dict[str, Any] = {}


def _start(sources: list[dict[str, Any]], played: Any) -> None:
    """In a worker: what it shares with the parent, with which it also ends."""
    _shared.update(sources=sources, played=played)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@cache
def _point(number: int) -> Experiment:
    return parse(_shared["sources"][number])


def _report(work: int) -> None:
    with _shared["played"].get_lock():
        _shared["played"].value += work


def _work(task: Task) -> Done:
    return run_task(_point(task.point), task, _report)


class Processes(Engine):
    """In worker processes, each with one thread."""

    def run(self, points: Sequence[Experiment], tasks: Sequence[Task], report: Report) -> Generator[Done, None, None]:
        context = multiprocessing.get_context("spawn")
        played, heard = context.Value("q", 0), 0
        pool = ProcessPoolExecutor(
            max_workers=max(1, min(self.workers, len(tasks))),
            mp_context=context,
            initializer=_start,
            initargs=([point.source for point in points], played),
        )
        with ending(pool):
            # The longest first, so that no worker idles at the end.
            running = submit(pool, _work, [(task,) for task in sorted(tasks, key=lambda task: -task.work)])
            while running:
                finished, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                so_far = played.get_obj().value  # without the lock, which a worker that died may hold
                report(so_far - heard)
                heard = so_far
                for future in finished:
                    yield future.result()


def submit(pool: ProcessPoolExecutor, function: Callable[..., T], calls: Iterable[tuple[Any, ...]]) -> set[Future[T]]:
    """Hand calls to workers with one thread each, that leave interrupts to us."""
    with _one_thread(), _undisturbed():
        return {pool.submit(function, *arguments) for arguments in calls}


@contextmanager
def ending(pool: ProcessPoolExecutor) -> Iterator[None]:
    """End the workers with the block, whatever they are at."""
    try:
        yield
    except BrokenProcessPool:
        raise CorralError(
            "a worker process died, perhaps for want of memory; run again with fewer replicates at a time"
        ) from None
    finally:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Workers read these when they import numpy."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Workers started here never hear an interrupt, from their first instant on: it is the parent's to handle."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
