"""Numbers in a range: both twins, at the ends of the range and beyond, and what is not a number."""

import numpy as np
import pytest

from corral_core.kernels.ranges import are_choices, in_range, within
from corral_core.testing import same_bits

ROWS = (1, 2, 3, 17, 48, 512)

EDGES = [np.nextafter(0.0, -1.0), -0.0, 0.0, 0.5, 1.0, np.nextafter(1.0, 2.0), np.inf, -np.inf, np.nan, 5e-324, -5e-324]


def both(values: np.ndarray, least: float, most: float) -> bool:
    """The answer, after both twins of the kernel have given it."""
    found = in_range(values, least, most)
    assert isinstance(found, bool)
    if values.size:
        assert same_bits(within, values, least, most)[0] == found
    return found


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("rows", ROWS)
def test_floats(rows: int, edge: float) -> None:
    values = np.random.default_rng(rows).random(rows)
    assert both(values, 0.0, 1.0)
    for place in {0, rows // 2, rows - 1}:
        there = values.copy()
        there[place] = edge
        assert both(there, 0.0, 1.0) == (0 <= edge <= 1)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16])
@pytest.mark.parametrize("rows", ROWS)
def test_integers(rows: int, kind: type[np.signedinteger]) -> None:
    values = np.random.default_rng(rows).integers(0, 5, rows).astype(kind)
    limits = np.iinfo(kind)
    for edge in (0, 4, 5, limits.min, limits.max, *([-1] if limits.min else [])):
        values[rows - 1] = edge
        assert both(values, 0, 4) == (0 <= edge <= 4)
        assert both(values, 1, 4) == bool((values >= 1).all() and (values <= 4).all())


def test_no_numbers() -> None:
    assert both(np.zeros(0), 0.0, 1.0)
    assert both(np.zeros(0, np.int64), 0, 3)


@pytest.mark.parametrize("rows", ROWS)
def test_choices(rows: int) -> None:
    chosen = np.arange(rows) % 3
    probability = np.full(rows, 0.4)
    assert same_bits(are_choices, chosen, probability, 3)[0]
    for place in {0, rows // 2, rows - 1}:
        for base, p, fits in (
            *((base, 0.4, 0 <= base < 3) for base in (-1, 0, 2, 3, np.iinfo(np.int64).min)),
            *((0, edge, 0 < edge <= 1) for edge in EDGES if edge != np.nextafter(1.0, 2.0)),
            (0, np.nextafter(1.0, 2.0), True),  # sums of probabilities may miss one
            (0, 1.001, False),
        ):
            there, shares = chosen.copy(), probability.copy()
            there[place], shares[place] = base, p
            assert same_bits(are_choices, there, shares, 3)[0] == fits


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("most", [250, 2**31, 2**63 - 1, np.inf])
def test_negative_numbers_below_a_limit_that_the_type_cannot_hold(kind: type, most: float) -> None:
    assert both(np.array([1, 0, 3], kind), 0, most)
    assert not both(np.array([1, -7, 3], kind), 0, most)
