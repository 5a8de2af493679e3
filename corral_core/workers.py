"""A worker: a Python process with one thread, which takes one call at a time and ends with whoever started it.

Calls and answers are pickled through its standard input and output. It starts from nothing but `sys.path`, so that the
script that started it needs no `if __name__ == "__main__"`; it is in a session of its own, so that an interrupt from
the terminal is its parent's to handle. Keep this module light: a command starts workers before it imports numpy.
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

from corral_core import ONE_THREAD
from corral_core.memory import keep_freed_memory

START = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from corral_core.engines import processes
from corral_core.workers import serve
serve()
"""


_spare: list[Worker] = []


@contextmanager
def started_ahead(count: int) -> Iterator[None]:
    """Workers that import what they need while we still do; those that nobody hires end with the block."""
    try:
        _spare.extend(Worker() for _ in range(count))
        yield
    finally:
        while _spare:
            _spare.pop().kill()


def hire() -> Worker:
    """A worker that was started ahead, or a new one."""
    return _spare.pop() if _spare else Worker()


class Died(Exception):  # noqa: N818 - it is the worker's end, not an error of the call
    """A worker ended in the middle of a call; the message says how."""


class Worker:
    """One process, seen from its parent."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,
        )
        self._send(sys.path)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """What the function says with its last argument, and at the end what it returns."""
        self._send((function, arguments))
        while True:
            try:
                kind, value = pickle.load(self._pipe(self._process.stdout))
            except (EOFError, pickle.UnpicklingError):
                raise Died(_how(self._process.wait())) from None
            if kind == "raised":
                raise value
            yield value
            if kind == "returned":
                return

    def kill(self) -> None:
        """End it, whatever it is at."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                self._pipe(pipe).close()

    def _send(self, what: Any) -> None:
        try:
            pickle.dump(what, self._pipe(self._process.stdin))
            self._pipe(self._process.stdin).flush()
        except BrokenPipeError:
            raise Died(_how(self._process.wait())) from None

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name}" + (
        ", perhaps for want of memory" if -code == signal.SIGKILL else ""
    )


def serve() -> None:
    """In a worker: answer calls until the parent is gone."""
    keep_freed_memory()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what plugins print must not get among the answers
    calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(calls,), daemon=True).start()

    def answer(kind: str, value: Any) -> None:
        answers.write(pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL))
        answers.flush()

    while True:
        function, arguments = calls.get()
        try:
            returned = function(*arguments, lambda value: answer("said", value))
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))
            answer("raised", _portable(error))
        else:
            answer("returned", returned)


def _listen(calls: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            calls.put(pickle.load(sys.stdin.buffer))
    except EOFError:
        os._exit(1)


def _portable(error: Exception) -> Exception:
    """The error itself, or one that says the same where it cannot be pickled."""
    try:
        copy = pickle.loads(pickle.dumps(error))
        assert isinstance(copy, Exception)
        return error
    except Exception:
        told = RuntimeError("".join(traceback.format_exception_only(error)).strip())
        for note in getattr(error, "__notes__", ()):
            told.add_note(note)
        return told
