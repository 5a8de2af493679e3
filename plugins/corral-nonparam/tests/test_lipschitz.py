"""The Lipschitz environment against its formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from corral_nonparam import Lipschitz

from corral_core import Array, CorralError


def means(world: Lipschitz, x: Array) -> Array:
    """Means of one instance at many contexts."""
    one = world.draw(1, np.random.default_rng(1))
    return world.means(one.take(np.zeros(len(x), dtype=np.intp)), x)


def test_the_product_is_its_formula() -> None:
    world, x = Lipschitz(dimension=3, relevant=2, frequency=2.0), np.random.default_rng(1).random((50, 3))
    for found, point in zip(means(world, x), x, strict=True):
        wave = math.sin(4 * math.pi * point[0]) * math.sin(4 * math.pi * point[1]) / 2
        assert found == pytest.approx([0.5 + wave, 0.5 - wave], abs=1e-12)


def test_the_sum_is_its_formula() -> None:
    world = Lipschitz(form="sum", arms=4, dimension=3, relevant=2)
    one, x = world.draw(1, np.random.default_rng(2)), np.array([[0.3, 0.8, 0.5]])
    for arm, found in enumerate(world.means(one, x)[0]):
        waves = [math.cos(2 * math.pi * (x[0, i] - one.phase[0, arm, i])) for i in range(2)]
        assert found == pytest.approx(0.5 + sum(waves) / 4, abs=1e-12)


@pytest.mark.parametrize("relevant", [1, 2, 3])
def test_without_one_feature_both_arms_are_equal(relevant: int) -> None:
    """Averages over a whole wave of any feature that matters, exact on a regular grid of 8 points."""
    world, grid = Lipschitz(dimension=3, relevant=relevant), np.arange(8) / 8
    for missing in range(relevant):
        x = np.tile(np.random.default_rng(missing).random(3), (8, 1))
        x[:, missing] = grid
        assert means(world, x).mean(axis=0) == pytest.approx([0.5, 0.5], abs=1e-12)


@pytest.mark.parametrize("relevant", [1, 2, 4])
def test_what_uniform_play_loses(relevant: int) -> None:
    """E prod |sin| = (2/pi)^d*, and half of the gap is lost on average.

    The gap has a variance below 1/2^d* - (2/pi)^(2 d*), at most .1; of 100,000 contexts, five standard errors are
    below .005: a failure probability of 6e-7.
    """
    x = np.random.default_rng(3).random((100_000, 4))
    found = means(Lipschitz(relevant=relevant), x)
    assert abs((found.max(axis=1) - found.mean(axis=1)).mean() - (2 / math.pi) ** relevant / 2) < 0.0025


@pytest.mark.parametrize(
    ("world", "constant"),
    [
        (Lipschitz(relevant=3), math.pi * math.sqrt(3)),
        (Lipschitz(relevant=2, frequency=3.0), 3 * math.pi * math.sqrt(2)),
        (Lipschitz(form="sum", arms=5, relevant=3), math.pi / math.sqrt(3)),
    ],
)
def test_means_are_lipschitz_and_in_range(world: Lipschitz, constant: float) -> None:
    rng = np.random.default_rng(4)
    x = rng.random((5000, 4))
    near = x + 1e-4 * rng.standard_normal(x.shape)
    apart = np.abs(means(world, x) - means(world, near)).max(axis=1)
    assert (apart <= constant * np.linalg.norm(x - near, axis=1) * (1 + 1e-6)).all()
    assert (means(world, x) >= 0).all()
    assert (means(world, x) <= 1).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"relevant": 5}, "relevant must be at most the dimension 4, not 5"),
        ({"arms": 3}, 'form = "product" needs 2 arms, not 3'),
        ({"arms": 1}, 'form = "product" needs 2 arms, not 1'),
    ],
)
def test_refusals(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(CorralError, match=words):
        Lipschitz(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"relevant": 0}, {"dimension": 0}, {"frequency": math.nan}, {"noise": 0.0}, {"form": "produkt"}]
)
def test_wrong_values_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Lipschitz(**wrong)
