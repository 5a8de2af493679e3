"""Estimates against scipy's optimisers, and rows that fail."""

from __future__ import annotations

import numpy as np
import pytest
from corral_glm import Link
from corral_glm.estimates import Estimates, record, refit
from corral_glm.fit import HALVINGS, STEPS, fit
from corral_glm.links import link_of
from scipy import optimize
from scipy.special import exp1, ndtr

from corral_core import Array

RISING = ["logistic", "probit", "cloglog", "identity", "half-identity"]


def problems(rng: np.random.Generator, rows: int, n: int, d: int, link: Link) -> tuple[Array, Array, Array]:
    """Arms with their mean rewards and the number of their plays, some of which were never played."""
    x, theta = rng.standard_normal((rows, n, d)), 2 * rng.standard_normal((rows, d))
    plays = rng.integers(0, 20, (rows, n))
    chance = np.clip(link.mean((x @ theta[:, :, None])[:, :, 0]), 0, 1)
    return x, rng.binomial(plays, chance) / np.maximum(plays, 1), plays.astype(float)


AREA = {  # the integral of each link
    "logistic": lambda z: np.logaddexp(0, z),
    "probit": lambda z: z * ndtr(z) + np.exp(-(np.minimum(np.abs(z), 38) ** 2) / 2) / np.sqrt(2 * np.pi),
    "cloglog": lambda z: np.maximum(z, -700) + exp1(np.exp(np.clip(z, -700, 700))),
    "identity": lambda z: z**2 / 2,
    "half-identity": lambda z: z / 2 + z**2 / 4,
}


def scipys(link: Link, x: Array, y: Array, weight: Array, penalty: float) -> Array:
    """Where scipy finds the least of the function whose gradient is solved for, with features of one size."""
    unit = np.sqrt(weight @ x**2 + penalty)
    x = x / unit

    def loss(theta: Array) -> float:
        return float(
            weight @ (AREA[link.name](x @ theta) - y * (x @ theta)) + penalty * (theta / unit) @ (theta / unit) / 2
        )

    def gradient(theta: Array) -> Array:
        found: Array = (weight * (link.mean(x @ theta) - y)) @ x + penalty * theta / unit**2
        return found

    def hessian(theta: Array) -> Array:
        found: Array = (x.T * weight * link.derivative(x @ theta)) @ x + np.diag(penalty / unit**2)
        return found

    least = optimize.minimize(
        loss,
        np.zeros(len(unit)),
        jac=gradient,
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-9, "maxiter": 500},
    )
    found = optimize.root(gradient, least.x, jac=hessian, options={"xtol": 1e-14})
    theta = min((least.x, found.x), key=lambda theta: np.abs(gradient(theta)).max())
    return np.asarray(theta / unit)


@pytest.mark.parametrize("penalty", [1.0, 1e-3])
@pytest.mark.parametrize("name", RISING)
def test_agrees_with_scipy(name: str, penalty: float) -> None:
    """To 1e-6, in thirty random problems."""
    link, rng = link_of(name), np.random.default_rng(1)
    x, y, weight = problems(rng, 30, 12, 3, link)
    theta, converged = fit(link, x, y, weight, penalty, np.zeros((30, 3)))
    assert converged.all()
    for row in range(30):
        assert theta[row] == pytest.approx(scipys(link, x[row], y[row], weight[row], penalty), abs=1e-6, rel=1e-6)


@pytest.mark.parametrize("name", RISING)
@pytest.mark.parametrize(("n", "d"), [(1, 3), (4, 8), (40, 1), (60, 6), (400, 20)])
def test_agrees_with_scipy_where_it_is_hard(name: str, n: int, d: int) -> None:
    """Features of many sizes, thousands of plays of an arm, the same arm twice, rewards beyond [0, 1], a far start."""
    link, rng = link_of(name), np.random.default_rng([n, d])
    for penalty, longest in ((1e-3, 1), (1.0, 3), (1e3, 3)):
        x, y, weight = problems(rng, 4, n, d, link)
        x *= 10.0 ** rng.integers(-3, longest + 1, d)
        x[0] = x[0, :1]
        weight[1:3] *= rng.integers(1, 2000, n)
        y[3] += rng.normal(0, 0.3, n)  # with many plays of every arm it would be scipy that does not arrive
        theta, converged = fit(link, x, y, weight, penalty, 50 * rng.standard_normal((4, d)))
        assert converged.all()
        for row in range(4):
            expected = scipys(link, x[row], y[row], weight[row], penalty)
            assert theta[row] == pytest.approx(expected, abs=1e-6, rel=1e-6)


