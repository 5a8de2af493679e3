"""A run in which a plugin fails keeps and returns the curves that are complete, and can be resumed."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral_core import Run, RunFailed, run_experiment
from corral_core.engines.chunks import Task
from corral_core.engines.progress import Watch
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.point import parse_point

sys.path.insert(0, str(Path(__file__).parents[1] / "engines"))
from herd import experiment, herd


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with herd(tmp_path, monkeypatch):
        yield


def made(*bases: str) -> Experiment:
    """Two points; the base `raising` fails after ten plays, so only at the second."""
    source = {"name": "try", **tomllib.loads(experiment(*bases))}
    return Experiment([parse_point({**source, "horizon": plays, "at": f"horizon = {plays}"}) for plays in (10, 20)])


class Heard(Watch):
    def __init__(self) -> None:
        self.troubles: list[str] = []
        self.finished_tasks: list[Task] = []
        self.lost_tasks: list[Task] = []

    def finished(self, task: Task) -> None:
        self.finished_tasks.append(task)

    def lost(self, task: Task) -> None:
        self.lost_tasks.append(task)

    def trouble(self, sentence: str) -> None:
        self.troubles.append(sentence)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_complete_curves_are_returned_and_the_others_named(kept: bool, engine: str, tmp_path: Path) -> None:
    heard, out = Heard(), tmp_path / "run"
    with pytest.raises(RunFailed) as raised:
        run_experiment(made("raising", "ucb", "far"), engine=engine, workers=2, watch=heard, out=out if kept else None)
    failed = raised.value
    assert [(result.curve.name, result.point.at, result.replicates) for result in failed.results] == [
        ("raising", "horizon = 10", 5),
        ("ucb", "horizon = 10", 5),
        ("ucb", "horizon = 20", 5),
    ]
    assert [(lost.task.curve, lost.task.point) for lost in failed.lost] == [("far", 0), ("raising", 1), ("far", 1)]
    assert failed.exit_code == 1
    assert len(heard.troubles) == 3, "one warning per curve"
    assert (len(heard.finished_tasks), len(heard.lost_tasks)) == (9, 9)
    assert str(failed).startswith(
        "9 of 18 chunks could not be played: curve far, chunk 1: far: act returned arm 99; bernoulli-arms has 0 to 2"
    )
    assert "In curve raising, chunk 1, point 2:\n" in failed.__notes__[0]
    if kept:
        assert f"finished chunks are kept, resume with: corral run {out}" in str(failed)
        assert not (out / "SHA256SUMS").exists()
        assert len(Run.open(out).finished()) == 9


def test_only_refusals_exit_with_2() -> None:
    with pytest.raises(RunFailed) as raised:
        run_experiment(made("far"), engine="serial")
    assert (raised.value.exit_code, raised.value.results) == (2, [])


def test_a_chunk_that_fails_later_takes_its_curve_out_of_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second chunk fails: the first is kept, but is no result. When the bug is gone, the run is resumed."""
    import corral_herd.bases  # type: ignore[import-not-found]
    from corral_mab import Ucb

    out, calls = tmp_path / "run", iter([True] * 20 + [False])
    with monkeypatch.context() as patched:
        patched.setattr(corral_herd.bases.Raising, "learn", lambda *given: Ucb.learn(*given) if next(calls) else 1 / 0)
        with pytest.raises(RunFailed) as raised:
            run_experiment(Experiment(made("raising", "ucb").points[1:]), engine="serial", out=out)
        assert [result.curve.name for result in raised.value.results] == ["ucb"]
        assert raised.value.lost[0].task.chunk_number == 1
        assert sum(task.curve == "raising" for task in Run.open(out).finished()) == 1
    monkeypatch.setattr(corral_herd.bases.Raising, "learn", Ucb.learn)
    results = run_experiment(Experiment(made("raising", "ucb").points[1:]), engine="serial", out=out)
    assert [result.replicates for result in results] == [5, 5]
    assert (out / "SHA256SUMS").exists()
    assert results[0].final.tobytes() == results[1].final.tobytes(), "now it is UCB"
