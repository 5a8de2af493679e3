"""The loops of epsilon-greedy: both twins, against the formulas and a closed form."""

from __future__ import annotations

import numpy as np
import pytest
from corral_mab.exploring import LEAST, explored, learned, rates

from corral_core.testing import same_bits

ROWS = [1, 2, 48, 512]
EDGES = np.array([0.0, 5e-324, 1e-30, 0.5, np.nextafter(1.0, 0.0)])


@pytest.mark.parametrize("rows", ROWS)
def test_rates(rows: int) -> None:
    rng = np.random.default_rng(rows)
    c, played = 10.0 ** rng.uniform(-40, 40, rows), rng.integers(0, 10**9, rows).astype(float)
    for some in (np.arange(rows), rng.permutation(rows)[: rows // 2]):
        with np.errstate(over="ignore"):
            found, _ = same_bits(rates, c, played, some)
        assert found.dtype == np.float32 and (found > 0).all()
        exact = np.maximum(c[some] / (played[some] + 1), LEAST)
        small = exact < 1e38
        np.testing.assert_allclose(found[small], exact[small], rtol=1e-7)


@pytest.mark.parametrize("arms", [1, 2, 7])
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", [np.int16, np.int64])
def test_explored(rows: int, arms: int, kind: type) -> None:
    rng = np.random.default_rng([rows, arms])
    greedy = rng.integers(0, arms, rows).astype(kind)
    for uniform in (rng.random(rows), rng.choice(EDGES, rows)):
        for rate in (10.0 ** rng.uniform(-30, 2, rows), rng.choice([1.0, 0.5, 1e-30, np.inf], rows)):
            found, _ = same_bits(explored, uniform, rate.astype(np.float32), greedy, arms)
            assert found.dtype == np.intp and found.min() >= 0 and found.max() < arms
            capped = np.minimum(rate.astype(np.float32), 1.0).astype(float)
            assert (found[uniform >= capped] == greedy[uniform >= capped]).all()


def test_one_number_decides_both() -> None:
    """At rate 1/2 of three arms each sixth of [0, 1/2) is an arm, and the rest is the greedy one."""
    uniform = (np.arange(12) + 0.5) / 12
    found, _ = same_bits(explored, uniform, np.full(12, 0.5, np.float32), np.full(12, 2, np.int16), 3)
    assert found.tolist() == [0, 0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("arms", [1, 2, 7])
@pytest.mark.parametrize("rows", ROWS)
def test_learned(rows: int, arms: int) -> None:
    """Ties go to the lowest arm, and arms that were never pulled have an infinite mean."""
    rng = np.random.default_rng([rows, arms])
    mean = rng.choice([0.1, 0.2, 0.3, np.inf], (rows, arms))
    greedy, played = np.full(rows, arms - 1, np.int16), np.arange(rows, dtype=float)
    some = np.sort(rng.permutation(rows)[: rows // 2 + 1])
    _, (_, now, counted, _) = same_bits(learned, mean, greedy, played, some)
    assert now[some].tolist() == mean[some].argmax(axis=1).tolist()
    expected = played.copy()
    expected[some] += 1
    assert counted.tolist() == expected.tolist()