def test_long_features_are_fitted_to_their_own_measure() -> None:
    """theta of features of length 1e6 is about 1e-6, of which 1e-7 would be a lot; that of others is as it is alone."""
    link, rng = link_of("logistic"), np.random.default_rng(7)
    x = rng.standard_normal((5, 200, 2))
    y = (rng.random((5, 200)) < link.mean(x[:, :, 0] - x[:, :, 1])).astype(float)
    weight, start = np.ones((5, 200)), np.zeros((5, 2))
    plain, _ = fit(link, x, y, weight, 1e-3, start)
    theta, converged = fit(link, x * [1e6, 1.0], y, weight, 1e-3, start)
    assert converged.all()
    assert theta * [1e6, 1.0] == pytest.approx(plain, rel=1e-3)  # there is less of a ridge on the first
    mean = link.mean(np.einsum("nki,ni->nk", x * [1e6, 1.0], theta))
    assert np.abs(np.einsum("nk,nki->ni", y - mean, x) - 1e-3 * theta * [1e-6, 1.0]).max() < 1e-9


def test_a_root_that_rounding_hides_is_not_said_to_be_found() -> None:
    """10,000 plays of each of two arms in three dimensions: beside them a ridge of 1e-9 is nearly lost in rounding."""
    rng = np.random.default_rng(8)
    x, y, start = rng.standard_normal((50, 2, 3)), rng.random((50, 2)), rng.standard_normal((50, 3))
    theta, converged = fit(link_of("identity"), x, y, np.full((50, 2), 1e4), 1e-9, start)
    exact = np.linalg.pinv(x) @ y[:, :, None]  # the least of all that meet y, up to 1e-13
    off = np.abs(theta - exact[:, :, 0]).max(axis=1) / (1 + np.abs(theta).max(axis=1))
    assert converged.any()
    assert off[converged].max() < 1e-5


@pytest.mark.parametrize("name", ["logistic", "probit", "cloglog"])
@pytest.mark.parametrize("penalty", [1.0, 1e-3, 1e-6])
def test_separable_data(name: str, penalty: float) -> None:
    """A plane separates ones from zeros."""
    link, rng = link_of(name), np.random.default_rng(2)
    x = rng.standard_normal((10, 20, 2))
    y, weight = (x[:, :, 0] + x[:, :, 1] > 0).astype(float), np.ones((10, 20))
    theta, converged = fit(link, x, y, weight, penalty, np.zeros((10, 2)))
    assert converged.all()
    for row in range(10):
        assert theta[row] == pytest.approx(scipys(link, x[row], y[row], weight[row], penalty), abs=1e-6, rel=1e-6)


def test_the_identity_is_ridge_regression() -> None:
    rng = np.random.default_rng(3)
    x, y, weight = rng.standard_normal((5, 9, 4)), rng.standard_normal((5, 9)), rng.random((5, 9))
    theta, converged = fit(link_of("identity"), x, y, weight, 0.5, np.zeros((5, 4)))
    gram = np.einsum("nk,nki,nkj->nij", weight, x, x) + 0.5 * np.eye(4)
    assert converged.all()
    assert theta == pytest.approx(np.linalg.solve(gram, np.einsum("nk,nki->ni", weight * y, x)[:, :, None])[:, :, 0])


