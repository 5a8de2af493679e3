"""The best transition within a distance, in closed form, compared with a linear program and a loop."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from corral_tabular.optimism import optimistic
from scipy.optimize import linprog

sys.path.insert(0, str(Path(__file__).parent))
from loops import hopeful


@pytest.mark.parametrize("outcomes", [1, 2, 5, 7])
def test_no_plausible_transition_is_better(outcomes: int) -> None:
    """max <p', V> over p' >= 0 with sum 1 and |p' - p|_1 <= w, by a linear program in p' and d >= |p' - p|."""
    rng = np.random.default_rng(outcomes)
    p = rng.dirichlet(np.full(outcomes, 0.5), size=(3, 4, 2))
    width, value = 2.2 * rng.random((3, 4, 2)), rng.random((3, outcomes))
    found = optimistic(p, width, value)
    assert found.min() >= 0 and np.abs(found.sum(axis=-1) - 1).max() < 1e-14
    assert (np.abs(found - p).sum(axis=-1) <= width + 1e-12).all()
    eye, zero, one = np.eye(outcomes), np.zeros(outcomes), np.ones(outcomes)
    for at in np.ndindex(3, 4, 2):
        limits = np.vstack([np.hstack([eye, -eye]), np.hstack([-eye, -eye]), np.hstack([zero, one])])
        sides = np.concatenate([p[at], -p[at], [width[at]]])
        cost = np.concatenate([-value[at[0]], zero])
        best = linprog(cost, limits, sides, np.concatenate([one, zero])[None], [1.0], bounds=(0, None))
        assert found[at] @ value[at[0]] == pytest.approx(-best.fun, abs=1e-9)


def test_it_is_the_loop_of_the_source() -> None:
    """2,000 cases, with ties of values and outcomes of probability zero."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(6, 0.3), size=(1000, 1, 2)) * (rng.random((1000, 1, 2, 6)) < 0.8)
    p[..., 0] += 1 - p.sum(axis=-1)
    width, value = 2 * rng.random((1000, 1, 2)), rng.integers(0, 4, size=(1000, 6)) / 3
    found = optimistic(p, width, value)
    for row, _, action in np.ndindex(1000, 1, 2):
        wanted = hopeful(p[row, 0, action].tolist(), width[row, 0, action], value[row].tolist())
        assert np.abs(found[row, 0, action] - wanted).max() < 1e-14
