"""The registered experiments have the settings that they state (conformance checks test that each runs)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from corral_lsvi import NestedLinearMdp

from corral_core import load_experiment

NAMES = ["unknown-feature-dimension", "unknown-feature-dimension-rates", "unknown-feature-dimension-theory"]


@pytest.mark.parametrize("name", NAMES)
def test_nested_maps_of_doubling_dimension_and_the_theorems_rate(name: str) -> None:
    """eta = sqrt(M)/(sqrt(T) d^(3/2) H^(3/2)), T in rounds, times H for returns that are scaled by 1/H."""
    for experiment in load_experiment(name).points:
        world, corral = experiment.environment, experiment.curve("corral")
        assert isinstance(world, NestedLinearMdp)
        bases: Any = corral.bases
        dimensions = [base.dimension for base in bases]
        assert dimensions == [2**i for i in range(len(dimensions))] and dimensions[-1] == world.dimension
        assert world.relevant in dimensions
        rate = math.sqrt(len(bases)) / (world.relevant * world.stages) ** 1.5 * world.stages
        rounds = experiment.horizon / 2
        told = float(experiment.choices(corral)[0].split()[2])
        assert told == pytest.approx(rate / math.sqrt(rounds), rel=2e-3)


@pytest.mark.parametrize("name", NAMES[:2])
def test_constants_are_the_calibrated_ones(name: str) -> None:
    """lambda = 0.001 and beta = 2 H sqrt(lambda), found on other problems (docs/reinforcement-learning.md)."""
    for experiment in load_experiment(name).points:
        world: Any = experiment.environment
        for base in experiment.curve("corral").bases:
            told: Any = base
            assert told.penalty == 0.001
            assert told.radius == pytest.approx(2 * world.stages * math.sqrt(0.001), rel=2e-3)


def test_the_theorems_own_method_has_the_sources_constants() -> None:
    for experiment in load_experiment(NAMES[2]).points:
        corral = experiment.curve("corral")
        assert corral.options.bias == 1 and corral.options.base_test and corral.options.restart
        assert all(base.bound(0.1) is not None for base in corral.bases)
