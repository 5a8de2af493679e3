"""What several tests of linear bases draw."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from corral_core import Array, Observation
from corral_core.protocols.problem import NOTHING

Observed = Callable[[str, Array, np.random.Generator], tuple[Array, Array, Observation]]


@pytest.fixture
def observed() -> Observed:
    """A function that draws a play: its features and mask, and what is shown of them."""

    def draw(kind: str, features: Array, rng: np.random.Generator) -> tuple[Array, Array, Observation]:
        rows, arms, _ = features.shape
        if kind != "fixed":
            features = rng.standard_normal(features.shape) / 2
        mask = np.ones((rows, arms), dtype=bool)
        if kind == "masked":
            mask = rng.random((rows, arms)) < 0.5
            mask[np.arange(rows), rng.integers(0, arms, rows)] = True
        shown = {"fixed": NOTHING, "changing": Observation(features), "masked": Observation(features, mask)}[kind]
        return features, mask, shown

    return draw
