"""The log-barrier step against the equation that defines it, solved to sixty digits."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf
from numpy.random import Generator

from corral_core.kernels import log_barrier
from corral_core.metas.log_barrier import log_barrier_step
from corral_core.rows import Array

EPSILON = float(np.finfo(np.float64).eps)
SIZES = [1, 2, 3, 4, 5, 8, 18, 33, 64]

some = settings(max_examples=100, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from(SIZES)


def exactly(p: Array, eta: Array, loss: Array) -> tuple[Array, float]:
    """One row to sixty digits, and by how much more than itself a rounding of the input is seen in the output.

    Newton on S(v) = sum_j w_j/(g_j + v) = 1 from above; that S crosses one within 1e-45 of the v found proves it.
    """
    with mpmath.workdps(70):
        w = [1 / mpf(e) for e in eta]
        d = [mass / mpf(x) + mpf(cost) for mass, x, cost in zip(w, p, loss, strict=True)]
        lowest = min(range(len(d)), key=d.__getitem__)
        g = [each - d[lowest] for each in d]

        def total(v: mpf) -> mpf:
            return mpmath.fsum(mass / (gap + v) for mass, gap in zip(w, g, strict=True))

        v = mpmath.fsum(w)
        for _ in range(300):
            slope = mpmath.fsum(mass / (gap + v) ** 2 for mass, gap in zip(w, g, strict=True))
            step = (1 - total(v)) / (slope * v)
            v /= 1 + step
            if abs(step) < mpf(10) ** -50:
                break
        assert total(v * (1 + mpf(10) ** -45)) < 1 < total(v * (1 - mpf(10) ** -45))
        found = [float(mass / (gap + v)) for mass, gap in zip(w, g, strict=True)]
        size = [mass / mpf(x) + abs(mpf(cost)) for mass, x, cost in zip(w, p, loss, strict=True)]
        others = [float((size[j] + size[lowest]) / (g[j] + v)) for j in range(len(d)) if j != lowest]
    return np.asarray(found), max(others, default=0.0)


def one_hot(bases: int, chosen: int, loss: float) -> Array:
    vector = np.zeros(bases)
    vector[chosen] = loss
    return vector


def assert_exact(found: Array, p: Array, eta: Array, loss: Array) -> None:
    """Every probability to 1e-12 of itself, or to what rounding the input in the sixteenth digit does to it."""
    expected, condition = exactly(p, eta, loss)
    assert abs(found.sum() - 1) <= 1e-14
    np.testing.assert_allclose(found, expected, rtol=max(1e-12, 16 * EPSILON * condition), atol=0)


def distribution(bases: int, rng: Generator) -> Array:
    """Probabilities of every size from 1e-9 to 1, or all of them least but one."""
    p = np.exp(rng.uniform(np.log(1e-9), 0, bases))
    if rng.random() < 0.4:
        p = 1e-9 * rng.choice([rng.uniform(1, 3, bases), np.ones(bases)])
        p[rng.integers(bases)] = 1
    p = np.maximum(p / p.sum(), 1e-9)
    return np.asarray(p / p.sum())


def rates(bases: int, rng: Generator) -> Array:
    """From 1e-6 to 100, those of one row up to 10^4 apart."""
    spread = rng.choice([1, 4.3, 1e4])
    return np.clip(10 ** rng.uniform(-6, 2) * spread ** rng.uniform(0, 1, bases), 1e-6, 1e2)


def losses(p: Array, rng: Generator) -> Array:
    """Up to 10^6, or that over the probability: up to 10^15."""
    raw = 10 ** rng.uniform(-6, 6, p.shape)
    return np.where(rng.random(p.shape) < 0.5, raw, raw / p)


def problem(bases: int, seed: int, sign: int = 1) -> tuple[Array, Array, int, float]:
    """One row: p, eta, the base chosen (half the time the likeliest) and its loss."""
    rng = np.random.default_rng(seed)
    p, eta = distribution(bases, rng), rates(bases, rng)
    chosen = int(p.argmax() if rng.random() < 0.5 else rng.integers(bases))
    return p, eta, chosen, float(sign * losses(p, rng)[chosen])


def stepped(p: Array, eta: Array, chosen: int, loss: float) -> Array:
    """The step of one row."""
    found: Array = log_barrier_step(p[:, None], eta[:, None], np.array([chosen]), np.array([loss]))[:, 0]
    return found


def batch(bases: int, rows: int, seed: int) -> tuple[Array, Array, Array, Array]:
    rows_of = [problem(bases, seed + row, sign=-1 if row % 3 == 2 else 1) for row in range(rows)]
    p, eta, chosen, loss = zip(*rows_of, strict=True)
    return np.array(p).T.copy(), np.array(eta).T.copy(), np.array(chosen), np.array(loss)


# --- one-hot losses ---


@some
@given(sizes, seeds, st.sampled_from([1, -1]))
def test_a_step_solves_its_equation(bases: int, seed: int, sign: int) -> None:
    p, eta, chosen, loss = problem(bases, seed, sign)
    assert_exact(stepped(p, eta, chosen, loss), p, eta, one_hot(bases, chosen, loss))


def test_a_step_is_right_to_twelve_digits_where_all_probabilities_differ() -> None:
    """p, eta and loss spread over their whole range, in one call of 60 rows; no allowance for rounded inputs."""
    rng = np.random.default_rng(1)
    for bases in (2, 3, 8, 18):
        p = np.exp(rng.uniform(np.log(1e-9), 0, (bases, 60)))
        p /= p.sum(axis=0)
        eta = 10 ** rng.uniform(-6, -2, 60) * 10 ** rng.uniform(0, 4, (bases, 60))
        chosen = rng.integers(0, bases, 60)
        loss = losses(p, rng)[chosen, np.arange(60)] * rng.choice([1, -1], 60)
        found = log_barrier_step(p, eta, chosen, loss)
        for row in range(60):
            expected, _ = exactly(p[:, row], eta[:, row], one_hot(bases, chosen[row], loss[row]))
            np.testing.assert_allclose(found[:, row], expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("loss", [1e5, 1e6, 1e7, 1e9, 1e12, 1e15])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_base_that_has_all_probability_can_lose_or_keep_it(loss: float, sign: int) -> None:
    """The others have 1e-9 each: their share in the curvature is less than the rounding of the chosen base's."""
    rng = np.random.default_rng(2)
    for bases in (2, 3, 4, 7, 18):
        p = 1e-9 * rng.uniform(1, 3, bases)
        p[1] = 1
        p /= p.sum()
        eta = 100 / rng.uniform(1, 4.3, bases)
        found = stepped(p, eta, 1, sign * loss)
        assert (found[1] < p[1]) if sign > 0 else (found[1] >= p[1])
        assert_exact(found, p, eta, one_hot(bases, 1, sign * loss))


