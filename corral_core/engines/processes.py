"""Run chunks in worker processes, as many at a time as there are workers."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from time import monotonic
from typing import Any

from corral_core.engines.chunks import Task
from corral_core.engines.engine import Done, Engine, GivenUp, Lost, run_task
from corral_core.engines.progress import Progress, Watch
from corral_core.engines.stalls import Stalls, in_words, tick
from corral_core.engines.workers import Died, Staff, Worker
from corral_core.experiments.point import Point, parse_point
from corral_core.simulation.curve import Curve
from corral_core.simulation.memory import bytes_per_row

_points: dict[int, Point] = {}


def _work(source: dict[str, Any], task: Task, played: Callable[[Progress], None]) -> Done | Lost:
    """Run a task in a worker. A worker sees only the points of one run, so it parses each of them once."""
    if task.point not in _points:
        _points[task.point] = parse_point(source)
    return run_task(_points[task.point], task, played)


class Processes(Engine):
    """Runs chunks in worker processes, each with one thread.

    With `stall`, a worker whose chunk makes no progress for so many seconds is killed, like one that died.
    """

    options = frozenset({"stall"})

    def __init__(self, workers: int, *, stall: float | None = None) -> None:
        super().__init__(workers)
        self.stall = stall

    def run(self, points: Sequence[Point], tasks: Sequence[Task], watch: Watch) -> Generator[Done | Lost, None, None]:
        team = _Team(points, tasks, max(1, min(self.workers, len(tasks))), self.stall)
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
    sizes = {(number, curve.name): _size(point, curve) for number, point in enumerate(points) for curve in point.curves}
    return sorted(tasks, key=lambda task: (-task.work, -sizes[task.point, task.curve]))


def _size(point: Point, curve: Curve) -> int:
    try:
        return bytes_per_row(point.environment, [curve], point.horizon)
    except Exception:  # a bug of a plugin: the curve fails in its worker, and says so there
        return 0


Heard = Progress | Done | Lost | str | BaseException


class _Team:
    """Workers, each with a thread in this process that sends it tasks and receives its messages."""

    def __init__(self, points: Sequence[Point], tasks: Sequence[Task], size: int, stall: float | None) -> None:
        self._points = points
        self._stall = stall
        self._stalls = Stalls()
        self._given_up = GivenUp()
        self._at_work: dict[Task, Worker] = {}
        self._stalled: set[Task] = set()
        self._waiting = deque(longest_first(points, tasks))
        self._staff = Staff()
        self._changing = threading.Lock()
        # Short, so that results cannot pile up if the disk is slow.
        self._heard: queue.Queue[Heard | None] = queue.Queue(size)
        # Daemons: Python does not wait for them, even if a second interrupt arrives during the first.
        self._threads = [threading.Thread(target=self._attend, daemon=True) for _ in range(size)]

    def work(self) -> Iterator[Heard]:
        """Yield every message until no task is left."""
        for thread in self._threads:
            thread.start()
        attending = len(self._threads)
        between = tick(self._stall)
        look_at = monotonic() + between
        while attending:
            with contextlib.suppress(queue.Empty):
                heard = self._heard.get(timeout=between)
                if heard is None:
                    attending -= 1
                else:
                    yield heard
            if monotonic() >= look_at:
                self._kill_stalled()
                yield from self._stalls.warnings()
                look_at = monotonic() + between

    def stop(self) -> None:
        """Kill every worker, whatever it is doing."""
        self._staff.stop()
        while any(thread.is_alive() for thread in self._threads):
            with contextlib.suppress(queue.Empty):  # a thread may be waiting for room in the queue
                self._heard.get(timeout=0.01)

    def _attend(self) -> None:
        """The thread of one worker. A worker that dies is replaced, and its task is retried once."""
        worker = None
        try:
            while not self._staff.stopped:
                try:
                    task = self._waiting.popleft()
                except IndexError:
                    break
                if lost := self._given_up.left_out(task):
                    self._heard.put(lost)
                    continue
                for attempt in (1, 2):
                    try:
                        worker = worker or self._staff.hire()
                        self._call(worker, task)
                        break
                    except Died as died:
                        self._staff.dismiss(worker)
                        worker = None
                        if self._staff.stopped:
                            return
                        hung = self._hung(task)
                        if attempt == 1:
                            self._heard.put(f"the worker of {task.words} {hung or died}; its chunk is retried once")
                            continue
                        self._heard.put(Lost(task, f"its worker {hung or died}, twice"))
                        if hung:
                            self._given_up.add(task)
        except BaseException as raised:
            self._heard.put(raised)
        finally:
            self._staff.dismiss(worker)
            self._heard.put(None)

    def _call(self, worker: Worker, task: Task) -> None:
        """Let a worker run a task. While its message waits for room in the queue, it is not expected to say more."""
        with self._changing:
            self._at_work[task] = worker
        self._stalls.heard(task)
        try:
            for said in worker.call(_work, self._points[task.point].source, task):
                self._stalls.ended(task)
                self._heard.put(said)
                self._given_up.note(said)
                self._stalls.heard(task)
        finally:
            self._stalls.ended(task)
            with self._changing:
                del self._at_work[task]

    def _kill_stalled(self) -> None:
        """Kill the workers whose tasks have been silent for too long."""
        with self._changing:
            for task in self._stalls.silent(self._stall) if self._stall is not None else ():
                if worker := self._at_work.get(task):
                    self._stalled.add(task)
                    worker.stop()

    def _hung(self, task: Task) -> str:
        """Why the worker of a task was killed; empty if it died by itself."""
        with self._changing:
            if self._stall is None or task not in self._stalled:
                return ""
            self._stalled.discard(task)
            return f"made no progress for {in_words(self._stall)} and was killed"
