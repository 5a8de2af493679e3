"""Engines give the same bits, whoever runs what in which order; a worker that dies costs one more try.

Also tests `engines/processes.py`, `engines/progress.py` and `engines/serial.py`.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from corral_core.engines.chunks import Task, tasks
from corral_core.engines.engine import Done, Engine, Lost
from corral_core.engines.processes import Processes, longest_first
from corral_core.engines.progress import Progress, Watch
from corral_core.engines.serial import Serial
from corral_core.errors import CorralError
from corral_core.experiments.experiment import Experiment, load_experiment
from corral_core.experiments.point import Point, parse_point
from corral_core.registry.names import get_registry
from corral_core.runs import runner
from corral_core.runs.description import describe
from corral_core.runs.results import gather, in_order
from corral_core.simulation.record import Record


def small() -> list[Point]:
    source = {
        "name": "small",
        "horizon": 60,
        "replicates": 5,
        "chunk_size": 2,
        "environment": {"name": "gaussian-arms", "arms": 3},
        "meta": {"name": "corral"},
        "bases": [{"name": "exp3"}, {"name": "epsilon-greedy", "grid": {"c": [1, 10]}}],
        "compare": {"metas": [{"name": "exp3p"}]},
    }
    return [parse_point(source), parse_point({**source, "horizon": 40, "at": "horizon = 40"})]


class Heard(Watch):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.progress: list[Progress] = []
        self.troubles: list[str] = []

    def played(self, progress: Progress) -> None:
        self.progress.append(progress)

    def trouble(self, sentence: str) -> None:
        self.troubles.append(sentence)


def run(engine: Engine, points: list[Point], wanted: Sequence[Task]) -> dict[Task, bytes]:
    heard = Heard()
    finished = list(engine.run(points, wanted, heard))
    records = {done.task: done.record for done in finished if isinstance(done, Done)}
    assert len(records) == len(finished)
    last = {progress.task: progress for progress in heard.progress}
    for task in wanted:
        record = records[task]
        assert record.regret is not None
        assert last[task].plays == task.plays
        assert last[task].regret == pytest.approx(record.regret[:, -1].mean())
        assert last[task].reward == pytest.approx(record.reward[:, -1].mean())
        assert last[task].chosen == pytest.approx(record.probabilities[:, -1].mean(axis=0))
    return {task: bits(record) for task, record in records.items()}


def bits(record: Record) -> bytes:
    return b"".join(name.encode() + array.tobytes() for name, array in record.to_arrays().items())


def workers_alive() -> list[int]:
    """The processes that this one has started and that have not ended."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    threads = [path / "children" for path in Path("/proc/self/task").iterdir()]
    return [int(child) for path in {children, *threads} if path.exists() for child in path.read_text().split()]


@pytest.fixture(scope="module")
def reference() -> dict[Task, bytes]:
    points = small()
    return run(Serial(1), points, tasks(points))


def test_the_order_of_tasks_changes_nothing(reference: dict[Task, bytes]) -> None:
    points = small()
    assert run(Serial(1), points, tasks(points)[::-1]) == reference


@pytest.mark.parametrize("workers", [1, 3])
def test_processes_give_the_same_bits(workers: int, reference: dict[Task, bytes]) -> None:
    points = small()
    assert run(Processes(workers), points, tasks(points)[::-1]) == reference


def test_results_are_gathered_in_the_order_of_the_experiment() -> None:
    points = small()
    done = [each for each in Serial(1).run(points, tasks(points), Watch()) if isinstance(each, Done)]
    there, back = (gather(describe(Experiment(points)), in_order(each)) for each in (done, done[::-1]))
    assert [result.curve.name for result in there] == [curve.name for point in points for curve in point.curves]
    for one, other in zip(there, back, strict=True):
        assert one.final.tobytes() == other.final.tobytes()
        assert one.measured.mean.tobytes() == other.measured.mean.tobytes()
        assert one.measured.error.tobytes() == other.measured.error.tobytes()
        assert one.replicates == 5


def test_what_a_worker_refuses_arrives_as_it_was_said() -> None:
    points = small()
    broken = [attrs.evolve(points[0], source={**points[0].source, "horizon": -1})]
    with pytest.raises(CorralError, match="horizon must be a whole number of at least 1, not -1"):
        list(Processes(1).run(broken, tasks(broken)[:1], Watch()))


def test_leaving_early_ends_the_workers() -> None:
    """The quick task is finished; the slow one, of a minute, is not waited for."""
    points = [
        *load_experiment("epsilon-greedy", replicates=1, horizon=10).points,
        *load_experiment("epsilon-greedy", horizon=10_000_000).points,
    ]
    quick, *_, slow = tasks(points)
    running = Processes(2).run(points, [quick, slow], Watch())
    outcome = next(running)
    assert outcome.task == quick
    assert workers_alive()
    running.close()
    assert workers_alive() == []
    assert threading.active_count() == 1