@some
@given(sizes, seeds)
def test_no_loss_leaves_p(bases: int, seed: int) -> None:
    p, eta, chosen, _ = problem(bases, seed)
    np.testing.assert_allclose(stepped(p, eta, chosen, 0.0), p, rtol=1e-12, atol=0)


@some
@given(st.sampled_from(SIZES[1:]), seeds)
def test_a_loss_moves_probability_from_the_chosen_base_to_all_others(bases: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(bases, 3.0))
    eta, chosen = rng.uniform(0.1, 0.4, bases), int(rng.integers(bases))
    others = np.arange(bases) != chosen
    lost, gained = stepped(p, eta, chosen, 1 / p[chosen]), stepped(p, eta, chosen, -0.5)
    assert lost[chosen] < p[chosen] and (lost[others] > p[others]).all()
    assert gained[chosen] > p[chosen] and (gained[others] < p[others]).all()


def test_rows_do_not_touch_each_other() -> None:
    for bases in (2, 3, 18):
        p, eta, chosen, loss = batch(bases, rows=60, seed=3000 * bases)
        together = log_barrier_step(p, eta, chosen, loss)
        for row in range(60):
            alone = stepped(p[:, row], eta[:, row], int(chosen[row]), float(loss[row]))
            assert np.array_equal(together[:, row], alone)


