"""The registered experiments (that each plays, the conformance suite sees): the paper's figure shows what it says."""

from __future__ import annotations

import numpy as np
import pytest

from corral_core import load_experiment
from corral_core.engines.chunks import run_chunk


@pytest.mark.parametrize(
    ("name", "adapted", "other", "reference"),
    [
        ("linear-arms", "linucb", "ucb", {"linucb": 152, "ucb": 1724}),
        ("independent-arms", "ucb", "linucb", {"ucb": 837, "linucb": 23_083}),
    ],
)
def test_the_papers_first_figure(name: str, adapted: str, other: str, reference: dict[str, float]) -> None:
    """The adapted base far below the other, CORRAL between them and in the second half nearer to the adapted one.

    60 replicates of 10,000 plays. The reference means are of 60 instances each: 4.5 standard errors of the difference
    of two such means, 3e-5 each. The other comparisons are of means tens of standard errors apart.
    """
    (experiment,) = load_experiment(name, replicates=60).points
    regret = {curve: run_chunk(experiment, curve, 0).regret for curve in (adapted, other, "corral")}
    end = {curve: values[:, -1] for curve, values in regret.items()}
    mean = {curve: values.mean() for curve, values in end.items()}
    assert mean[adapted] < mean["corral"] < mean[other]
    assert mean[adapted] < mean[other] / 5
    half = {curve: (values[:, -1] - values[:, values.shape[1] // 2 - 1]).mean() for curve, values in regret.items()}
    assert abs(half["corral"] - half[adapted]) < abs(half["corral"] - half[other])
    for curve, expected in reference.items():
        error = end[curve].std(ddof=1) / np.sqrt(60)
        assert abs(mean[curve] - expected) < 4.5 * np.sqrt(2) * error


def test_grids_are_the_papers() -> None:
    (experiment,) = load_experiment("unknown-dimension").points
    corral = experiment.curve("corral")
    assert [base.dimension for base in corral.bases] == [1, 2, 4, 8, 16, 32, 64]  # type: ignore[attr-defined]
    (experiment,) = load_experiment("unknown-dimension-and-misspecification").points
    grid = {(base.dimension, base.epsilon) for base in experiment.curve("corral").bases}  # type: ignore[attr-defined]
    levels = [0.0, *(2.0**-i for i in range(6))]
    assert grid == {(d, epsilon) for d in (1, 2, 4, 8, 16) for epsilon in levels}
    (experiment,) = load_experiment("unknown-misspecification").points
    assert sorted(base.epsilon for base in experiment.curve("corral").bases) == sorted(levels)  # type: ignore[attr-defined]
    rounds = experiment.curve("corral").rounds(experiment.horizon)
    assert 2.0**5 >= np.sqrt(rounds / 8) > 2.0**4


def test_kin_advance_as_one_block() -> None:
    """35 bases of five dimensions are five blocks."""
    from corral_core.selection.setup import group_kin

    (experiment,) = load_experiment("unknown-dimension-and-misspecification").points
    assert [len(group) for group in group_kin(experiment.curve("corral").bases)] == [7] * 5
