"""What went wrong in a chunk: whose code it was, in which play, and a traceback that starts in the plugin's file."""

import pickle
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral_core.engines.chunks import Task, tasks
from corral_core.engines.engine import Done, Lost, run_task
from corral_core.engines.failure import Failure
from corral_core.engines.processes import Processes
from corral_core.engines.progress import Progress, Watch
from corral_core.engines.serial import Serial
from corral_core.experiments.point import Point, parse_point

sys.path.insert(0, str(Path(__file__).parent))
from herd import experiment, herd


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with herd(tmp_path, monkeypatch):
        yield


def point(*bases: str, environment: str = "bernoulli-arms", meta: str = "") -> Point:
    return parse_point({"name": "try", **tomllib.loads(experiment(*bases, environment=environment, meta=meta))})


def failed(made: Point, curve: str) -> tuple[str, Failure]:
    task = next(task for task in tasks([made]) if task.curve == curve)
    outcome = run_task(made, task)
    assert isinstance(outcome, Lost)
    assert outcome.failure is not None
    return outcome.reason, pickle.loads(pickle.dumps(outcome.failure))


def test_an_exception_of_a_base_is_told_from_its_file_on() -> None:
    """The eleventh lesson fails. A base alone learns in every play."""
    reason, failure = failed(point("raising", "ucb"), "raising")
    assert reason == "ZeroDivisionError: division by zero"
    assert (failure.who, failure.play, failure.refused) == ("base raising", 11, False)
    lines = failure.traceback.splitlines()
    assert lines[0].endswith('corral_herd/bases.py", line 20, in learn')
    assert "    return len(rows) / 0" in lines
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert "corral_core" not in failure.traceback
    assert len(lines) <= 7


def test_leaving_python_is_a_failure_like_any_other() -> None:
    """It neither ends the command, as if all were well, nor a worker."""
    reason, failure = failed(point("leaving", "ucb"), "leaving")
    assert reason == "RuntimeError: it called sys.exit(0)"
    assert (failure.who, failure.play) == ("base leaving", 1)
    assert "in learn" in failure.traceback


def test_an_arm_that_does_not_exist_is_a_sentence_that_names_the_base() -> None:
    reason, failure = failed(point("far"), "far")
    assert reason == "far: act returned arm 99; bernoulli-arms has 0 to 2"
    assert failure == Failure("base far", 1, "", True)


def test_an_environment_is_named_but_not_for_what_a_base_does_inside_its_play() -> None:
    """The frames of the environment stand above those of the base."""
    _, failure = failed(point("ucb", environment="broken-arms"), "ucb")
    assert (failure.who, failure.play) == ("environment broken-arms", 1)
    assert failure.traceback.splitlines()[0].endswith("in pay")
    assert failure.traceback.splitlines()[-1] == "OSError: the sensor is unplugged"
    _, failure = failed(point("far", environment="broken-arms"), "far")
    assert (failure.who, failure.refused) == ("base far", True)


def test_a_meta_is_named() -> None:
    reason, failure = failed(point("ucb", "exp3", meta="broken-meta"), "broken-meta")
    assert (reason, failure.who, failure.play) == ("KeyError: 'weights'", "meta broken-meta", 2)
    assert failure.traceback.splitlines()[0].endswith("in update")


def test_what_fails_before_the_first_play(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(*_: object) -> None:
        raise LookupError("no such problem")

    made = point("ucb")
    monkeypatch.setattr(type(made.environment), "draw", draw)
    reason, failure = failed(made, "ucb")
    assert (reason, failure.play) == ("LookupError: no such problem", 0)


def test_a_deep_traceback_is_cut_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    made = point("raising")
    turns = [compile(f"def turn{n}(n):\n    return turns[n + 1](n + 1)", f"/x/deep{n}.py", "exec") for n in range(20)]
    names: dict[str, object] = {}
    for code in turns:
        exec(code, names)
    names["turns"] = [names[f"turn{n}"] for n in range(20)]
    monkeypatch.setattr(type(made.curves[0].bases[0]), "divide", lambda self, rows: names["turn0"](0))  # type: ignore[operator]
    _, failure = failed(made, "raising")
    assert failure.traceback.splitlines()[-1] == "IndexError: list index out of range"
    assert "more ..." in failure.traceback
    assert failure.traceback.count("  File ") == 6


class Strict(Watch):
    def played(self, progress: Progress) -> None:
        raise ValueError("the watcher is broken")


def test_what_a_watcher_raises_is_not_blamed_on_a_plugin() -> None:
    made = point("ucb")
    with pytest.raises(ValueError, match="the watcher is broken"):
        list(Serial(1).run([made], tasks([made]), Strict()))


@pytest.mark.parametrize("engine", [Serial(1), Processes(1), Processes(3)])
def test_other_curves_go_on_and_the_failed_one_is_left(engine: Serial | Processes) -> None:
    """With several workers, more than one chunk of the failing curve may have begun."""
    made = point("raising", "ucb", "far")
    outcomes: dict[Task, Done | Lost] = {each.task: each for each in engine.run([made], tasks([made]), Watch())}
    assert list(map(type, (each for task, each in outcomes.items() if task.curve == "ucb"))) == [Done] * 3
    for curve in ("raising", "far"):
        mine = [each for task, each in outcomes.items() if task.curve == curve]
        assert all(isinstance(each, Lost) for each in mine)
        begun = [each for each in mine if isinstance(each, Lost) and each.failure]
        assert 1 <= len(begun) <= engine.workers
    if engine.workers == 1:
        assert [each.reason for each in outcomes.values() if isinstance(each, Lost) and not each.failure] == [
            "it was not started after chunk 1"
        ] * 4