def test_an_even_link_is_fitted_by_least_squares() -> None:
    """A stationary point, no worse than scipy's from the truth in nine problems of ten; up to its sign, the truth."""
    link, rng = link_of("square"), np.random.default_rng(4)
    truth, x = rng.standard_normal((40, 3)), rng.standard_normal((40, 400, 3))
    y = (rng.random((40, 400)) < link.mean((x @ truth[:, :, None])[:, :, 0])).astype(float)
    theta, converged = fit(link, x, y, np.ones((40, 400)), 1.0, np.zeros((40, 3)))
    assert converged.all()
    good = 0
    for row in range(40):

        def loss(theta: Array, row: int = row) -> float:
            missed = y[row] - link.mean(x[row] @ theta)
            return float(missed @ missed + theta @ theta) / 2

        assert np.abs(optimize.approx_fprime(theta[row], loss, 1e-7)).max() < 1e-4
        good += loss(theta[row]) <= optimize.minimize(loss, truth[row], tol=1e-10).fun + 1e-8
    assert good >= 36
    off = np.minimum(np.abs(theta - truth).max(axis=1), np.abs(theta + truth).max(axis=1))
    assert np.median(off) < 0.5


@pytest.mark.parametrize("name", [*RISING, "square"])
def test_rows_do_not_touch_each_other(name: str) -> None:
    """To the bit, beside a row of NaN, one of 1e300, and one that a plane separates."""
    link, rng = link_of(name), np.random.default_rng(5)
    x, y, weight = problems(rng, 8, 10, 3, link)
    y[1], y[2], y[3] = np.nan, 1e300, (x[3, :, 0] > 0) * 50.0
    start = rng.standard_normal((8, 3))
    together, converged = fit(link, x, y, weight, 0.1, start)
    assert not converged[1]
    assert np.array_equal(together[1], start[1])
    assert converged[[0, 4, 5, 6, 7]].all()
    for row in range(8):
        one = slice(row, row + 1)
        alone, arrived = fit(link, x[one], y[one], weight[one], 0.1, start[one])
        assert np.array_equal(alone[0], together[row]) and arrived[0] == converged[row]


def cliff_mean(z: Array) -> Array:
    return np.where(np.abs(z) > 8, np.nan, np.tanh(z / 4))


CLIFF = Link("cliff", cliff_mean, lambda z: (1 - np.tanh(z / 4) ** 2) / 4, 0.25, -1.0, 1.0)


def test_a_row_that_is_lost_where_it_starts_begins_again() -> None:
    x, y, weight = np.array([[[1.0], [1.0]]]), np.array([[1.0, 0.0]]), np.array([[3.0, 1.0]])
    theta, converged = fit(CLIFF, x, y, weight, 1e-9, np.full((1, 1), 9.0))
    assert converged[0]
    assert np.tanh(theta[0, 0] / 4) == pytest.approx(0.75)


def test_a_fit_that_fails_says_so_and_leaves_the_estimate_in_force() -> None:
    """A link that is no number beyond 8 and rewards that pull theta there: that row alone keeps what it had."""
    arms = np.array([[[1.0], [-1.0]], [[1.0], [-1.0]]])
    estimates, rows, part = Estimates.fresh(2, 1, 1, 2), np.arange(2), np.zeros(2, dtype=np.intp)
    record(estimates, rows, part, np.zeros(2, dtype=np.intp), arms[:, 0], np.array([0.5, 0.5]))
    refit(estimates, rows, part, arms, CLIFF, 1e-3, "base")
    before = estimates.theta.copy()
    assert estimates.converged.all() and not estimates.failures.any()
    record(estimates, rows, part, np.zeros(2, dtype=np.intp), arms[:, 0], np.array([1e6, 0.4]))
    with pytest.warns(RuntimeWarning, match="base: a fit with the cliff link did not converge; the previous estimate"):
        refit(estimates, rows, part, arms, CLIFF, 1e-3, "base")
    assert estimates.converged[:, 0].tolist() == [False, True]
    assert estimates.failures[:, 0].tolist() == [1, 0]
    assert estimates.theta[0] == before[0] and estimates.theta[1] != before[1]
    assert np.tanh(estimates.theta[1, 0, 0] / 4) == pytest.approx(0.45, abs=0.01)


