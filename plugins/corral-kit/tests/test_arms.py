"""The best of finitely many arms, and probabilities of arms."""

from __future__ import annotations

import numpy as np
import pytest
from corral_kit.linear.arms import best_arm, certain

from corral_core import CorralError
from corral_core.bases import policies


def test_the_best_arm_is_the_core_s() -> None:
    rng = np.random.default_rng(1)
    index, mask = rng.integers(0, 3, size=(200, 4)).astype(float), rng.random((200, 4)) < 0.6
    mask[:, 0] |= ~mask.any(axis=1)
    assert (best_arm(index, None) == policies.best_arm(index)).all()
    assert (best_arm(index, mask) == policies.best_arm(index, mask)).all()
    for row in range(200):
        there = np.flatnonzero(mask[row])
        assert best_arm(index, mask)[row] == max(there, key=lambda arm: (index[row, arm], -arm))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_only_the_index_of_an_available_arm_must_be_finite(wrong: float) -> None:
    index, mask = np.array([[0.0, 1.0], [2.0, wrong]]), np.array([[True, True], [True, False]])
    assert best_arm(index, mask).tolist() == [1, 0]
    with pytest.raises(CorralError, match="arm 1 of row 1 cannot be valued"):
        best_arm(index, None)


def test_probabilities() -> None:
    assert certain(np.array([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
