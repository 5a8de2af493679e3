"""Backward induction by loops and by arrays: the same bits, and the same for equal actions."""

from __future__ import annotations

import numpy as np
import pytest

from corral_core.environments.planning import backward, expected
from corral_core.kernels.induction import best_values
from corral_core.rows import Array
from corral_core.testing import same_bits

ROWS = (1, 2, 3, 17, 48, 512)

SIZES = [(1, 1), (1, 4), (6, 2), (9, 1), (17, 3)]


def drawn(rows: int, states: int, actions: int) -> tuple[Array, Array]:
    """Rewards of very different sizes, and transitions of which some end the episode; some actions are equal."""
    rng = np.random.default_rng(rows + states)
    shape = (rows, states, actions)
    reward = rng.standard_normal(shape) * 10.0 ** rng.integers(-12, 12, size=shape)
    transition = rng.dirichlet(np.ones(states + 1), size=shape)[..., :states]
    reward[..., -1], transition[:, :, -1] = reward[..., 0], transition[:, :, 0]
    return reward, np.ascontiguousarray(transition)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("states", "actions"), SIZES)
def test_loops_and_arrays_give_the_same_bits(rows: int, states: int, actions: int) -> None:
    """A row is the same alone."""
    reward, transition = drawn(rows, states, actions)
    found, _ = same_bits(best_values, reward, transition, 7)
    np.testing.assert_array_equal(found[-1:], best_values.arrays(reward[-1:], transition[-1:], 7))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("states", "actions"), SIZES)
def test_equal_actions_have_equal_values(rows: int, states: int, actions: int) -> None:
    found = best_values.arrays(*drawn(rows, states, actions), 7)
    np.testing.assert_array_equal(found[..., 0], found[..., -1])


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(("states", "actions"), SIZES)
def test_it_is_the_induction_of_any_backup(rows: int, states: int, actions: int) -> None:
    """A backup of an author takes its own way, stage by stage."""
    reward, transition = drawn(rows, states, actions)
    sizes = {"rows": rows, "states": states, "stages": 7}
    backup = expected(reward, transition)
    own = backward(lambda stage, value: backup(stage, value), **sizes)
    np.testing.assert_array_equal(backward(backup, **sizes), own)
