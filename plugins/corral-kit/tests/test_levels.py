"""Going down the levels, with an algorithm whose widths and indices are known beforehand."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from corral_kit.linear.levels import NOBODY, InLevels, LevelDecision, LevelsState
from corral_kit.linear.ridge import Ridge

from corral_core import Array, Feedback, Observation, Problem
from corral_core.selection.setup import given_rows

PROBLEM = Problem(arms=4, dimension=2, changing=True, masked=True, noise=1.0, horizon=100, delta=0.1)


@attrs.frozen
class Plain(InLevels):
    """theta_l = (1, 0) at all four levels, V = I always, and the index <x, theta_l>: widths are factor ||x||."""

    name = "plain"

    @property
    def levels(self) -> int:
        return 4

    @property
    def unit(self) -> float:
        return 2.0

    def init(self, given: Any, rng: np.random.Generator) -> LevelsState:
        state = LevelsState(Ridge.fresh((len(given), 4), 2, 1.0), np.asarray(given.scale), self.shown(given))
        state.ridge.theta[..., 0] = 1.0
        return state

    def _index(self, mean: Array, width: Array) -> Array:
        return mean

    def _teach(self, state: Any, rows: Array, level: Array, action: Array, x: Array, reward: Array) -> None:
        state.ridge.plays[rows, level] += 1
        state.ridge.response[rows, level] += x * reward[:, None]


def decide(features: list[list[float]], scale: float, mask: list[bool] | None = None) -> tuple[int, int]:
    base, rng = Plain(scale=scale).resolve(PROBLEM), np.random.default_rng(0)
    state = base.init(given_rows([base], {}, 1), rng)
    there = np.array([mask or [True] * 4])
    seen = Observation(np.array([features], dtype=float), there)
    decision = base.act(base.policy(state, np.array([0])), seen, rng)
    return int(decision.action[0]), int(decision.level[0])


@pytest.mark.parametrize(
    ("features", "scale", "expected"),
    [
        # wider than 2 2^-1: the first level, and the widest of all
        ([[1, 0], [0, 3], [2, 0], [0, 1]], 1.0, (1, 0)),
        # all widths are at most 1, so that arms within 2 of the largest mean go on; of these the widest is above 1/2
        ([[3, 0], [2.8, 2.8], [0.5, 3.9], [0, 1]], 0.25, (1, 1)),
        # all widths are at most 2/sqrt(100)
        ([[1, 0], [0, 3], [2, 0], [0, 1]], 0.05, (2, NOBODY)),
        # a tie of everything: the lowest index
        ([[1, 0], [1, 0], [1, 0], [1, 0]], 0.05, (0, NOBODY)),
    ],
)
def test_who_decides(features: list[list[float]], scale: float, expected: tuple[int, int]) -> None:
    assert decide(features, scale) == expected


def test_masked_arms_are_no_candidates() -> None:
    features = [[1.0, 0], [0, 3], [2, 0], [0, 1]]
    assert decide(features, 1.0, [True, False, True, False]) == (2, 0)
    assert decide(features, 0.05, [True, True, False, True]) == (0, NOBODY)


def test_only_the_level_that_decided_learns() -> None:
    base, rng = Plain(scale=1.0).resolve(PROBLEM), np.random.default_rng(0)
    state = base.init(given_rows([base], {}, 3), rng)
    seen = Observation(rng.standard_normal((3, 4, 2)), np.ones((3, 4), dtype=bool))
    decision = LevelDecision(np.array([0, 1, 2]), np.array([NOBODY, 0, 3]))
    base.learn(state, np.arange(3), Feedback(seen, decision, np.ones(3)), rng)
    assert state.ridge.plays.tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]]
    assert np.array_equal(state.ridge.response[2, 3], seen.features[2, 2])
    base.learn(state, np.arange(0), Feedback(seen.take(np.arange(0)), decision.take(np.arange(0)), np.ones(0)), rng)
