"""Index policies: both twins, against plain indexing; ties, infinities and what is not a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corral_kit.indices import largest, largest_bound, pulled, replaced

from corral_core.kernels.twins import is_installed
from corral_core.testing import same_bits

ROWS = [1, 2, 48, 512]
ARMS = [1, 2, 3, 17, 50]
SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 5e-324, 1e300]


def values(rng: Any, shape: tuple[int, ...], kind: str) -> Any:
    if kind == "ties":
        return rng.integers(0, 3, shape).astype(float)
    if kind == "special":
        return rng.choice(SPECIAL, shape)
    return rng.standard_normal(shape) * 10.0 ** rng.integers(-20, 20, shape)


def some_of(rng: Any, rows: int) -> list[Any]:
    return [np.arange(rows), np.sort(rng.permutation(rows)[: rows // 2]), np.zeros(0, np.intp)]


@pytest.mark.parametrize("kind", ["of all sizes", "ties", "special"])
@pytest.mark.parametrize("arms", ARMS)
@pytest.mark.parametrize("rows", ROWS)
def test_largest(rows: int, arms: int, kind: str) -> None:
    rng = np.random.default_rng([rows, arms])
    index = values(rng, (rows, arms), kind)
    for some in some_of(rng, rows):
        found = largest(index, some)
        assert found.dtype == np.intp
        assert found.tolist() == index[some].argmax(axis=1).tolist()


@pytest.mark.filterwarnings("ignore:invalid value")  # inf - inf
@pytest.mark.parametrize("kind", ["of all sizes", "ties", "special"])
@pytest.mark.parametrize("arms", ARMS)
@pytest.mark.parametrize("rows", ROWS)
def test_largest_bound(rows: int, arms: int, kind: str) -> None:
    rng = np.random.default_rng([rows, arms, 1])
    mean, squared = values(rng, (rows, arms), kind), values(rng, (rows, arms), kind)
    for some in some_of(rng, rows):
        radius = rng.random(len(some))
        found, _ = same_bits(largest_bound, mean, squared, radius, some)
        assert found.dtype == np.intp
        with np.errstate(invalid="ignore"):
            bound = np.sqrt(np.maximum(squared[some], 0.0)) * radius[:, None] + mean[some]
        assert found.tolist() == bound.argmax(axis=1).tolist()


@pytest.mark.parametrize("arms", ARMS)
@pytest.mark.parametrize("rows", ROWS)
def test_pulled_and_replaced(rows: int, arms: int) -> None:
    """Many pulls: means are those of the rewards, and the index is that of its formula."""
    rng = np.random.default_rng([rows, arms, 2])
    pulls, total, mean = np.zeros((rows, arms)), np.zeros((rows, arms)), np.full((rows, arms), np.inf)
    index, factor = mean.copy(), rng.random(rows)
    seen: dict[tuple[int, int], list[float]] = {}
    for turn in range(30):
        some = some_of(rng, rows)[turn % 3]
        arm, reward = rng.integers(0, arms, len(some)), values(rng, (len(some),), "of all sizes")
        (n, now), (pulls, total, mean, *_) = same_bits(pulled, pulls, total, mean, some, arm, reward)
        for place, key in enumerate(zip(some.tolist(), arm.tolist(), strict=True)):
            seen.setdefault(key, []).append(reward[place])
            assert n[place] == pulls[key] == len(seen[key])
            assert now[place] == mean[key] == total[key] / n[place]
            assert total[key] == pytest.approx(sum(seen[key]), rel=1e-12)
        log = np.log1p(n) + 3
        _, (index, *_) = same_bits(replaced, index, some, arm, now, factor, log, n)
        expected = now + factor[some] * (np.sqrt((1 + n) * log) / n)
        assert index[some, arm].tolist() == expected.tolist()
    untouched = np.ones((rows, arms), bool)
    for key in seen:
        untouched[key] = False
    assert np.isinf(index[untouched]).all() and np.isinf(mean[untouched]).all() and not pulls[untouched].any()


@pytest.mark.parametrize("arm", [-1, 3])
def test_an_arm_that_is_not_there_is_refused_and_nothing_changes(arm: int) -> None:
    for twin in (pulled.arrays, pulled.loops, *([pulled.compiled] if is_installed() else [])):
        pulls, total, mean = np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3))
        with pytest.raises(ValueError, match="only from its own arms"):
            twin(pulls, total, mean, np.arange(2), np.array([1, arm]), np.ones(2))
        assert not pulls.any() and not total.any()
