"""A chunk that makes no progress is named once per stall, and ended if the user wants that."""

import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral_core.engines import stalls
from corral_core.engines.chunks import Task, tasks
from corral_core.engines.engine import Done, Engine, Lost
from corral_core.engines.processes import Processes
from corral_core.engines.progress import Watch
from corral_core.engines.serial import Serial
from corral_core.engines.stalls import Stalls, in_words, tick
from corral_core.errors import CorralError
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.point import Point, parse_point
from corral_core.runs.runner import run_experiment

sys.path.insert(0, str(Path(__file__).parent))
from herd import experiment, herd


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with herd(tmp_path, monkeypatch):
        yield


class Heard(Watch):
    def __init__(self) -> None:
        self.troubles: list[str] = []
        self.said = threading.Event()

    def trouble(self, sentence: str) -> None:
        self.troubles.append(sentence)
        self.said.set()


def hanging(marker: str = "") -> Point:
    """A base that hangs in its first play, until the marker exists; and one that does not."""
    source = tomllib.loads(experiment("ucb"))
    return parse_point({"name": "try", **source, "bases": [{"name": "hanging", "marker": marker}, {"name": "ucb"}]})


def test_ten_minutes_without_progress_are_told_of_once_per_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(stalls, "monotonic", lambda: now)
    one, other = Task(0, "ucb", 0, 2, 60), Task(1, "exp3", 4, 2, 60)
    watched = Stalls()
    watched.heard(one)
    now = 300.0
    watched.heard(other)
    now = 599.0
    assert watched.warnings() == []
    now = 600.0
    told = ["curve ucb, chunk 1 has made no progress for 10 minutes; perhaps a plugin hangs"]
    assert (watched.warnings(), watched.warnings()) == (told, [])
    watched.heard(one)
    watched.ended(other)
    now = 1199.0
    assert watched.warnings() == []
    now = 1200.0
    assert watched.warnings() == told
    assert watched.silent(600) == [one]


def test_how_often_to_look_follows_the_shortest_limit() -> None:
    assert (tick(), tick(None), tick(1e9), tick(0.4)) == (1.0, 1.0, 1.0, 0.1)
    assert (in_words(600), in_words(90), in_words(0.5)) == ("10 minutes", "90 s", "0.5 s")


def test_a_stall_in_this_process_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base hangs until it has been told of: this cannot come too early, and it comes within half a minute."""
    monkeypatch.setattr(stalls, "QUIET", 0.05)
    heard, point = Heard(), hanging()
    monkeypatch.setattr(time, "sleep", lambda _: heard.said.wait(30))
    wanted = [task for task in tasks([point]) if task.curve == "hanging"][:1]
    (done,) = Serial(1).run([point], wanted, heard)
    assert isinstance(done, Done)
    assert heard.troubles[0] == ("curve hanging, chunk 1 has made no progress for 0.05 s; perhaps a plugin hangs")
    assert threading.active_count() == 1


class Impatient(Watch):
    """Ends the run at the first warning."""

    def trouble(self, sentence: str) -> None:
        raise CorralError(sentence)


def test_a_stall_in_a_worker_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "QUIET", 0.5)
    point = hanging()
    with pytest.raises(CorralError, match=r"curve hanging, chunk 1 has made no progress for 0\.5 s; perhaps a plugin"):
        list(Processes(1).run([point], tasks([point]), Impatient()))


def bits(engine: Engine, point: Point, heard: Watch) -> list[bytes]:
    outcomes = sorted(
        engine.run([point], tasks([point]), heard), key=lambda each: (each.task.curve, each.task.chunk_number)
    )
    return [each.record.reward.tobytes() for each in outcomes if isinstance(each, Done)]


def test_a_worker_that_stalls_is_killed_and_its_chunk_tried_once_more(tmp_path: Path) -> None:
    """A stall of six seconds: importing takes less, even on a busy machine; the chunks take milliseconds."""
    point, heard = hanging(str(tmp_path / "marker")), Heard()
    found = bits(Processes(1, stall=6.0), point, heard)
    assert heard.troubles == [
        "the worker of curve hanging, chunk 1 made no progress for 6 s and was killed; its chunk is retried once"
    ]
    assert found == bits(Serial(1), point, Heard())
    assert len(found) == 6


def test_a_chunk_that_stalls_twice_is_given_up_with_its_curve() -> None:
    point, heard = hanging(), Heard()
    outcomes = list(Processes(1, stall=6.0).run([point], tasks([point]), heard))
    lost = [each.reason for each in outcomes if isinstance(each, Lost)]
    assert lost == [
        "its worker made no progress for 6 s and was killed, twice",
        *["it was not started after chunk 1"] * 2,
    ]
    assert [each.task.curve for each in outcomes if isinstance(each, Done)] == ["ucb"] * 3


@pytest.mark.parametrize(
    ("engine", "stall", "said"),
    [
        ("serial", 5.0, "the engine serial cannot end a chunk that hangs; --stall needs --engine processes"),
        ("processes", 0.0, "stall must be a positive number of seconds, not 0"),
        ("processes", float("nan"), "stall must be a positive number of seconds, not nan"),
    ],
)
def test_a_stall_that_cannot_be_kept_is_refused(engine: str, stall: float, said: str, tmp_path: Path) -> None:
    for out in (None, tmp_path / "out"):
        with pytest.raises(CorralError, match=said):
            run_experiment(Experiment([hanging()]), engine=engine, stall=stall, out=out)
    assert not (tmp_path / "out").exists()
