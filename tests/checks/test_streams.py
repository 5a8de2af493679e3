"""The stand-in generator: a row draws the same alone, among others and in another order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from corral_core.checks.streams import PARAMETERS, Misdrawn, Streams
from corral_core.rows import Array

ROWS = [4, 7, 9]
DRAWS: dict[str, Callable[[Any, Array], Any]] = {
    "random": lambda rng, rows: rng.random(len(rows)),
    "random of a shape": lambda rng, rows: rng.random((len(rows), 2, 3)),
    "random into an array": lambda rng, rows: rng.random(out=np.empty((len(rows), 2))),
    "single precision": lambda rng, rows: rng.random(len(rows), dtype=np.float32),
    "normal": lambda rng, rows: rng.normal(rows, 2.0),
    "normal with a size": lambda rng, rows: rng.normal(0.0, rows[:, None], size=(len(rows), 3)),
    "named parameters": lambda rng, rows: rng.normal(loc=rows * 1.0, scale=0.5),
    "integers": lambda rng, rows: rng.integers(5, size=len(rows)),
    "integers between": lambda rng, rows: rng.integers(0, rows + 1, size=len(rows), endpoint=True),
    "beta": lambda rng, rows: rng.beta(np.ones((len(rows), 3)), rows[:, None]),
    "gumbel": lambda rng, rows: rng.gumbel(size=(len(rows), 2)),
    "binomial": lambda rng, rows: rng.binomial(rows, 0.5),
    "exponential": lambda rng, rows: rng.standard_exponential((len(rows),), method="inv"),
    "choice": lambda rng, rows: rng.choice(6, size=(len(rows), 2), p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1]),
    "by position": lambda rng, rows: rng.integers(0, 1, len(rows), np.int32, True),
    "choice by position": lambda rng, rows: rng.choice(3, len(rows), True, [0.0, 0.0, 1.0]),
    "choice of words": lambda rng, rows: rng.choice(["left", "right"], size=len(rows)),
    "dirichlet": lambda rng, rows: rng.dirichlet([1.0, 2.0], size=len(rows)),
    "multinomial": lambda rng, rows: rng.multinomial(9, [0.5, 0.5], size=len(rows)),
    "multivariate normal": lambda rng, rows: rng.multivariate_normal([0, 1], np.eye(2), size=(len(rows), 3)),
    "permuted": lambda rng, rows: rng.permuted(np.tile(np.arange(5), (len(rows), 1)), axis=1),
    "spawned": lambda rng, rows: rng.spawn(2)[1].random(len(rows)),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_rows_draw_for_themselves(draw: Callable[[Any, Array], Any]) -> None:
    def drawn(order: list[int]) -> Any:
        return draw(Streams.seeded(1, order), np.array(order))

    together = drawn(ROWS)
    for place, row in enumerate(ROWS):
        np.testing.assert_array_equal(drawn([row])[0], together[place])
    np.testing.assert_array_equal(drawn([9, 4, 7]), together[[2, 0, 1]])
    ordinary = draw(np.random.default_rng(1), np.array(ROWS))
    assert together.shape == ordinary.shape
    assert together.dtype.kind == ordinary.dtype.kind


@pytest.mark.parametrize("name", [name for name in PARAMETERS if name not in ("integers", "hypergeometric")])
def test_every_distribution_is_known_by_its_parameters(name: str) -> None:
    """Given by position, the size comes where the generator has it."""
    values = {"triangular": (0.0, 0.5, 1.0)}.get(name, (0.5,) * PARAMETERS[name])
    values = (3, 0.5) if "binomial" in name else (2.0,) if name == "zipf" else values
    drawn = getattr(Streams.seeded(1, ROWS), name)(*values, (3, 2))
    assert drawn.shape == getattr(np.random.default_rng(1), name)(*values, (3, 2)).shape


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_no_rows_draw_nothing(draw: Callable[[Any, Array], Any]) -> None:
    nobody = np.zeros(0, dtype=int)
    drawn, ordinary = draw(Streams([]), nobody), draw(np.random.default_rng(1), nobody)
    assert drawn.shape == ordinary.shape
    assert drawn.dtype.kind == ordinary.dtype.kind


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda rng: rng.random(), "rng.random drew a single number for 3 rows"),
        (
            lambda rng: rng.random(2),
            r"rng.random drew shape \(2,\) for 3 rows; every draw must have rows as its first",
        ),
        (lambda rng: rng.normal(np.zeros((2, 3))), r"rng.normal drew shape \(2, 3\)"),
        (lambda rng: rng.permutation(3), "rng.permutation cannot be split by rows"),
        (lambda rng: rng.shuffle(np.arange(3)), "rng.shuffle cannot be split by rows"),
        (lambda rng: rng.permuted(np.zeros((3, 2))), "rng.permuted must shuffle within rows"),
        (lambda rng: rng.bit_generator, "rng.bit_generator cannot be split by rows"),
        (lambda rng: rng.choice(3, size=3, replace=False), "rng.choice without replacement"),
        (lambda rng: rng.choice(3, 3, False), "rng.choice without replacement"),
    ],
)
def test_draws_that_cannot_be_told_apart(draw: Callable[[Any], Any], sentence: str) -> None:
    with pytest.raises(Misdrawn, match=sentence):
        draw(Streams.seeded(1, ROWS))
