"""Sums in numpy that are, bit for bit, those of a loop."""

import numpy as np
import pytest

from corral_core.kernels.sums import products, summed

ROWS = (1, 2, 3, 17, 48, 512)

KINDS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "of all sizes": lambda rng, shape: rng.standard_normal(shape) * 10.0 ** rng.integers(-300, 300, shape),
    "that cancel": lambda rng, shape: 1e16 * rng.choice([-1.0, 1.0], shape) + rng.standard_normal(shape),
    "tiny": lambda rng, shape: rng.random(shape) * 5e-324 + 1e-310,
    "infinite": lambda rng, shape: rng.choice([1.0, np.inf], shape),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("terms", [1, 2, 3, 7, 8, 9, 18, 64, 129, 1000])
def test_one_term_after_the_other(terms: int, rows: int, kind: str) -> None:
    values = KINDS[kind](np.random.default_rng([terms, rows]), (terms, rows))
    expected = values[0].copy()
    for term in values[1:]:
        expected += term
    assert summed(values).tobytes() == expected.tobytes()
    assert summed(values.copy()[:, :1]).tobytes() == expected[:1].tobytes(), "the same alone"


@pytest.mark.parametrize("rest", [(2, 3), (1, 4), (4, 1), (1, 1), (5, 2, 2)])
def test_more_axes(rest: tuple[int, ...]) -> None:
    values = np.random.default_rng(3).standard_normal((40, *rest))
    assert summed(values).shape == rest
    assert summed(values).tobytes() == sum(values[1:], values[0]).tobytes()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 1), (0, 0)])
def test_nothing_to_sum(shape: tuple[int, int]) -> None:
    assert summed(np.zeros(shape)).tobytes() == np.zeros(shape[1]).tobytes()


def test_products_are_in_c_order() -> None:
    """So that they can be summed, whatever the order of the factors."""
    rng = np.random.default_rng(4)
    one, other = rng.standard_normal((300, 5)), rng.standard_normal((5, 300))
    for factors in ((one, other.T), (one.T.copy().T, other.T), (one, 2.0)):
        found = products(*factors)
        assert found.flags.c_contiguous
        assert found.tobytes() == np.ascontiguousarray(factors[0] * factors[1]).tobytes()