class Assassin(Heard):
    """Ends the process of a worker when a chunk of a curve gets on, so many times."""

    def __init__(self, curve: str, times: int) -> None:
        super().__init__()
        self.curve, self.times = curve, times

    def played(self, progress: Progress) -> None:
        super().played(progress)
        if (
            progress.task.curve == self.curve
            and progress.task.chunk_number == 0
            and self.times
            and progress.plays < 1000
        ):
            (worker,) = workers_alive()  # one worker, so that nobody else is hit
            self.times -= 1
            os.kill(worker, 9)


def long_enough(horizon: int = 30_000) -> list[Point]:
    """Chunks that take seconds, so that a worker is caught at one even if this process is kept waiting."""
    return list(load_experiment("quickstart", replicates=2, horizon=horizon).points)


def test_a_worker_that_dies_is_told_of_and_its_chunk_tried_once_more() -> None:
    points, assassin = long_enough(), Assassin("exp3p", times=1)
    wanted = [task for task in tasks(points) if task.curve in ("exp3p", "ucb")]
    found = {
        done.task: bits(done.record) for done in Processes(1).run(points, wanted, assassin) if isinstance(done, Done)
    }
    (told,) = assassin.troubles
    assert told == (
        "the worker of curve exp3p, chunk 1 was killed by SIGKILL, perhaps out of memory; its chunk is retried once"
    )
    expected = {
        done.task: bits(done.record) for done in Serial(1).run(points, wanted, Watch()) if isinstance(done, Done)
    }
    assert found == expected


def test_a_chunk_whose_worker_dies_twice_is_given_up_and_the_rest_goes_on(tmp_path: Path) -> None:
    points, assassin = long_enough(60_000), Assassin("exp3p", times=2)
    wanted = [task for task in tasks(points) if task.curve in ("exp3p", "ucb")]
    outcomes = {outcome.task.curve: outcome for outcome in Processes(1).run(points, wanted, assassin)}
    lost = outcomes["exp3p"]
    assert isinstance(lost, Lost)
    assert lost.reason == "its worker was killed by SIGKILL, perhaps out of memory, twice"
    assert isinstance(outcomes["ucb"], Done)


class Losing(Engine):
    """Loses the first task."""

    def run(self, points: Any, tasks: Any, watch: Watch) -> Any:
        yield Lost(tasks[0], "nobody knows why")
        yield from Serial(1).run(points, tasks[1:], watch)


class Twice(Engine):
    """Yields a task twice."""

    def run(self, points: Any, tasks: Any, watch: Watch) -> Any:
        for done in Serial(1).run(points, tasks, watch):
            yield done
            yield done


class Lazy(Engine):
    """Leaves tasks out."""

    def run(self, points: Any, tasks: Any, watch: Watch) -> Any:
        yield from Serial(1).run(points, tasks[:-1], watch)


@pytest.fixture
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    registry = get_registry()
    load = registry.load
    monkeypatch.setattr(registry, "load", lambda kind, name: request.param if name == "ours" else load(kind, name))
    return "ours"


@pytest.mark.parametrize("engine", [Losing], indirect=True)
def test_what_is_lost_is_told_of_at_the_end_and_the_rest_is_kept(engine: str, tmp_path: Path) -> None:
    points, heard = small()[:1], Heard()
    with pytest.raises(
        CorralError, match="1 of 15 chunks could not be played: curve corral, chunk 1: nobody knows why"
    ):
        runner.run_experiment(Experiment(points), engine=engine, out=tmp_path, watch=heard)
    assert heard.troubles == ["curve corral, chunk 1 is given up: nobody knows why"]
    assert len(list((tmp_path / "chunks").iterdir())) == 14
    assert not (tmp_path / "SHA256SUMS").exists()
    runner.run_experiment(Experiment(points), engine="serial", out=tmp_path)


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        (Twice, "the engine ours must yield every task once"),
        (Lazy, r"the engine ours left out 1 of 15 chunks, for example curve epsilon-greedy\(c=10\), chunk 3"),
    ],
    indirect=["engine"],
)
def test_an_engine_that_breaks_its_word_is_named(engine: str, said: str) -> None:
    with pytest.raises(CorralError, match=said):
        runner.run_experiment(Experiment(small()[:1]), engine=engine)


def test_what_takes_longest_comes_first() -> None:
    points = [
        *load_experiment("independent-arms", horizon=100).points,
        *load_experiment("independent-arms", horizon=200).points,
    ]
    order = [(task.point, task.curve) for task in longest_first(points, tasks(points))]
    assert order == [(1, "corral"), (1, "linucb"), (1, "ucb"), (0, "corral"), (0, "linucb"), (0, "ucb")]
