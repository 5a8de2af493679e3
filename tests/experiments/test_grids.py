"""Grids: lists, geometric sequences, powers of two, products; values that follow the horizon."""

from itertools import pairwise
from typing import Any

import pytest

from corral_core.errors import CorralError
from corral_core.experiments.grids import MOST, expand, follow_horizon, product


def test_a_list_is_itself() -> None:
    assert expand([3, "a", 1], "grid") == [3, "a", 1]


def test_a_geometric_grid_has_equal_ratios_and_exact_ends() -> None:
    values = expand({"geometric": [1, 100_000], "count": 18}, "grid")
    assert (values[0], values[-1], len(values)) == (1.0, 100_000.0, 18)
    ratio = 100_000 ** (1 / 17)
    assert [after / before for before, after in pairwise(values)] == pytest.approx([ratio] * 17)
    assert expand({"geometric": [3, 3], "count": 2}, "grid") == [3.0, 3.0]
    assert expand({"geometric": [2, 8], "count": 1}, "grid") == [2.0]


@pytest.mark.parametrize(
    ("ends", "values"),
    [([1, 64], [1, 2, 4, 8, 16, 32, 64]), ([3, 9], [4, 8]), ([0.25, 1], [0.25, 0.5, 1]), ([4, 4], [4])],
)
def test_powers_of_two_lie_between_the_ends(ends: list[float], values: list[float]) -> None:
    assert expand({"powers-of-two": ends}, "grid") == values


def test_every_power_of_two_is_found() -> None:
    """Logarithms are rounded; no exponent may fall through."""
    assert all(expand({"powers-of-two": [2**k, 2**k]}, "grid") == [2**k] for k in range(60))


def test_a_product_combines_every_value_with_every_other() -> None:
    assert product({"a": [1, 2], "b": {"powers-of-two": [1, 2]}}, "grid") == [
        {"a": 1, "b": 1},
        {"a": 1, "b": 2},
        {"a": 2, "b": 1},
        {"a": 2, "b": 2},
    ]
    assert product({}, "grid") == [{}]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("horizon", 1000),
        ("2 * horizon", 2000),
        (" 0.5*horizon ", 500),
        ("0.0015 * horizon", 1.5),
        ("horizontal", "horizontal"),
        ("-1 * horizon", "-1 * horizon"),
        ({"a": ["horizon", {"b": "3 * horizon"}]}, {"a": [1000, {"b": 3000}]}),
        (True, True),
    ],
)
def test_values_follow_the_horizon(written: Any, read: Any) -> None:
    assert follow_horizon(written, 1000) == read


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ([], "grid is an empty grid"),
        ({"powers-of-two": [5, 7]}, "grid is an empty grid"),
        ({"geometric": [2, 1], "count": 2}, "grid.geometric must be two positive numbers, the smaller first"),
        ({"geometric": [1, 2], "count": 0}, f"grid.count must be a whole number from 1 to {MOST:,}, not 0"),
        ({"geometric": [1, 2], "count": MOST + 1}, "grid.count must be"),
        ({"linear": [1, 2]}, "grid must be a list, geometric or powers-of-two"),
        ("1, 2", "grid must be a list, geometric or powers-of-two, not '1, 2'"),
    ],
)
def test_a_wrong_grid_is_refused(grid: Any, said: str) -> None:
    with pytest.raises(CorralError) as caught:
        expand(grid, "grid")
    assert str(caught.value).startswith(said)


def test_a_product_beyond_measure_is_refused() -> None:
    with pytest.raises(CorralError, match="more than 10,000 combinations"):
        product({"a": list(range(101)), "b": list(range(100))}, "grid")
