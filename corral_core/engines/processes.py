"""Run chunks in worker processes, as many at a time as there are workers."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from corral_core.engines.chunks import Task
from corral_core.engines.engine import Done, Engine, Lost, run_task
from corral_core.engines.progress import Progress, Watch
from corral_core.engines.workers import Died, Worker, hire
from corral_core.experiments.point import Point, parse_point
from corral_core.simulation.memory import bytes_per_row

_points: dict[int, Point] = {}


def _work(source: dict[str, Any], task: Task, played: Callable[[Progress], None]) -> Done:
    """Run a task in a worker. A worker sees only the points of one run, so it parses each of them once."""
    if task.point not in _points:
        _points[task.point] = parse_point(source)
    return run_task(_points[task.point], task, played)


class Processes(Engine):
    """Runs chunks in worker processes, each with one thread."""

    def run(self, points: Sequence[Point], tasks: Sequence[Task], watch: Watch) -> Generator[Done | Lost, None, None]:
        team = _Team(points, tasks, max(1, min(self.workers, len(tasks))))
        try:
            for heard in team.work():
                match heard:
                    case Progress() as progress:
                        watch.played(progress)
                    case Done() | Lost() as outcome:
                        yield outcome
                    case str() as trouble:
                        watch.trouble(trouble)
                    case BaseException() as raised:
                        raise raised
        finally:
            team.stop()


def longest_first(points: Sequence[Point], tasks: Sequence[Task]) -> list[Task]:
    """Tasks with most plays first, then most memory (these take longest), so that no worker idles at the end."""
    sizes = {
        (number, curve.name): bytes_per_row(point.environment, [curve], point.horizon)
        for number, point in enumerate(points)
        for curve in point.curves
    }
    return sorted(tasks, key=lambda task: (-task.work, -sizes[task.point, task.curve]))


Heard = Progress | Done | Lost | str | BaseException


class _Team:
    """Workers, each with a thread in this process that sends it tasks and receives its messages."""

    def __init__(self, points: Sequence[Point], tasks: Sequence[Task], size: int) -> None:
        self._points = points
        self._waiting = deque(longest_first(points, tasks))
        self._workers: set[Worker] = set()
        self._changing = threading.Lock()
        self._stopped = False
        # Short, so that results cannot pile up if the disk is slow.
        self._heard: queue.Queue[Heard | None] = queue.Queue(size)
        # Daemons: Python does not wait for them, even if a second interrupt arrives during the first.
        self._threads = [threading.Thread(target=self._attend, daemon=True) for _ in range(size)]

    def work(self) -> Iterator[Heard]:
        """Yield every message until no task is left."""
        for thread in self._threads:
            thread.start()
        attending = len(self._threads)
        while attending:
            heard = self._heard.get()
            if heard is None:
                attending -= 1
            else:
                yield heard

    def stop(self) -> None:
        """Kill every worker, whatever it is doing."""
        with self._changing:
            self._stopped = True
            for worker in self._workers:
                worker.stop()
        while any(thread.is_alive() for thread in self._threads):
            with contextlib.suppress(queue.Empty):  # a thread may be waiting for room in the queue
                self._heard.get(timeout=0.01)

    def _attend(self) -> None:
        """The thread of one worker. A worker that dies is replaced, and its task is retried once."""
        worker = None
        try:
            while not self._stopped:
                try:
                    task = self._waiting.popleft()
                except IndexError:
                    break
                for attempt in (1, 2):
                    try:
                        worker = worker or self._hire()
                        for said in worker.call(_work, self._points[task.point].source, task):
                            self._heard.put(said)
                        break
                    except Died as died:
                        self._dismiss(worker)
                        worker = None
                        if self._stopped:
                            return
                        if attempt == 1:
                            self._heard.put(f"the worker of {task.words} {died}; its chunk is retried once")
                        else:
                            self._heard.put(Lost(task, f"its worker {died}, twice"))
        except BaseException as raised:
            self._heard.put(raised)
        finally:
            self._dismiss(worker)
            self._heard.put(None)

    def _hire(self) -> Worker:
        with self._changing:
            if self._stopped:
                raise Died("is no longer needed")
            worker = hire()
            self._workers.add(worker)
            return worker

    def _dismiss(self, worker: Worker | None) -> None:
        with self._changing:
            if worker in self._workers:
                self._workers.discard(worker)
                worker.kill()
