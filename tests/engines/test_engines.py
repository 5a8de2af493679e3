"""Engines run every task once and give the same bits, however many workers there are and in whatever order."""

import multiprocessing
from collections.abc import Sequence

import attrs
import pytest

from corral_core.chunks import Task, tasks
from corral_core.engines import Done, Engine
from corral_core.engines.processes import Processes
from corral_core.engines.serial import Serial
from corral_core.errors import CorralError
from corral_core.experiment import Experiment, load, parse
from corral_core.results import gather
from corral_core.simulation import Record


def small() -> list[Experiment]:
    source = {
        "name": "small",
        "horizon": 60,
        "replicates": 5,
        "chunk": 2,
        "environment": {"name": "gaussian-arms", "arms": 3},
        "meta": {"name": "corral"},
        "bases": [{"name": "exp3"}, {"name": "epsilon-greedy", "grid": {"c": [1, 10]}}],
        "compare": {"metas": [{"name": "exp3p"}]},
    }
    return [parse(source), parse({**source, "horizon": 40, "at": "horizon = 40"})]


def run(engine: Engine, points: list[Experiment], wanted: Sequence[Task]) -> dict[Task, bytes]:
    heard: list[int] = []
    finished: list[Done] = list(engine.run(points, wanted, heard.append))
    assert sum(heard) == sum(task.work for task in wanted)
    found = {done.task: bits(done.record) for done in finished}
    assert len(found) == len(finished)
    return found


def bits(record: Record) -> bytes:
    return b"".join(getattr(record, name).tobytes() for name in Record.names)


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
    done = list(Serial(1).run(points, tasks(points), lambda work: None))
    there, back = gather(points, done), gather(points, done[::-1])
    assert [result.curve.name for result in there] == [curve.name for point in points for curve in point.curves]
    assert [bits(result.record) for result in there] == [bits(result.record) for result in back]
    assert all(len(result.record) == 5 for result in there)


def test_what_a_worker_refuses_arrives_as_it_was_said() -> None:
    points = small()
    broken = [attrs.evolve(points[0], source={**points[0].source, "horizon": -1})]
    with pytest.raises(CorralError, match="horizon must be a whole number of at least 1, not -1"):
        list(Processes(1).run(broken, tasks(broken)[:1], lambda work: None))


def test_leaving_early_ends_the_workers() -> None:
    """The quick task is finished; the slow one, of a minute, is not waited for."""
    points = [*load("epsilon-greedy", replicates=1, horizon=10), *load("epsilon-greedy", horizon=10_000_000)]
    quick, *_, slow = tasks(points)
    running = Processes(2).run(points, [quick, slow], lambda work: None)
    assert next(running).task == quick
    assert multiprocessing.active_children()
    running.close()
    assert multiprocessing.active_children() == []
