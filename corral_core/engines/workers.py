"""A worker: a Python process with one thread that handles one call at a time and ends when its parent ends.

Calls and answers are pickled through two pipes of their own: what plugins print goes to standard error, and standard
input is empty. A worker receives only `sys.path` at the start, so the script that started it needs no
`if __name__ == "__main__"`. It runs in a session of its own, so an interrupt from the terminal reaches only its parent.
Keep this module light: a command starts workers before it imports numpy.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from corral_core.engines.machine import ONE_THREAD, keep_freed_memory
from corral_core.errors import CorralError, warn_plainly

START = """
import os, pickle, sys
calls, answers = (os.fdopen(int(number), mode) for number, mode in zip(sys.argv[1:], ("rb", "wb")))
try:
    sys.path[:] = pickle.load(calls)
except (EOFError, pickle.UnpicklingError):  # the parent is gone
    sys.exit(1)
from corral_core.engines import processes
from corral_core.engines.workers import serve
serve(calls, answers)
"""
PATIENCE = 5.0  # seconds that a process may take to end after it has closed its pipe


class Died(Exception):  # noqa: N818 - the worker has ended; the call itself is not wrong
    """A worker ended in the middle of a call; the message says how."""


class Worker:
    """One process, seen from its parent."""

    def __init__(self) -> None:
        read_call, write_call = os.pipe()
        read_answer, write_answer = os.pipe()
        self._calls, self._answers = os.fdopen(write_call, "wb"), os.fdopen(read_answer, "rb")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-u", "-c", START, str(read_call), str(write_answer)],
                stdin=subprocess.DEVNULL,
                stdout=2,
                pass_fds=(read_call, write_answer),
                env={**os.environ, **ONE_THREAD},
                start_new_session=True,
            )
        except OSError as problem:
            self._close()
            raise CorralError(f"a worker cannot be started: {problem.strerror}; try fewer with --workers") from None
        finally:
            os.close(read_call)
            os.close(write_answer)
        with contextlib.suppress(Died):  # the first call will report it
            self._send(sys.path)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """Yield what the function passes to its last argument, a callback, and finally what it returns."""
        self._send((function, arguments))
        while True:
            try:
                kind, value = pickle.load(self._answers)
            except (EOFError, pickle.UnpicklingError, OSError, ValueError):
                raise Died(self._end()) from None
            if kind == "raised":
                raise value
            yield value
            if kind == "returned":
                return

    def stop(self) -> None:
        """Send the kill signal, which a process cannot ignore."""
        self._process.kill()

    def kill(self) -> None:
        """Kill the process, whatever it is doing, and wait until it has ended."""
        self.stop()
        self._process.wait()
        self._close()

    def _send(self, what: Any) -> None:
        try:
            pickle.dump(what, self._calls)
            self._calls.flush()
        except (OSError, ValueError):  # a broken pipe, or one that was closed
            raise Died(self._end()) from None

    def _end(self) -> str:
        """How the process ended; if it still runs, it is killed first."""
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.stop()
            self._process.wait()
            return "stopped answering"
        if code >= 0:
            return f"ended with exit code {code}"
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            return f"was killed by {name}" + (", perhaps out of memory" if name == "SIGKILL" else "")
        return f"was killed by signal {-code}"

    def _close(self) -> None:
        for pipe in (self._calls, self._answers):
            with contextlib.suppress(OSError):
                pipe.close()


_spare: list[Worker] = []


@contextmanager
def started_ahead(count: int) -> Iterator[None]:
    """Start workers early, so that they import while this process does. Unused ones end with the block."""
    try:
        _spare.extend(Worker() for _ in range(count))
        yield
    finally:
        while _spare:
            _spare.pop().kill()


def hire() -> Worker:
    """A worker that was started ahead, or a new one."""
    return _spare.pop() if _spare else Worker()


class Staff:
    """Workers that threads hire and dismiss, until one call stops them all."""

    def __init__(self) -> None:
        self.stopped = False
        self._workers: set[Worker] = set()
        self._changing = threading.Lock()

    def hire(self) -> Worker:
        """One more worker; raises `Died` once they were stopped."""
        with self._changing:
            if self.stopped:
                raise Died("is no longer needed")
            worker = hire()
            self._workers.add(worker)
            return worker

    def dismiss(self, worker: Worker | None) -> None:
        """Kill a worker, if it was hired here, and wait until it has ended."""
        with self._changing:
            if worker in self._workers:
                self._workers.discard(worker)
                worker.kill()

    def stop(self) -> None:
        """Kill every worker, whatever it is doing; no other can be hired."""
        with self._changing:
            self.stopped = True
            for worker in self._workers:
                worker.stop()


def serve(calls: IO[bytes], answers: IO[bytes]) -> None:
    """In a worker: answer calls until the parent is gone."""
    keep_freed_memory()
    warn_plainly()
    waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(calls, waiting), daemon=True).start()

    def answer(kind: str, value: Any) -> None:
        told = pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL)
        try:
            answers.write(told)
            answers.flush()
        except BrokenPipeError:  # the parent is gone, and `_listen` has not noticed yet
            os._exit(1)

    while True:
        function, arguments = waiting.get()
        try:
            returned = function(*arguments, lambda value: answer("said", value))
        except SystemExit as stop:
            os._exit(stop.code if isinstance(stop.code, int) else 1)  # even if a plugin has left threads running
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))
            answer("raised", _portable(error))
        else:
            answer("returned", returned)


def _listen(calls: IO[bytes], waiting: queue.SimpleQueue[Any]) -> None:
    """Receive calls. Whatever prevents that, above all a parent that is gone, ends the worker."""
    try:
        while True:
            waiting.put(pickle.load(calls))
    except (EOFError, pickle.UnpicklingError):  # the parent is gone, perhaps in the middle of a call
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _portable(error: Exception) -> Exception:
    """The error itself, or one with the same text if it cannot be pickled."""
    try:
        copy = pickle.loads(pickle.dumps(error))
        assert isinstance(copy, Exception)
        return error
    except Exception:
        told = RuntimeError("".join(traceback.format_exception_only(error)).strip())
        for note in getattr(error, "__notes__", ()):
            told.add_note(note)
        return told