def test_no_rows_and_one_base() -> None:
    assert log_barrier_step(np.ones((3, 0)), np.ones((3, 0)), np.zeros(0, int), np.zeros(0)).shape == (3, 0)
    assert stepped(np.ones(1), np.ones(1), 0, 5.0).tolist() == [1.0]


# --- two bases, a quadratic ---


@pytest.mark.parametrize("rare", [0.5, 1e-3, 1e-9, 1e-15])
@pytest.mark.parametrize("ratio", [1e-4, 0.25, 1.0, 4.0, 1e4])
@pytest.mark.parametrize("loss", [-1e9, -1.0, 0.0, 1e-6, 1.0, 1e6, 1e15])
def test_two_bases_in_closed_form(rare: float, ratio: float, loss: float) -> None:
    p, eta = np.array([rare, 1 - rare]), np.array([ratio, 1.0])
    for chosen in (0, 1):
        assert_exact(stepped(p, eta, chosen, loss), p, eta, one_hot(2, chosen, loss))


def test_two_bases_where_the_quadratic_is_linear() -> None:
    """A = 1/p_k + eta_k l - rho/p_j = 0: equal halves and no loss; and p_k = 3/4 with a loss that meets it."""
    assert stepped(np.full(2, 0.5), np.ones(2), 0, 0.0).tolist() == [0.5, 0.5]
    # 4/3 + l - 4 = 0 at l = 8/3; then 1/p' = 4 - lam for both.
    np.testing.assert_allclose(stepped(np.array([0.75, 0.25]), np.ones(2), 0, 8 / 3), [0.5, 0.5], rtol=1e-15)


def test_two_bases_agree_with_the_newton_of_many() -> None:
    p, eta, chosen, loss = batch(2, rows=60, seed=77)
    newton = log_barrier_step(p, eta, chosen, loss, np.ones((2, 60), dtype=bool))
    np.testing.assert_allclose(log_barrier_step(p, eta, chosen, loss), newton, rtol=1e-12, atol=0)


# --- dropped bases ---


@some
@given(st.sampled_from(SIZES[1:]), seeds, st.sampled_from([1, -1]))
def test_inactive_bases_stay_at_zero_and_the_others_solve_the_smaller_problem(bases: int, seed: int, sign: int) -> None:
    p, eta, chosen, loss = problem(bases, seed, sign)
    active = np.random.default_rng(seed).random(bases) < 0.5
    active[chosen] = True
    p = np.where(active, p, 0.0)
    p /= p.sum()
    found = log_barrier_step(p[:, None], eta[:, None], np.array([chosen]), np.array([loss]), active[:, None])[:, 0]
    assert (found[~active] == 0).all()
    assert_exact(found[active], p[active], eta[active], one_hot(bases, chosen, loss)[active])


@pytest.mark.parametrize("loss", [0.0, 3.0, -3.0])
def test_the_loss_of_a_base_that_was_dropped_since_changes_nothing(loss: float) -> None:
    p, eta = np.array([[0.0], [0.3], [0.7]]), np.array([[0.5], [1.0], [2.0]])
    active = np.array([[False], [True], [True]])
    found = log_barrier_step(p, eta, np.array([0]), np.array([loss]), active)
    np.testing.assert_allclose(found, p, rtol=1e-14, atol=0)


# --- how soon it ends ---


def test_newton_ends_within_twelve_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extreme rows above, 2000 a call: the slowest row of a call decides."""
    taken = []

    def counted(most: int) -> Iterator[int]:
        taken.append(0)
        for number in range(most):
            taken[-1] = number + 1
            yield number

    monkeypatch.setattr(log_barrier, "range", counted, raising=False)
    step = log_barrier.log_barrier_step.arrays
    for bases in (3, 8, 18, 64):
        p, eta, chosen, loss = batch(bases, rows=2000, seed=10_000 * bases)
        step(p, eta, chosen, np.abs(loss), None)
        step(p, eta, chosen, loss, None)
        step(p, eta, chosen, loss, np.ones(p.shape, dtype=bool))
    assert len(taken) == 12
    assert max(taken) <= 12