def test_counts_of_fixed_arms_are_exact() -> None:
    """The same estimate from counts as from a log of the plays; and padding does not show."""
    link, rng = link_of("cloglog"), np.random.default_rng(6)
    arms, rows = rng.standard_normal((4, 6, 3)), np.arange(4)
    counted, logged = Estimates.fresh(4, 2, 3, 6), Estimates.fresh(4, 2, 3, None)
    for _ in range(60):
        some = rng.permutation(4)[: rng.integers(1, 5)]
        part, action = rng.integers(-1, 2, len(some)), rng.integers(0, 6, len(some))
        reward = (rng.random(len(some)) < 0.5).astype(float)
        for estimates in (counted, logged):
            record(estimates, some, part, action, arms[some, action], reward)
    for part in (0, 1):
        for estimates in (counted, logged):
            refit(estimates, rows, np.full(4, part), arms, link, 1.0, "base")
    assert counted.theta == pytest.approx(logged.theta, abs=1e-9)
    assert np.abs(counted.theta[:, 0] - counted.theta[:, 1]).min() > 1e-3
    again = Estimates.fresh(4, 2, 3, None).replace(log=logged.log)
    for row in range(4):
        refit(again, np.array([row]), np.array([1]), None, link, 1.0, "base")
    assert again.theta[:, 1] == pytest.approx(logged.theta[:, 1], abs=1e-9)


def test_a_step_that_is_small_beside_a_huge_theta_may_be_far_from_the_last() -> None:
    """Rewards beyond the link's range and a small ridge; the root is from a computation with forty digits."""
    x = np.array([[0.14092235018718877, 0.13347513792792587, 0.98098179329325],
                  [-0.7355936286554593, 0.6666913725095431, 0.12010256992602583],
                  [-0.8818245544167915, 0.4041121313587242, 0.24306139248415445]])  # fmt: skip
    y, weight = np.array([3.813025202675513, -0.038274832799848106, -0.09324564296223069]), np.array([136.0, 316, 877])
    ridge = 2.4472118079316092e-05
    theta, converged = fit(link_of("cloglog"), x[None], y[None], weight[None], ridge, np.zeros((1, 3)))
    assert converged.all()
    assert theta[0] == pytest.approx([5_513_304, 406_724, 14_464_064], rel=2e-6)


def test_what_was_never_played_has_no_say() -> None:
    """Though its mean overflows at the estimate."""
    poisson = Link("poisson", np.exp, np.exp, largest_slope=404.0, low=0.0)
    x, y, weight = np.array([[[1.0], [1000.0]]]), np.array([[5.0, 0.0]]), np.array([[10.0, 0.0]])
    both, converged = fit(poisson, x, y, weight, 0.1, np.zeros((1, 1)))
    alone, _ = fit(poisson, x[:, :1], y[:, :1], weight[:, :1], 0.1, np.zeros((1, 1)))
    assert converged.all() and both == pytest.approx(alone, rel=1e-12)


def test_a_link_that_is_flat_where_the_search_begins() -> None:
    """The first step is g/lambda, and must be halved often: 100 (8 - (30 theta)^3) 30 = theta/10,000."""
    cube = Link("cube", lambda z: z**3, lambda z: 3 * z * z, largest_slope=108.0)
    x, y, weight = np.full((1, 1, 1), 30.0), np.full((1, 1), 8.0), np.full((1, 1), 100.0)
    theta, converged = fit(cube, x, y, weight, 1e-4, np.zeros((1, 1)))
    assert converged.all() and theta[0, 0] == pytest.approx(2 / 30, rel=1e-6)


def test_a_row_gives_up_in_time() -> None:
    """A link that ends before the estimate: every step is halved often, and all of them count."""
    asked = 0

    def mean(z: Array) -> Array:
        nonlocal asked
        asked += 1
        return np.where(np.abs(z) <= 7, z, np.nan)

    ended = Link("ended", mean, np.ones_like, 1.0)
    asked = 0
    theta, converged = fit(ended, np.ones((1, 1, 1)), np.full((1, 1), 20.0), np.ones((1, 1)), 0.1, np.zeros((1, 1)))
    assert not converged.any() and (theta == 0).all()
    assert asked < 2 * (STEPS + HALVINGS + 2)
