"""Slopes on logarithmic axes are those of least squares."""

from __future__ import annotations

import numpy as np
import pytest
from corral_report import figures

from corral_core.simulation.record import checkpoints


@pytest.mark.parametrize(("slope", "constant"), [(0.5, 3.0), (1.0, 0.01), (0.0, 7.0)])
def test_the_slope_of_a_power_law_is_its_exponent(slope: float, constant: float) -> None:
    plays = checkpoints(10_000)
    found = figures.fit(plays, constant * plays**slope)
    assert found is not None
    assert found == pytest.approx((slope, constant), abs=1e-9)


def test_the_slope_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(3)
    plays = checkpoints(500)
    means = plays**0.6 * rng.uniform(0.5, 2, len(plays))
    found = figures.fit(plays, means)
    slope, constant = np.polyfit(np.log(plays), np.log(means), 1)
    assert found == pytest.approx((slope, np.exp(constant)))


def test_no_slope_without_two_positive_means() -> None:
    assert figures.fit(np.array([1]), np.array([2.0])) is None
    assert figures.fit(np.array([1, 2, 3]), np.array([0.0, -1.0, 5.0])) is None
    assert figures.fit(np.array([1, 2, 4]), np.array([np.nan, 2.0, 4.0])) == pytest.approx((1, 1))
