"""The best transition within a distance, in closed form, compared with a linear program and a loop.

At the last stage an action pays its reward; at the one before also the mean of the values to come. So two stages, with
one action that pays V(s) and is better than anything else, show <p', V>.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from corral_tabular.optimism import optimistic_values
from scipy.optimize import linprog

from corral_core import Array

sys.path.insert(0, str(Path(__file__).parent))
from loops import hopeful, plan


def onward(p: Array, width: Array, value: Array) -> Array:
    """<p', V> for p (rows, states, actions, states), widths (rows, states, actions) and V (rows, states) >= 0."""
    found = []
    for action in range(p.shape[2]):
        # The first action is the one that we ask about; the second pays V at the last stage.
        reward = np.stack([np.zeros_like(value), value], axis=2)
        pairs = np.ascontiguousarray(p[:, :, [action, action]])
        widths = np.ascontiguousarray(width[:, :, [action, action]])
        found.append(optimistic_values(reward, pairs, widths, 2, False)[:, 0, :, 0])
    return np.stack(found, axis=2)


@pytest.mark.parametrize("outcomes", [1, 2, 5, 7])
def test_no_plausible_transition_is_better(outcomes: int) -> None:
    """max <p', V> over p' >= 0 with sum 1 and |p' - p|_1 <= w, by a linear program in p' and d >= |p' - p|."""
    rng = np.random.default_rng(outcomes)
    p = rng.dirichlet(np.full(outcomes, 0.5), size=(3, outcomes, 2))
    width, value = 2.2 * rng.random((3, outcomes, 2)), rng.random((3, outcomes))
    found = onward(p, width, value)
    eye, zero, one = np.eye(outcomes), np.zeros(outcomes), np.ones(outcomes)
    for at in np.ndindex(3, outcomes, 2):
        limits = np.vstack([np.hstack([eye, -eye]), np.hstack([-eye, -eye]), np.hstack([zero, one])])
        sides = np.concatenate([p[at], -p[at], [width[at]]])
        cost = np.concatenate([-value[at[0]], zero])
        best = linprog(cost, limits, sides, np.concatenate([one, zero])[None], [1.0], bounds=(0, None))
        assert found[at] == pytest.approx(-best.fun, abs=1e-9)


def test_it_is_the_loop_of_the_source() -> None:
    """300 models of 4 stages, 5 states and an end, with outcomes of probability zero and few different rewards."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(6, 0.3), size=(300, 5, 2)) * (rng.random((300, 5, 2, 6)) < 0.8)
    p[..., 0] += 1 - p.sum(axis=-1)
    width, reward = 2 * rng.random((300, 5, 2)), rng.integers(0, 3, size=(300, 5, 2)) / 2
    found = optimistic_values(reward, p, width, 4, False)
    for row in range(300):

        def worth(state: int, action: int, following: list[float], row: int = row) -> float:
            at = row, state, action
            return float(reward[at] + np.dot(hopeful(p[at].tolist(), width[at], following), following))

        np.testing.assert_allclose(found[row], plan(4, 5, 2, worth), rtol=1e-12)


@pytest.mark.parametrize("rows", [1, 2, 3, 512])
@pytest.mark.parametrize("aliased", [False, True])
@pytest.mark.parametrize(("states", "actions", "end"), [(1, 1, 0), (1, 2, 1), (6, 2, 0), (5, 3, 1), (12, 1, 1)])
def test_loops_and_arrays_give_the_same_bits(rows: int, aliased: bool, states: int, actions: int, end: int) -> None:
    """With ties, huge and tiny rewards, and widths of zero; a row is the same alone, and the model stays as it was."""
    pytest.importorskip("numba")
    rng = np.random.default_rng(rows)
    shape = (rows, states, actions)
    p = rng.dirichlet(np.full(states + end, 0.3), size=shape)
    reward = rng.integers(-2, 3, size=shape) * 10.0 ** rng.integers(-12, 12, size=shape)
    width = np.where(rng.random(shape) < 0.3, 0.0, 2 * rng.random(shape))
    before = p.copy()
    arrays = optimistic_values.arrays(reward, p, width, 4, aliased)
    loops = optimistic_values.compiled(reward, p, width, 4, aliased)
    alone = optimistic_values.arrays(reward[-1:], p[-1:], width[-1:], 4, aliased)
    np.testing.assert_array_equal(arrays, loops)
    np.testing.assert_array_equal(arrays[-1:], alone)
    np.testing.assert_array_equal(p, before)
