"""A chunk is a pure function of experiment, seed and chunk number; curves are paired.

Also tests `simulation/memory.py`.
"""

from typing import Any

import numpy as np
import pytest

from corral_core.engines.chunks import run_chunk, tasks
from corral_core.experiments.point import Point, parse_point
from corral_core.rows import Rows
from corral_core.simulation.record import Record

SOURCE = {
    "name": "small",
    "horizon": 61,
    "replicates": 7,
    "chunk_size": 3,
    "environment": {"name": "bernoulli-arms", "arms": 3},
    "meta": {"name": "corral"},
    "bases": [{"name": "ucb"}, {"name": "epsilon-greedy", "grid": {"c": [1, 10]}}],
    "compare": {"alone": "both", "metas": [{"name": "exp3p"}], "presets": ["theory", "practice"]},
}


def made(**changes: Any) -> Point:
    return parse_point({**SOURCE, **changes})


def same(one: Record, other: Record) -> bool:
    """Bit for bit."""
    mine, yours = one.to_arrays(), other.to_arrays()
    return mine.keys() == yours.keys() and all(mine[name].tobytes() == yours[name].tobytes() for name in mine)


def test_the_same_seed_gives_the_same_bits() -> None:
    for task in tasks([made()]):
        assert same(run_chunk(made(), task.curve, task.chunk_number), run_chunk(made(), task.curve, task.chunk_number))


def test_another_seed_and_another_chunk_give_other_bits() -> None:
    first = run_chunk(made(), "corral", 0)
    assert not same(first, run_chunk(made(seed=2), "corral", 0))
    assert not same(first, run_chunk(made(), "corral", 1))


def test_a_curve_does_not_notice_the_others() -> None:
    fewer = made(compare={"alone": "none", "metas": [{"name": "exp3p"}]})
    more = made(compare={**SOURCE["compare"], "bases": [{"name": "exp3"}]})  # type: ignore[dict-item]
    for curve in ("corral", "exp3p"):
        assert same(run_chunk(made(), curve, 1), run_chunk(fewer, curve, 1))
        assert same(run_chunk(made(), curve, 1), run_chunk(more, curve, 1))


def test_a_chunk_does_not_notice_how_many_there_are() -> None:
    assert same(run_chunk(made(), "corral", 1), run_chunk(made(replicates=60), "corral", 1))


def test_curves_meet_the_same_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Rows] = []
    experiment = made()
    draw = type(experiment.environment).draw

    def watched(self: Any, rows: int, rng: np.random.Generator) -> Any:
        drawn.append(draw(self, rows, rng))
        return drawn[-1]

    monkeypatch.setattr(type(experiment.environment), "draw", watched)
    for curve in experiment.curves:
        run_chunk(experiment, curve.name, 0)
    run_chunk(experiment, "corral", 1)
    *paired, elsewhere = [instance.mean for instance in drawn]  # type: ignore[attr-defined]
    assert len(paired) == len(experiment.curves)
    assert all((mean == paired[0]).all() for mean in paired)
    assert (elsewhere != paired[0]).all()


def test_curves_meet_the_same_luck() -> None:
    """Bases that play the same arms earn the same, reward by reward: plays draw from (seed, chunk) alone."""
    fixed = made(
        environment={"name": "gaussian-arms", "means": [1, 0]},
        bases=[{"name": "rate", "c": 1e-9}, {"name": "rate", "c": 2e-9}],
        compare={"alone": "plain"},
    )
    one, two = (run_chunk(fixed, f"rate(c={c})", 0) for c in ("1e-09", "2e-09"))
    assert one.regret is not None and not one.regret.any()
    assert (one.reward == two.reward).all()


def test_every_chunk_of_every_curve_of_every_point_is_a_task() -> None:
    experiment = made()
    listed = tasks([experiment, experiment])
    assert len(listed) == len(set(listed)) == 2 * len(experiment.curves) * 3
    assert [task.rows for task in listed[:3]] == [3, 3, 1]
    assert sum(task.work for task in listed) == 2 * len(experiment.curves) * 7 * 61
    assert len(run_chunk(experiment, "corral", 2)) == 1


def test_progress_hears_of_every_play_in_the_end() -> None:
    heard: list[int] = []
    run_chunk(made(), "corral", 0, lambda point, plays, record: heard.append(plays))
    assert heard == sorted(heard)
    assert heard[-1] == 61
