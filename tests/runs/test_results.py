"""What a run comes to: the numbers of `--json`, against the records they come from.

Also tests `runs/description.py` and `runs/standard_errors.py`.
"""

import math
from typing import Any

import numpy as np
import pytest

from corral_core.engines.chunks import Task, run_chunk, tasks
from corral_core.engines.engine import Done
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.point import Point, parse_point
from corral_core.runs.description import describe
from corral_core.runs.results import Result, gather, in_order
from corral_core.runs.runner import run_experiment
from corral_core.runs.standard_errors import Moments

KEYS = {"name", "mean_regret", "standard_error", "replicates", "plays", "plays_per_base"}


def small(**changes: Any) -> Point:
    source = {
        "name": "small",
        "horizon": 301,  # odd: the last round of a smoothed base is half a round
        "replicates": 7,
        "chunk_size": 3,
        "environment": {"name": "bernoulli-arms", "arms": 3},
        "meta": {"name": "corral"},
        "bases": [{"name": "ucb"}, {"name": "epsilon-greedy", "grid": {"c": [1, 10]}}],
        "compare": {"alone": "both", "metas": [{"name": "exp3p"}, {"name": "original-corral"}], "presets": ["theory"]},
    }
    return parse_point({**source, **changes})


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return run_experiment(Experiment([small()]), engine="serial")


def test_mean_and_error_are_those_of_the_replicates(results: list[Result]) -> None:
    experiment = small()
    for result in results:
        chunks = [run_chunk(experiment, result.curve.name, chunk) for chunk in range(3)]
        final = [float(row[-1]) for record in chunks for row in record.regret]  # type: ignore[union-attr]
        mean = sum(final) / 7
        summary = result.summary()
        assert summary["mean_regret"] == pytest.approx(mean, rel=1e-12)
        variance = sum((value - mean) ** 2 for value in final) / 6
        assert summary["standard_error"] == pytest.approx(math.sqrt(variance / 7), rel=1e-12)
        assert (summary["replicates"], summary["plays"]) == (7, 301)


def test_the_plays_of_the_bases_are_all_the_plays(results: list[Result]) -> None:
    for result in results:
        assert set(result.summary()) >= KEYS
        assert list(result.summary()["plays_per_base"]) == list(result.curve.bases)
        assert sum(result.summary()["plays_per_base"].values()) == pytest.approx(301)
        assert result.plays_of.sum(axis=1) == pytest.approx(result.plays)


def test_curves_rise_to_the_last_play_at_two_hundred_points(results: list[Result]) -> None:
    for result in results:
        assert result.plays[-1] == 301
        assert result.reward.mean.shape == result.plays.shape == (200,)
        assert result.regret is not None
        assert (np.diff(result.regret.mean) >= 0).all()
        assert (np.diff(result.plays_of, axis=0) >= 0).all()
        assert result.probabilities.mean.sum(axis=1) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("cuts", [[], [1], [3, 4], [1, 2, 3, 4, 5, 6]])
def test_moments_are_those_of_all_replicates_at_once(cuts: list[int]) -> None:
    """Far from zero, where sums of squares would lose every digit."""
    values = 1e9 + np.random.default_rng(1).standard_normal((7, 5))
    moments = Moments()
    for part in np.split(values, cuts):
        moments.add(part)
    assert moments.count == 7
    assert moments.mean == pytest.approx(values.mean(axis=0), rel=1e-15)
    assert moments.deviation == pytest.approx(values.std(axis=0, ddof=1), rel=1e-6)
    assert moments.error == pytest.approx(moments.deviation / math.sqrt(7))


def test_chunks_are_joined_in_their_order_and_few_have_to_wait() -> None:
    def done(curve: str, chunk: int) -> Done:
        return Done(Task(0, curve, chunk, 1, 1), None, 0.0)  # type: ignore[arg-type]

    came = [("a", 1), ("b", 0), ("a", 0), ("b", 2), ("a", 2), ("b", 1)]
    given = [(each.task.curve, each.task.chunk_number) for each in in_order(done(*each) for each in came)]
    assert given == [("b", 0), ("a", 0), ("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_one_replicate_has_no_standard_error() -> None:
    (alone,) = run_experiment(
        Experiment([small(replicates=1, meta={"name": "uniform"}, compare={"alone": "none"})]), engine="serial"
    )
    assert alone.summary()["standard_error"] is None


def test_where_nobody_knows_the_regret_the_reward_stands() -> None:
    experiment = small(compare={"alone": "none"})
    first, second, _ = tasks([experiment])
    blind = [run_chunk(experiment, "corral", task.chunk_number).replace(regret=None) for task in (first, second)]
    done = [Done(first, blind[0], 1.0), Done(second, blind[1], 2.0)]
    (result,) = gather(describe(Experiment([experiment])), done)
    reward = np.concatenate([record.reward[:, -1] for record in blind])
    assert result.final.tolist() == reward.tolist()
    summary = result.summary()
    assert summary["mean_regret"] is None
    assert summary["mean_reward"] == pytest.approx(reward.mean())
    assert summary["standard_error"] == pytest.approx(reward.std(ddof=1) / math.sqrt(6))
    assert (summary["replicates"], summary["seconds"]) == (6, 3.0)


@pytest.mark.parametrize("world", ["arms", "features"])
def test_equal_bases_that_share_every_play_are_one_base(world: str) -> None:
    """Whoever plays, both know what one would know that had played alone: the same actions, and the same bits."""
    arms = {"name": "bernoulli-arms", "means": [0.5, 0.4, 0.6]}, [{"name": "ucb"}, {"name": "ucb", "scale": 1.0}]
    features = {"name": "linear-arms", "arms": 6}, [{"name": "linucb"}, {"name": "linucb", "scale": 1.0}]
    environment, bases = arms if world == "arms" else features
    changes = {"environment": environment, "bases": bases, "meta": {"name": "uniform"}, "compare": {"alone": "plain"}}
    finals = {}
    for share in (False, True):
        point = small(**changes, horizon=300, preset="practice", options={"share": share})
        played = run_experiment(Experiment([point]), engine="serial")
        finals[share] = {result.curve.name: result.final.tolist() for result in played}
    together, *alone = finals[True].values()
    assert together == alone[0] == alone[1]
    assert finals[False]["uniform"] != together
