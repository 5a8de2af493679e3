"""Policies that are tables: as small as they can be, and drawn as they say."""

from __future__ import annotations

import numpy as np
import pytest
from corral_kit.tabular.tables import draw, look_up, probabilities, table, ties

from corral_core import Observation


def at(rows: int, stages: int, states: int, seed: int = 1) -> Observation:
    rng = np.random.default_rng(seed)
    stage = np.full(rows, rng.integers(stages))
    return Observation(state=rng.integers(states, size=rows), stage=stage, alive=np.ones(rows, dtype=bool))


@pytest.mark.parametrize(("actions", "bytes_each"), [(2, 1), (127, 1), (128, 2), (40_000, 8)])
def test_a_table_is_small_and_looks_up_the_first_of_the_best(actions: int, bytes_each: int) -> None:
    values = np.random.default_rng(2).integers(0, 3, size=(4, 2, 3, actions)).astype(float)
    policy = table(values)
    assert policy.action.itemsize == bytes_each
    observation = at(4, 2, 3)
    found = look_up(policy, observation)
    for row in range(4):
        mine = values[row, observation.stage[row], observation.state[row]]  # type: ignore[index]
        assert found[row] == np.flatnonzero(mine == mine.max())[0]


@pytest.mark.parametrize("actions", [1, 3, 8, 9, 20])
def test_ties_take_a_bit_each_and_only_the_best_are_drawn(actions: int) -> None:
    values = np.random.default_rng(3).integers(0, 2, size=(300, 2, 3, actions)).astype(float)
    policy = ties(values, np.zeros(300))
    assert policy.best.shape == (300, 2, 3, -(-actions // 8)) and policy.best.itemsize == 1
    observation = at(300, 2, 3)
    found = draw(policy, observation, actions, np.random.default_rng(4))
    mine = values[np.arange(300), observation.stage, observation.state]
    assert (mine[np.arange(300), found] == mine.max(axis=1)).all()


def test_ties_are_drawn_uniformly_and_epsilon_of_the_time_anything() -> None:
    """Two of four are best: (2 - epsilon)/4 and epsilon/4. 40,000 draws, 4.5 standard errors: 1e-5 each."""
    rows, epsilon = 40_000, 0.3
    values = np.broadcast_to([0.0, 1.0, 0.5, 1.0], (rows, 1, 1, 4))
    policy = ties(values, np.full(rows, epsilon))
    here = Observation(state=np.zeros(rows, dtype=int), stage=np.zeros(rows, dtype=int))
    share = np.bincount(draw(policy, here, 4, np.random.default_rng(5)), minlength=4) / rows
    p = np.array([epsilon / 4, 0.5 - epsilon / 4, epsilon / 4, 0.5 - epsilon / 4])
    assert (np.abs(share - p) < 4.5 * np.sqrt(p * (1 - p) / rows)).all()
    np.testing.assert_allclose(probabilities(policy, here, 4)[::9999], np.tile(p, (5, 1)), rtol=1e-15)
