"""Steps of finite MDPs by loops and by arrays: the same bits, and those of plain indexing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corral_core.kernels.outcomes import episode_regret, stepped
from corral_core.rows import Array
from corral_core.testing import same_bits

ROWS = (1, 2, 3, 17, 48, 512)

STAGES, STATES, ACTIONS, OUTCOMES = 4, 5, 3, 6


def model(rng: Any, worlds: int, stages: int, rewards: int) -> tuple[Array, Array, Array, Array]:
    """Cumulative probabilities, of which many are zero; rewards, next states and ends."""
    shape = (worlds, stages, STATES, ACTIONS, OUTCOMES)
    weight = rng.random(shape) * (rng.random(shape) < 0.5)
    weight[..., 2] += 1e-300
    cumulative = np.cumsum(weight, axis=-1)
    cumulative /= cumulative[..., -1:].copy()
    reward = rng.standard_normal((*shape[:4], rewards)) * 10.0 ** rng.integers(-9, 9, (*shape[:4], rewards))
    return cumulative, reward, rng.integers(STATES, size=shape), rng.random(shape) < 0.3


def taken(rng: Any, rows: int) -> tuple[Array, Array, Array]:
    """States, actions and uniform numbers, both extremes among them."""
    uniform = rng.random(rows)
    uniform[::3], uniform[1::3] = 0.0, np.nextafter(1.0, 0.0)
    return rng.integers(STATES, size=rows), rng.integers(ACTIONS, size=rows), uniform


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("own", [False, True], ids=["one world", "a world per row"])
@pytest.mark.parametrize("stages", [1, STAGES])
@pytest.mark.parametrize("rewards", [1, OUTCOMES])
def test_a_step_is_that_of_the_table(rows: int, own: bool, stages: int, rewards: int) -> None:
    rng = np.random.default_rng(rows)
    worlds, stage = rows if own else 1, stages - 1
    cumulative, reward, following, ends = model(rng, worlds, stages, rewards)
    state, action, uniform = taken(rng, rows)
    to, paid, over = stepped.arrays(cumulative, reward, following, ends, stage, state, action, uniform)
    for row in range(rows):
        at = (row if own else 0, stage, state[row], action[row])
        outcome = int((cumulative[at] <= uniform[row]).sum())
        assert (to[row], over[row]) == (following[at][outcome], ends[at][outcome])
        assert paid[row] == reward[at][outcome if rewards > 1 else 0]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("own", [False, True], ids=["one world", "a world per row"])
@pytest.mark.parametrize("stages", [1, STAGES])
@pytest.mark.parametrize("rewards", [1, OUTCOMES])
@pytest.mark.parametrize("told", [False, True], ids=["outcomes are states", "next states and ends"])
def test_a_step_has_the_same_bits_both_ways(rows: int, own: bool, stages: int, rewards: int, told: bool) -> None:
    rng = np.random.default_rng(rows)
    cumulative, reward, following, ends = model(rng, rows if own else 1, stages, rewards)
    table = (cumulative, reward, following, ends) if told else (cumulative, reward, None, None)
    state, action, uniform = taken(rng, rows)
    (to, paid, over), _ = same_bits(stepped, *table, stages - 1, state, action, uniform)
    assert (to.dtype, paid.dtype) == (np.intp, np.float64)
    assert (over is None) == (not told)


@pytest.mark.parametrize(("state", "action"), [(STATES, 0), (-1, 0), (0, ACTIONS), (0, -1)])
def test_no_table_is_read_where_it_has_nothing(state: int, action: int) -> None:
    cumulative, reward, following, ends = model(np.random.default_rng(1), 1, 1, 1)
    at = np.array([0, state]), np.array([0, action]), np.zeros(2)
    for step in (stepped.arrays, stepped.loops):
        with pytest.raises(ValueError):
            step(cumulative, reward, following, ends, 0, *at)


@pytest.mark.parametrize(("worlds", "stage"), [(2, 0), (4, 0), (3, STAGES), (3, -1), (1, 50)])
def test_no_world_or_stage_is_read_that_there_is_not(worlds: int, stage: int) -> None:
    table = model(np.random.default_rng(1), worlds, STAGES, 1)
    for step in (stepped.arrays, stepped.loops):
        with pytest.raises(ValueError, match="there is no such world, stage"):
            step(*table, stage, np.zeros(3, np.intp), np.zeros(3, np.intp), np.zeros(3))


@pytest.mark.parametrize(
    ("worlds", "steps", "state", "action"),
    [(2, 1, 0, 0), (1, STAGES + 1, 0, 0), (1, 1, STATES, 0), (1, 1, -1, 0), (1, 1, 0, ACTIONS), (1, 1, 0, -1)],
)
def test_no_regret_is_read_that_there_is_not(worlds: int, steps: int, state: int, action: int) -> None:
    optimal, shape = np.zeros((worlds, STAGES, STATES, ACTIONS)), (3, steps)
    for regret in (episode_regret.arrays, episode_regret.loops):
        with pytest.raises(ValueError, match="there is no such world, stage"):
            regret(optimal, np.full(shape, state), np.full(shape, action), np.ones(shape, np.bool_))


def gaps(optimal: Array, state: Array, action: Array, alive: Array) -> Array:
    """By plain indexing."""
    found = np.zeros(len(state))
    for row, step in np.argwhere(alive):
        values = optimal[row if len(optimal) > 1 else 0, step, state[row, step]]
        found[row] += values.max() - values[action[row, step]]
    return found


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("own", [False, True], ids=["one world", "a world per row"])
@pytest.mark.parametrize("steps", [1, 2, STAGES])
def test_regret_is_the_sum_of_gaps(rows: int, own: bool, steps: int) -> None:
    """Also if nobody took all the stages; a row's regret is the same alone."""
    rng = np.random.default_rng(rows)
    optimal = rng.standard_normal((rows if own else 1, STAGES, STATES, ACTIONS)) * 10.0 ** rng.integers(-9, 9, ACTIONS)
    state, action = rng.integers(STATES, size=(rows, steps)), rng.integers(ACTIONS, size=(rows, steps))
    alive = np.arange(steps) < rng.integers(1, steps + 1, size=(rows, 1))
    found, _ = same_bits(episode_regret, optimal, state, action, alive)
    np.testing.assert_array_equal(found, gaps(optimal, state, action, alive))
    alone = episode_regret.arrays(optimal[-1:], state[-1:], action[-1:], alive[-1:])
    np.testing.assert_array_equal(found[-1:], alone)
