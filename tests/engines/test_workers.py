"""A worker answers calls, whatever plugins do in it, and ends with its parent."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from corral_core.engines.workers import START, Died, Worker, hire, started_ahead
from corral_core.errors import CorralError

TALK = """
import os, subprocess, sys, threading, time, warnings

class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)

def count(words, say):
    for word in words.split():
        say(word)
    return len(words.split())

def speak(say):
    print("printed by a plugin")
    return "spoken"

def warn(say):
    warnings.warn("a fit did\\nnot converge", RuntimeWarning)
    return "warned"

def read(say):
    return sys.stdin.read(), subprocess.run(["cat"], capture_output=True, timeout=20).stdout

def threads(say):
    return {name: os.environ[name] for name in os.environ if name.endswith("_THREADS")}

def fail(say):
    raise Odd("this cannot", "be pickled")

def leave(say):
    os._exit(7)

def linger(say):
    threading.Thread(target=time.sleep, args=(60,)).start()
    sys.exit(3)

def hang_up(say):
    os.close(int(sys.argv[2]))  # the pipe of its answers
    time.sleep(60)

def signalled(number, say):
    os.kill(os.getpid(), number)
"""


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "talk.py").write_text(TALK)
    monkeypatch.syspath_prepend(str(tmp_path))
    import talk  # type: ignore[import-not-found]

    yield talk
    del sys.modules["talk"]


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.kill()


def test_it_says_what_there_is_to_say_and_then_returns(talk: ModuleType, worker: Worker) -> None:
    assert list(worker.call(talk.count, "two words")) == ["two", "words", 2]
    assert list(worker.call(talk.count, "")) == [0]


def test_what_is_raised_arrives_with_where_it_happened(talk: ModuleType, worker: Worker) -> None:
    with pytest.raises(RuntimeError, match="this cannot") as raised:
        list(worker.call(talk.fail))
    assert "in fail" in raised.value.__notes__[0]
    assert list(worker.call(talk.count, "still there")) == ["still", "there", 2]


def test_what_plugins_print_or_warn_of_goes_to_standard_error_and_they_have_nothing_to_read(
    talk: ModuleType, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    worker = Worker()
    try:
        assert list(worker.call(talk.speak)) == ["spoken"]
        assert list(worker.call(talk.warn)) == ["warned"]
        assert list(worker.call(talk.read)) == [("", b"")]
    finally:
        worker.kill()
    assert capfd.readouterr() == ("", "printed by a plugin\nWarning: a fit did not converge\n")


def test_blas_has_one_thread(talk: ModuleType, worker: Worker) -> None:
    (found,) = worker.call(talk.threads)
    assert found.items() >= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}.items()


@pytest.mark.parametrize(
    ("name", "arguments", "how"),
    [
        ("leave", (), "ended with exit code 7"),
        ("linger", (), "ended with exit code 3"),
        ("signalled", (9,), "was killed by SIGKILL, perhaps out of memory"),
        ("signalled", (11,), "was killed by SIGSEGV"),
        ("signalled", (40,), "was killed by signal 40"),
    ],
)
def test_how_it_died_is_told(name: str, arguments: tuple[int, ...], how: str, talk: ModuleType, worker: Worker) -> None:
    for _ in range(2):  # the second call finds it dead
        with pytest.raises(Died) as died:
            list(worker.call(getattr(talk, name), *arguments))
        assert str(died.value) == how


def test_one_that_hangs_up_and_does_not_leave_is_ended(
    talk: ModuleType, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral_core.engines.workers.PATIENCE", 0.5)
    with pytest.raises(Died, match="stopped answering"):
        list(worker.call(talk.hang_up))


def test_chatter_at_start_does_not_get_among_the_answers(
    talk: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('hello', flush=True)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = Worker()
    try:
        assert list(worker.call(talk.count, "one")) == ["one", 1]
    finally:
        worker.kill()


PATH = pickle.dumps(sys.path)


@pytest.mark.parametrize("sent", [b"", PATH[:20], PATH, PATH + PATH[:1], PATH + PATH[:20], PATH + PATH[:-1]])
def test_it_ends_with_its_parent_at_whatever_moment_and_without_a_word(sent: bytes) -> None:
    """The pipe closes before anything, in the middle of the path, between calls, in the middle of one."""
    read_call, write_call = os.pipe()
    read_answer, write_answer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", START, str(read_call), str(write_answer)],
        pass_fds=(read_call, write_answer),
        stderr=subprocess.PIPE,
    )
    for each in (read_call, write_answer):
        os.close(each)
    os.write(write_call, sent)
    os.close(write_call)
    _, said = process.communicate(timeout=30)
    os.close(read_answer)
    assert (process.returncode, said) == (1, b"")


def test_it_ends_without_a_word_where_nobody_reads_its_answers(talk: ModuleType) -> None:
    """As where the parent was killed, and the worker answers before it notices that no calls come any more."""
    read_call, write_call = os.pipe()
    read_answer, write_answer = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-P", "-c", START, str(read_call), str(write_answer)],
        pass_fds=(read_call, write_answer),
        stderr=subprocess.PIPE,
    ) as process:
        for each in (read_call, write_answer, read_answer):
            os.close(each)
        os.write(write_call, pickle.dumps(sys.path) + pickle.dumps((talk.count, ("nobody listens",))))
        _, said = process.communicate(timeout=30)
    os.close(write_call)
    assert (process.returncode, said) == (1, b"")


def test_where_no_process_can_be_started_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(os.listdir("/proc/self/fd"))

    def refuse(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(CorralError, match="a worker cannot be started: Resource temporarily unavailable; try fewer"):
        Worker()
    assert len(os.listdir("/proc/self/fd")) == before


def test_those_started_ahead_are_hired_first_and_end_with_the_block(talk: ModuleType) -> None:
    with started_ahead(2):
        hired = hire()
        assert list(hired.call(talk.count, "one")) == ["one", 1]
    hired.kill()
    deadline = time.monotonic() + 30
    while (left := _children()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left


def _children() -> list[str]:
    found = [path / "children" for path in Path("/proc/self/task").iterdir()]
    return [child for path in found if path.exists() for child in path.read_text().split()]
