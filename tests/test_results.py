"""What a run comes to: the numbers of `--json`, against the records they come from."""

import math
from typing import Any

import numpy as np
import pytest

from corral_core.chunks import run_chunk, tasks
from corral_core.engines import Done
from corral_core.experiment import Experiment, parse
from corral_core.results import Result, gather
from corral_core.runner import play

KEYS = {"name", "mean_regret", "standard_error", "replicates", "plays", "plays_per_base"}


def small(**changes: Any) -> Experiment:
    source = {
        "name": "small",
        "horizon": 301,  # odd: the last round of a smoothed base is half a round
        "replicates": 7,
        "chunk": 3,
        "environment": {"name": "bernoulli-arms", "arms": 3},
        "meta": {"name": "corral"},
        "bases": [{"name": "ucb"}, {"name": "epsilon-greedy", "grid": {"c": [1, 10]}}],
        "compare": {"alone": "both", "metas": [{"name": "exp3p"}, {"name": "original-corral"}], "presets": ["theory"]},
    }
    return parse({**source, **changes})


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return play([small()], engine="serial")


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
        assert list(result.summary()["plays_per_base"]) == list(result.curve.labels)
        assert sum(result.summary()["plays_per_base"].values()) == pytest.approx(301)
        assert (result.record.plays[:, -1].sum(axis=1) == 301).all()


def test_curves_rise_to_the_last_play_at_two_hundred_points(results: list[Result]) -> None:
    for result in results:
        record = result.record
        assert record.reward.shape == (7, 200)
        assert record.regret is not None
        assert (np.diff(record.regret, axis=1) >= 0).all()
        assert (np.diff(record.plays, axis=1) >= 0).all()
        assert record.probabilities.sum(axis=2) == pytest.approx(1.0, abs=1e-5)


def test_one_replicate_has_no_standard_error() -> None:
    (alone,) = play([small(replicates=1, meta={"name": "uniform"}, compare={"alone": "none"})], engine="serial")
    assert alone.summary()["standard_error"] is None


def test_where_nobody_knows_the_regret_the_reward_stands(results: list[Result]) -> None:
    experiment = small()
    blind = results[0].record.replace(regret=None)
    task = tasks([experiment])[0]
    (first, *_) = gather(
        [small(compare={"alone": "none"})], [Done(task, blind, 1.0), Done(tasks([experiment])[1], blind, 2.0)]
    )
    summary = first.summary()
    assert summary["mean_regret"] is None
    assert summary["mean_reward"] == pytest.approx(float(blind.reward[:, -1].mean()))
    assert (summary["replicates"], summary["seconds"]) == (14, 3.0)
    assert summary["standard_error"] > 0
