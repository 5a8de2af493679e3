"""A row's estimate depends on its own numbers only, to the last bit: alone, among others, and in any order."""

from __future__ import annotations

import numpy as np
import pytest
from corral_glm import GlmContexts, SupCbGlm
from corral_glm.bases.supcb_glm import ALL
from corral_glm.estimates import EVERY, Estimates, record, refit
from corral_glm.fit import _solved, fit
from corral_glm.links import link_of

from corral_core import Array, Feedback, Observation
from corral_core.selection.setup import given_rows

LINKS = ["logistic", "probit", "cloglog", "identity", "square"]
ROWS = 512


def problems(rng: np.random.Generator, n: int, d: int) -> tuple[Array, Array, Array, Array]:
    """Rows that need few steps or many, with long features or short ones, one that cannot be fitted, and starts."""
    x = rng.standard_normal((ROWS, n, d)) * 10.0 ** rng.integers(-1, 2, (ROWS, 1, d))
    x[::3] = np.clip(x[::3], -1, 1)
    weight = rng.integers(0, 20, (ROWS, n)).astype(float)
    y = rng.binomial(np.maximum(weight, 1).astype(int), rng.random((ROWS, n))) / np.maximum(weight, 1)
    y[::7] = x[::7, :, 0] > 0
    y[5, 0] = np.nan
    return x, y, weight, rng.standard_normal((ROWS, d)) * 10.0 ** rng.integers(-2, 2, (ROWS, 1))


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 3), (50, 4), (64, 1), (128, 8), (33, 20)])
def test_a_row_is_the_same_alone_and_among_others(name: str, n: int, d: int) -> None:
    link, rng = link_of(name), np.random.default_rng([n, d])
    x, y, weight, start = problems(rng, n, d)
    penalty = 10.0 ** rng.integers(-2, 1, ROWS)
    theta, converged = fit(link, x, y, weight, penalty, start)
    assert not converged[5] and converged.mean() > 0.9
    order = rng.permutation(ROWS)
    groups = [order, *order[:30].reshape(10, 3), *order[30:50].reshape(10, 2), *order[50:80, None], np.array([5])]
    for rows in groups:
        found, arrived = fit(link, x[rows], y[rows], weight[rows], penalty[rows], start[rows])
        assert np.array_equal(found, theta[rows]) and np.array_equal(arrived, converged[rows])
    one = fit(link, x[:1], y[:1], weight[:1], float(penalty[0]), start[:1])[0]
    assert np.array_equal(one, theta[:1])


def filled(rng: np.random.Generator, rows: int, plays: int) -> tuple[Estimates, Array]:
    """Two parts, with logs and counts: some rows have few plays, others many."""
    arms, estimates = rng.standard_normal((rows, 6, 3)), Estimates.fresh(rows, 2, 3, None)
    for play in range(plays):
        some = np.flatnonzero(rng.random(rows) < np.linspace(0.1, 1.0, rows)) if play else np.arange(rows)
        part, action = rng.integers(-1, 2, len(some)), rng.integers(0, 6, len(some))
        part[some == 0] = EVERY
        record(estimates, some, part, action, arms[some, action], (rng.random(len(some)) < 0.5).astype(float))
    return estimates, arms


@pytest.mark.parametrize("name", ["logistic", "square"])
def test_a_refit_is_the_same_alone_and_among_others(name: str) -> None:
    """Whose logs differ in length, and of which each part reads its own plays."""
    rng, rows = np.random.default_rng(1), 60
    together, _ = filled(rng, rows, 90)
    alone = together.replace(theta=together.theta.copy())
    pairs = np.stack(np.meshgrid(np.arange(rows), [0, 1]), axis=-1).reshape(-1, 2)
    shuffled = rng.permutation(pairs)
    refit(together, shuffled[:, 0], shuffled[:, 1], None, link_of(name), 1.0, "base")
    for row, part in pairs:
        refit(alone, np.array([row]), np.array([part]), None, link_of(name), np.ones(1), "base")
    assert np.array_equal(together.theta, alone.theta) and together.converged.all()
    assert np.array_equal(together.theta[0, 0], together.theta[0, 1]), "both parts have learned the same"
    assert (together.theta[1:, 0] != together.theta[1:, 1]).any()


def test_parts_that_have_learned_the_same_are_fitted_once() -> None:
    rng = np.random.default_rng(2)
    each, _ = filled(rng, 4, 30)
    once = each.replace(theta=each.theta.copy())
    refit(each, np.array([0, 0, 2]), np.array([0, 1, 1]), None, link_of("logistic"), 1.0, "base")
    alike = np.array([True, False])
    refit(once, np.array([0, 2]), np.array([0, 1]), None, link_of("logistic"), 1.0, "base", alike)
    assert np.array_equal(once.theta, each.theta)
    assert np.abs(once.theta[0]).max() > 0 and not once.theta[2, 0].any()


def test_levels_that_have_learned_the_same_have_the_same_estimate() -> None:
    """And only those: from the first play that one level learns from alone, each level has its own."""
    problem = GlmContexts(arms=3, dimension=2).problem
    base = SupCbGlm(initial=10, switching=0.01, norm=2.0, horizon=64, delta=0.01).resolve(problem)
    rng, rows = np.random.default_rng(3), np.arange(3)
    state = base.init(given_rows([base], {}, 3), rng)
    for play in range(20):
        observation = Observation(rng.standard_normal((3, 3, 2)))
        decision = base.act(base.policy(state, rows), observation, rng)
        decision.level = np.full(3, ALL)
        if play >= 10:
            decision.level[1] = 0
        base.learn(state, rows, Feedback(observation, decision, (rng.random(3) < 0.5).astype(float)), rng)
        theta = state.estimates.theta
        assert np.abs(theta[:, 0]).min() > 0
        assert (theta[[0, 2]] == theta[[0, 2], :1]).all()
        assert (theta[1, 1:] == theta[1, 1]).all() and (play < 10) == (theta[1, 0] == theta[1, 1]).all()


def test_a_hessian_that_cannot_be_solved_stays_in_its_row() -> None:
    hessian = np.stack([np.eye(2), np.zeros((2, 2)), 2 * np.eye(2)])
    found = _solved(hessian, np.ones((3, 2)))
    assert np.array_equal(found, [[1, 1], [np.nan, np.nan], [0.5, 0.5]], equal_nan=True)
