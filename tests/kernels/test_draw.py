"""Drawing a base per row: both twins give the same bits, and rows do not depend on each other."""

import numpy as np
import pytest

from corral_core.kernels.draw import draw
from corral_core.testing import bits, same_bits

ROWS = (1, 2, 3, 17, 48, 512)

WEIGHTS = {
    "random": lambda rng, shape: rng.random(shape),
    "of all sizes": lambda rng, shape: 10.0 ** rng.uniform(-300, 300, shape),
    "equal": lambda rng, shape: np.full(shape, 1 / shape[0]),
    "one is certain": lambda rng, shape: (np.arange(shape[0])[:, None] == rng.integers(0, shape[0], shape[1])) * 1.0,
    "some are zero": lambda rng, shape: np.maximum(rng.random(shape) - 0.5, 0) + (np.arange(shape[0]) == 0)[:, None],
}
UNIFORM = {
    "random": lambda rng, rows: rng.random(rows),
    "least": lambda rng, rows: np.zeros(rows),
    "most": lambda rng, rows: np.full(rows, np.nextafter(1.0, 0.0)),
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("at", UNIFORM)
@pytest.mark.parametrize("rows", [*ROWS, 127, 128, 129])
@pytest.mark.parametrize("bases", [1, 2, 3, 5, 18, 64])
def test_same_bits(bases: int, rows: int, at: str, kind: str) -> None:
    rng = np.random.default_rng([bases, rows])
    weights, uniform = WEIGHTS[kind](rng, (bases, rows)), UNIFORM[at](rng, rows)
    (chosen, probability), given = same_bits(draw, weights, uniform)
    assert bits(list(given)) == bits([weights, uniform]), "it changes nothing"
    assert chosen.dtype == np.intp
    total = weights[0].copy()
    for other in weights[1:]:
        total += other
    assert (probability == weights[chosen, np.arange(rows)] / total).all()
    assert (weights[chosen, np.arange(rows)] > 0).all(), "a base without weight is never drawn"
    for row in {0, rows // 2, rows - 1}:
        alone = draw.arrays(weights[:, row : row + 1].copy(), uniform[row : row + 1])
        assert bits(list(alone)) == bits([chosen[row : row + 1], probability[row : row + 1]])


def test_weights_that_are_views() -> None:
    rng = np.random.default_rng(5)
    weights = rng.random((7, 2, 40))[:, 1, ::2]
    same_bits(draw, np.ascontiguousarray(weights), rng.random(20))
    copied = draw.arrays(np.ascontiguousarray(weights), np.full(20, 0.3))
    assert bits(list(draw.arrays(weights, np.full(20, 0.3)))) == bits(list(copied))


def test_where_a_base_begins() -> None:
    """u = 1/4 of four equal weights is the beginning of the second base."""
    weights = np.ones((4, 6))
    uniform = np.array([0.0, 0.25, np.nextafter(0.25, 0), 0.5, 0.75, np.nextafter(1, 0)])
    (chosen, probability), _ = same_bits(draw, weights, uniform)
    assert chosen.tolist() == [0, 1, 0, 2, 3, 3]
    assert (probability == 0.25).all()
