"""TOFU against a plain loop on every kind of arms, and what it promises."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from corral_heavytail import ParetoArms, Tofu
from corral_heavytail.bases.tofu import TofuState, truncated
from corral_linucb import LinearArms, LinUcb

from corral_core import Array, CorralError, Feedback, Observation, Problem, try_out
from corral_core.parsing import build
from corral_core.protocols.problem import NOTHING
from corral_core.selection.setup import given_rows, group_kin

WORLD = ParetoArms(arms=6, dimension=3)
PROBLEM = attrs.evolve(WORLD.problem, horizon=300, delta=0.01)
KINDS: dict[str, dict[str, Any]] = {"fixed": {}, "changing": {"changing": True}, "masked": {"masked": True}}


class Plain:
    """The algorithm for one row, as it is written, with an estimate at every play."""

    def __init__(self, d: int, epsilon: float, b: float, scale: float, norm: float, lam: float):
        self.d, self.epsilon, self.b, self.scale, self.norm, self.lam = d, epsilon, b, scale, norm, lam
        self.x: list[Array] = []
        self.y: list[float] = []

    @property
    def v(self) -> Array:
        return self.lam * np.eye(self.d) + sum((np.outer(x, x) for x in self.x), np.zeros((self.d, self.d)))

    @property
    def theta(self) -> Array:
        if not self.x:
            return np.zeros(self.d)
        s, eps = len(self.x), self.epsilon
        level = (self.b / math.log(2 * 300 / 0.01)) ** (1 / (1 + eps)) * s ** ((1 - eps) / (2 * (1 + eps)))
        eigenvalues, basis = np.linalg.eigh(self.v)
        half = basis @ np.diag(eigenvalues**-0.5) @ basis.T
        u = half @ np.array(self.x).T
        g = np.zeros(self.d)
        for i in range(self.d):
            for play, y in enumerate(self.y):
                if abs(u[i, play] * y) <= level:
                    g[i] += u[i, play] * y
        return half @ g

    def act(self, features: Array, mask: Array) -> int:
        s, eps, d = len(self.x), self.epsilon, self.d
        beta = 4 * math.sqrt(d) * self.b ** (1 / (1 + eps)) * math.log(2 * d * 300 / 0.01) ** (eps / (1 + eps))
        beta = self.scale * (beta * s ** ((1 - eps) / (2 * (1 + eps))) + math.sqrt(self.lam) * self.norm)
        theta, v = self.theta, self.v
        index = [x @ theta + beta * math.sqrt(x @ np.linalg.solve(v, x)) for x in features]
        return int(np.argmax(np.where(mask, index, -np.inf)))


def started(kind: str, rows: int, seed: int, **fields: Any) -> tuple[Tofu, TofuState, Any, np.random.Generator]:
    rng = np.random.default_rng(seed)
    base = Tofu(**fields).resolve(attrs.evolve(PROBLEM, **KINDS[kind]))
    instance = WORLD.draw(rows, rng)
    state = base.init(given_rows([base], WORLD.shown(instance) if kind == "fixed" else {}, rows), rng)
    assert isinstance(state, TofuState)
    return base, state, instance, rng


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("epsilon", [1.0, 0.5])
def test_a_plain_loop_plays_alike(kind: str, epsilon: float) -> None:
    """Policies for what changes are of single precision: indices of different arms are farther apart than that."""
    base, state, instance, rng = started(
        kind, 4, 1, epsilon=epsilon, moment=1.5, scale=0.02, norm=1.5, penalty=0.7, switching=0.0
    )
    rows, twins = np.arange(4), [Plain(3, epsilon, 1.5, 0.02, 1.5, 0.7) for _ in range(4)]
    theta = rng.random((4, 3))
    cut = 0
    for _ in range(40):
        features = instance.features if kind == "fixed" else rng.random((4, 6, 3))
        mask = rng.random((4, 6)) < 0.6 if kind == "masked" else np.ones((4, 6), dtype=bool)
        mask[:, 0] |= ~mask.any(axis=1)
        shown = {"fixed": NOTHING, "changing": Observation(features), "masked": Observation(features, mask)}[kind]
        arm = base.act(base.policy(state, rows), shown, rng)
        assert arm.tolist() == [twin.act(features[row], mask[row]) for row, twin in enumerate(twins)]
        means = np.einsum("nad,nd->na", features, theta)[rows, arm]
        reward = WORLD.payoff(means, rng)
        base.learn(state, rows, Feedback(shown, arm, reward), rng)
        for row, twin in enumerate(twins):
            twin.x.append(features[row, arm[row]])
            twin.y.append(float(reward[row]))
        found = base.estimate(state, rows)
        assert found == pytest.approx(np.array([twin.theta for twin in twins]), rel=1e-8, abs=1e-10)
        for row, twin in enumerate(twins):
            ridge = np.linalg.solve(twin.v, np.array(twin.x).T @ np.array(twin.y))
            cut += bool(np.abs(ridge - found[row]).max() > 1e-6)
    assert cut > 5  # something was left out, so that more than ridge regression was compared


def test_without_a_level_it_is_ridge_regression() -> None:
    base, state, instance, rng = started("fixed", 3, 2, moment=1e18, scale=0.0)
    x, y = [], []
    for _ in range(40):
        arm = rng.integers(0, 6, 3)
        reward, _ = WORLD.pay(instance, NOTHING, arm, rng)
        base.learn(state, np.arange(3), Feedback(NOTHING, arm, reward), rng)
        x.append(instance.features[np.arange(3), arm])
        y.append(reward)
    found = base.estimate(state, np.arange(3))
    for row in range(3):
        design = np.array(x)[:, row]
        assert found[row] == pytest.approx(
            np.linalg.solve(np.eye(3) + design.T @ design, design.T @ np.array(y)[:, row]), rel=1e-9
        )


@pytest.mark.parametrize("payoff", [1e6, -1e6, 1e300, -1e308])
def test_one_payoff_beyond_belief_counts_as_none(payoff: float) -> None:
    """The estimate is that of the same past with a payoff of zero in its place."""
    estimates = []
    for spoilt in (payoff, 0.0):
        base, state, instance, rng = started("fixed", 3, 3, moment=2.0)
        for play in range(50):
            arm = rng.integers(0, 6, 3)
            reward, _ = WORLD.pay(instance, NOTHING, arm, rng)
            if play == 20:
                reward[:] = spoilt
            base.learn(state, np.arange(3), Feedback(NOTHING, arm, reward), rng)
        estimates.append(base.estimate(state, np.arange(3)))
    assert (estimates[0] == estimates[1]).all()


def test_truncation_by_hand() -> None:
    w = np.array([[0.5, 0.5, 0.1], [-0.5, 0.0, 1.0]])
    assert truncated(w, np.array([1.0, 10.0, -3.0]), 3.0).tolist() == pytest.approx([0.5 - 0.3, -0.5 - 3.0])


def test_a_payoff_beyond_all_numbers_counts_as_none() -> None:
    """Also where it is told to a direction that has no share in it."""
    assert truncated(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([np.inf, 2.0]), 3.0).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("delta", [1e-320, 1e-300])
def test_any_delta_will_do(delta: float) -> None:
    """Its logarithm is all that counts."""
    regret = try_out(ParetoArms(arms=3, dimension=2), [Tofu(moment=3.0, delta=delta)], horizon=20, rows=2).regret
    assert np.isfinite(regret).all()


def test_estimates_are_rare_and_cost_little() -> None:
    """A policy for every growth of the determinant by 1 + C, as many as `policies` allows for at most."""
    base, state, instance, rng = started("fixed", 4, 4, moment=2.0, scale=0.1, switching=0.5, length=3**0.5)
    rows, changes = np.arange(4), 0
    for _ in range(300):
        changes += int(base.changed(state, rows).sum())
        arm = base.act(base.policy(state, rows), NOTHING, rng)
        reward, _ = WORLD.pay(instance, NOTHING, arm, rng)
        base.learn(state, rows, Feedback(NOTHING, arm, reward), rng)
    assert 4 * 5 < changes <= 4 * base.max_policies(300) < 4 * 60


def test_confidence_holds() -> None:
    """||theta - theta*||_V <= beta with the source's constants, in every of 40 rows: delta = 0.01 each.

    The width is far wider than what is needed: no row comes near it.
    """
    base, state, instance, rng = started("fixed", 40, 5, epsilon=0.5, moment=4.0, norm=3**0.5)
    rows = np.arange(40)
    for _ in range(200):
        arm = base.act(base.policy(state, rows), NOTHING, rng)
        reward, _ = WORLD.pay(instance, NOTHING, arm, rng)
        base.learn(state, rows, Feedback(NOTHING, arm, reward), rng)
    truth = np.stack([np.linalg.lstsq(instance.features[r], instance.mean[r], rcond=None)[0] for r in rows])
    off = base.estimate(state, rows) - truth
    v = np.linalg.inv(state.ridge.inverse)
    assert (np.sqrt(np.einsum("ni,nij,nj->n", off, v, off)) < base._radius(state, rows)).all()


def test_bound() -> None:
    base = Tofu(epsilon=0.5, moment=4.0, norm=2.0, length=3.0, switching=0.5).resolve(PROBLEM)
    bound = base.bound(0.01)
    assert bound.leading is not None and bound.leading.alpha == pytest.approx(1 / 1.5)
    width = 4 * math.sqrt(3) * 4.0 ** (2 / 3) * math.log(2 * 3 * 300 / 0.01) ** (1 / 3) + 2 + 1
    truth = 2 * math.sqrt(1.5) * 100 ** (2 / 3) * width * math.sqrt(6 * math.log1p(300 * 9 / 3))
    assert bound(100) == pytest.approx(truth)
    assert bound.leading.c == pytest.approx(4.0 ** (2 / 3) * math.sqrt(3))
    assert attrs.evolve(base, scale=2.0).bound(0.01)(100) == pytest.approx(2 * truth)
    assert attrs.evolve(base, scale=0.99).bound(0.01) is None


def test_learns_where_it_is_adapted() -> None:
    """A third of uniform play's regret or less with the scale calibrated for Pareto payoffs.

    The mean of 16 rows is a twentieth of it, with a standard error of a quarter of that: two dozen of them away.
    """
    world, rows, horizon = ParetoArms(arms=10, dimension=4), 16, 1500
    base = Tofu(epsilon=0.5, moment=world.payoff_moment(0.5, 2.0), norm=2.0, scale=0.01, switching=0.5)
    regret = try_out(world, [base], rows=rows, horizon=horizon).regret
    assert regret is not None
    instance = world.draw(rows, np.random.default_rng(1).spawn(3)[0])
    uniform = horizon * (instance.best - instance.mean.mean(axis=1)).mean()
    assert regret[:, -1].mean() < uniform / 3


def test_one_payoff_misleads_linucb_and_not_tofu() -> None:
    """A payoff of 1e6 from the worst arm: LinUCB holds on to it, TOFU plays as if it had not been."""
    rng, problem = np.random.default_rng(6), attrs.evolve(PROBLEM, noise=1.0)
    instance = WORLD.draw(20, rng)
    worst, rows = instance.mean.argmin(axis=1), np.arange(20)
    after = {}
    for base in (LinUcb(), Tofu(moment=2.0, scale=0.02)):
        fit = base.resolve(problem)
        state = fit.init(given_rows([fit], WORLD.shown(instance), 20), rng)
        for play in range(100):
            arm = worst if play == 0 else fit.act(fit.policy(state, rows), NOTHING, rng)
            reward = np.full(20, 1e6) if play == 0 else WORLD.pay(instance, NOTHING, arm, rng)[0]
            fit.learn(state, rows, Feedback(NOTHING, arm, reward), rng)
        after[base.name] = (instance.best - instance.mean[rows, arm]).mean()
    assert after["tofu"] < after["linucb"] / 2


def test_moments_follow_from_sub_gaussian_noise() -> None:
    problem = attrs.evolve(LinearArms(noise=2.0, dimension=3).problem, horizon=100, delta=0.1)
    assert Tofu().resolve(problem).moment == pytest.approx(4.0 + 9.0)
    assert Tofu(epsilon=0.5).resolve(problem).moment == pytest.approx(13.0**0.75)
    assert Tofu(epsilon=0.5, magnitude=3.0).resolve(problem).moment == pytest.approx(3.0**1.5)
    wide = attrs.evolve(problem, low=-5.0)
    assert Tofu().resolve(wide).moment == pytest.approx(4.0 + 25.0)


def test_kin_differ_in_epsilon_and_moment() -> None:
    bases = [Tofu(epsilon=e, magnitude=3.0).resolve(PROBLEM) for e in (1.0, 0.5, 0.1)]
    assert [len(group) for group in group_kin(bases)] == [3]
    assert [base.moment for base in bases] == pytest.approx([9.0, 3**1.5, 3**1.1])


@pytest.mark.parametrize(
    ("fields", "changes", "sentence"),
    [
        ({}, {}, "tofu needs moment, a bound on the moment of order 2 of payoffs, or magnitude, its root: "),
        ({}, {"noise": 1.0, "low": None, "high": None}, "publishes no range of the mean to derive it from"),
        ({}, {"noise": None}, "publishes no sub-Gaussian noise to derive it from"),
        ({}, {"noise": 1e9, "high": 50.0}, "tofu in pareto-arms: 'moment' must be <= 1e.18"),
        ({}, {"noise": 1e200}, "tofu in pareto-arms: 'moment' must be <= 1e.18"),
        ({"moment": 1.0}, {"horizon": None}, "needs a known horizon"),
        ({"moment": 1.0}, {"shared": True, "changing": True}, "needs features of every arm"),
        ({"moment": 1.0}, {"actions": "ball"}, "needs finitely many actions"),
        ({"moment": 1.0, "magnitude": 2.0}, {}, "tofu: give moment or magnitude, not both"),
    ],
)
def test_refuses(fields: dict[str, Any], changes: dict[str, Any], sentence: str) -> None:
    problem: Problem = attrs.evolve(PROBLEM, **changes)
    with pytest.raises(CorralError, match=sentence):
        Tofu(**fields).resolve(problem)


@pytest.mark.parametrize(
    "values",
    [
        {"epsilon": 0.0}, {"epsilon": 1.1}, {"epsilon": float("nan")}, {"moment": 0.0}, {"moment": -1.0},
        {"moment": float("inf")}, {"magnitude": 1e10}, {"switching": -1.0}, {"noise": 1.0}, {"momemt": 1.0},
    ],
)  # fmt: skip
def test_refuses_values(values: dict[str, Any]) -> None:
    with pytest.raises(CorralError, match=next(iter(values))):
        build(Tofu, values, "tofu")
