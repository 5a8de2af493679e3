"""MENU against a plain loop, and what it promises."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from corral_heavytail import Menu, StudentTArms
from corral_heavytail.bases.menu import MenuState, central, source_repeats
from corral_linucb import LinearArms, NestedDimension

from corral_core import Array, CorralError, Feedback, Problem, try_out
from corral_core.parsing import build
from corral_core.protocols.problem import NOTHING
from corral_core.selection.setup import given_rows, group_kin

WORLD = StudentTArms(arms=6, dimension=3)
PROBLEM = attrs.evolve(WORLD.problem, horizon=400, delta=0.01)


class Plain:
    """The algorithm for one row, as it is written."""

    def __init__(self, features: Array, epsilon: float, c: float, k: int, scale: float, norm: float, lam: float):
        self.features, self.epsilon, self.c, self.k, self.scale, self.norm, self.lam = (
            features, epsilon, c, k, scale, norm, lam,
        )  # fmt: skip
        self.v = lam * np.eye(features.shape[1])
        self.rewards: list[list[float]] = []
        self.arms: list[int] = []
        self.start(np.zeros(features.shape[1]))

    def start(self, theta: Array) -> None:
        n, eps, d = len(self.arms), self.epsilon, self.features.shape[1]
        grown = n ** ((1 - eps) / (2 * (1 + eps)))
        beta = self.scale * 3 * ((9 * d * self.c) ** (1 / (1 + eps)) * grown + math.sqrt(self.lam) * self.norm)
        index = [x @ theta + beta * math.sqrt(x @ np.linalg.solve(self.v, x)) for x in self.features]
        self.arm, self.heard = int(np.argmax(index)), []  # type: ignore[var-annotated]

    def learn(self, reward: float) -> None:
        self.heard.append(reward)
        if len(self.heard) < self.k:
            return
        self.arms.append(self.arm)
        self.rewards.append(self.heard)
        x = self.features[self.arm]
        self.v = self.v + np.outer(x, x)
        estimates = []
        for j in range(self.k):
            b = sum(self.features[arm] * heard[j] for arm, heard in zip(self.arms, self.rewards, strict=True))
            estimates.append(np.linalg.solve(self.v, b))
        self.start(estimates[self.nearest(estimates)])

    def nearest(self, estimates: list[Array]) -> int:
        least = []
        for j, one in enumerate(estimates):
            away = sorted(
                math.sqrt((one - other) @ self.v @ (one - other)) for i, other in enumerate(estimates) if i != j
            )
            least.append(away[math.ceil(len(away) / 2) - 1] if away else 0.0)
        return int(np.argmin(least))


def started(rows: int, seed: int = 0, **fields: Any) -> tuple[Menu, MenuState, Any, np.random.Generator]:
    rng = np.random.default_rng(seed)
    base = Menu(**fields).resolve(PROBLEM)
    instance = WORLD.draw(rows, rng)
    return base, base.init(given_rows([base], WORLD.shown(instance), rows), rng), instance, rng


@pytest.mark.parametrize("repeats", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("epsilon", [1.0, 0.5])
def test_a_plain_loop_plays_alike(repeats: int, epsilon: float) -> None:
    base, state, instance, rng = started(
        5, seed=repeats, epsilon=epsilon, moment=2.0, repeats=repeats, scale=0.05, norm=1.5, penalty=0.7
    )
    rows = np.arange(5)
    twins = [Plain(features, epsilon, 2.0, repeats, 0.05, 1.5, 0.7) for features in instance.features]
    seen = set()
    for _ in range(24 * repeats):
        arm = base.act(base.policy(state, rows), NOTHING, rng)
        assert arm.tolist() == [twin.arm for twin in twins]
        seen.update(arm.tolist())
        reward, _ = WORLD.pay(instance, NOTHING, arm, rng)
        base.learn(state, rows, Feedback(NOTHING, arm, reward), rng)
        for row in rows:
            twins[row].learn(float(reward[row]))
    assert len(seen) > 3


def test_one_estimate_is_ridge_regression() -> None:
    """With k = 1 and one play an epoch there is nothing to choose from."""
    base, state, instance, rng = started(4, moment=1.0, repeats=1, scale=0.1)
    x, y = [], []
    for _ in range(50):
        arm = base.act(base.policy(state, np.arange(4)), NOTHING, rng)
        reward, _ = WORLD.pay(instance, NOTHING, arm, rng)
        base.learn(state, np.arange(4), Feedback(NOTHING, arm, reward), rng)
        x.append(instance.features[np.arange(4), arm])
        y.append(reward)
    theta = central(state.response, state.ridge.inverse, np.arange(4))
    for row in range(4):
        design = np.array(x)[:, row]
        truth = np.linalg.solve(np.eye(3) + design.T @ design, design.T @ np.array(y)[:, row])
        assert theta[row] == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("payoff", [1e6, -1e6, 1e160, -1e308])
def test_one_payoff_beyond_belief_is_not_believed(payoff: float) -> None:
    """Of nine estimates one is spoilt, and the one chosen is another."""
    base, state, instance, rng = started(3, seed=1, moment=3.0, repeats=9, scale=0.05)
    for play in range(180):
        arm = base.act(base.policy(state, np.arange(3)), NOTHING, rng)
        reward, _ = WORLD.pay(instance, NOTHING, arm, rng)
        if play == 5:
            reward[:] = payoff
        base.learn(state, np.arange(3), Feedback(NOTHING, arm, reward), rng)
    assert np.abs(central(state.response, state.ridge.inverse, np.arange(3))).max() < 20


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_where_most_payoffs_are_beyond_all_numbers_nothing_is_known(repeats: int) -> None:
    """It plays on, with an estimate of zero."""
    base, state, _, rng = started(2, moment=3.0, repeats=repeats)
    for _ in range(4 * repeats):
        arm = base.act(base.policy(state, np.arange(2)), NOTHING, rng)
        base.learn(state, np.arange(2), Feedback(NOTHING, arm, np.full(2, 1.7e308)), rng)
    assert (central(state.response, state.ridge.inverse, np.arange(2)) == 0).all()


@pytest.mark.parametrize("mean", [1.0, 1e4, 1e8])
def test_the_most_central_estimate_under_a_large_mean(mean: float) -> None:
    """A mean that all estimates have in common does not hide how they differ."""
    rng = np.random.default_rng(6)
    for _ in range(5):
        x = rng.random((20, 3))
        b = (x.T @ ((mean * x @ np.ones(3))[:, None] + rng.standard_normal((20, 301)))).T
        v = np.eye(3) + x.T @ x
        inverse = np.linalg.inv(v)
        estimates = b @ inverse
        off = estimates[:, None] - estimates
        nearest = np.sort(np.einsum("jli,ie,jle->jl", off, v, off), axis=1)[:, 150]  # of itself and 300 others
        found = central(b[None], inverse[None], np.array([0]))[0]
        assert found == pytest.approx(estimates[nearest.argmin()], rel=1e-14)


def test_late_rewards_count_where_the_arm_is_still_the_same() -> None:
    base, state, _, rng = started(2, moment=1.0, repeats=3)
    other = (state.arm + 1) % 6
    before = state.response.copy()
    base.learn(state, np.arange(2), Feedback(NOTHING, other, np.ones(2)), rng)
    assert (state.response == before).all()
    assert state.repeat.tolist() == [0, 0]
    base.learn(state, np.arange(2), Feedback(NOTHING, np.array([state.arm[0], other[1]]), np.ones(2)), rng)
    assert state.repeat.tolist() == [1, 0]


def test_a_policy_counts_as_changed_until_it_is_asked_for() -> None:
    """Though the arm of the next epoch is the same."""
    base, state, _, rng = started(4, moment=1.0, repeats=2, scale=0.01)
    first = state.arm.copy()
    for _ in range(2):
        base.learn(state, np.arange(4), Feedback(NOTHING, first, np.full(4, 1e3)), rng)
    assert state.ridge.plays.tolist() == [1] * 4 and (state.arm == first).all()
    assert base.changed(state, np.arange(4)).all()
    base.policy(state, np.arange(4))
    assert not base.changed(state, np.arange(4)).any()


def test_constants_of_the_source() -> None:
    """k = ceil(24 ln(e N/delta)): 356 at N = 10,000 and delta = 0.01, 500 at 20,000 and 1/20,000."""
    assert source_repeats(10_000, 0.01) == 356
    assert source_repeats(20_000, 1 / 20_000) == 500
    base = Menu(moment=3.0, norm=2.0, dimension=3).resolve(PROBLEM)
    assert base.repeats == source_repeats(400, 0.01)
    _, state, _, _ = started(1, moment=3.0, norm=2.0)
    assert state.width[0] + state.least[0] == pytest.approx(3 * (math.sqrt(9 * 3 * 3) + 2))


def test_many_rows_at_once_are_cut_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    response, factor = rng.standard_normal((7, 5, 3)), rng.standard_normal((7, 3, 3))
    inverse = factor @ factor.transpose(0, 2, 1) + np.eye(3)
    together = central(response, inverse, np.arange(7))
    monkeypatch.setattr("corral_heavytail.bases.menu.AT_ONCE", 30)
    assert (central(response, inverse, np.arange(7)) == together).all()


def test_bound() -> None:
    """The source's rate, and its constants once."""
    base = Menu(epsilon=0.5, moment=4.0, norm=2.0, length=3.0).resolve(PROBLEM)
    bound = base.bound(0.01)
    assert bound.leading is not None and bound.leading.alpha == pytest.approx(1 / 1.5)
    k = source_repeats(400, 0.01)
    width = (9 * 3 * 4.0) ** (2 / 3) + 2 + 1
    truth = 6 * width * 100 ** (2 / 3) * k ** (1 / 3) * math.sqrt(6 * math.log1p(400 * 9 / 3))
    assert bound(100) == pytest.approx(truth)
    assert bound.leading.c == pytest.approx(4.0 ** (2 / 3) * math.sqrt(3))
    assert attrs.evolve(base, scale=2.0).bound(0.01)(100) == pytest.approx(2 * truth)
    assert attrs.evolve(base, scale=0.99).bound(0.01) is None
    assert attrs.evolve(base, repeats=k - 1).bound(0.01) is None


def test_learns_where_it_is_adapted() -> None:
    """A third of uniform play's regret or less with the constants of public re-implementations.

    The mean of 32 rows is a fifteenth of it, with a standard error of a fiftieth: more than a dozen of them away.
    """
    world, horizon = StudentTArms(arms=10, dimension=4, scale=0.5), 2000
    base = Menu(moment=0.75, norm=2.0, repeats=51, scale=0.02)
    regret = try_out(world, [base], rows=32, horizon=horizon).regret
    assert regret is not None
    instance = world.draw(32, np.random.default_rng(1).spawn(3)[0])
    uniform = horizon * (instance.best - instance.mean.mean(axis=1)).mean()
    assert regret[:, -1].mean() < uniform / 3


def test_moments_follow_from_sub_gaussian_noise() -> None:
    problem = attrs.evolve(LinearArms(noise=2.0).problem, horizon=100, delta=0.1)
    assert Menu().resolve(problem).moment == pytest.approx(4.0)
    assert Menu(epsilon=0.5).resolve(problem).moment == pytest.approx(2.0**1.5)
    assert Menu(epsilon=0.5, magnitude=3.0).resolve(problem).moment == pytest.approx(3.0**1.5)
    base = Menu(epsilon=0.5, magnitude=3.0).resolve(problem)
    assert base.resolve(problem) == base


def test_kin_differ_in_epsilon_and_moment() -> None:
    bases = [Menu(epsilon=e, moment=m).resolve(PROBLEM) for e, m in ((1.0, 3.0), (0.5, 2.0), (0.1, 1.0))]
    assert [len(group) for group in group_kin(bases)] == [3]


@pytest.mark.parametrize(
    ("fields", "changes", "sentence"),
    [
        ({}, {}, "menu needs moment, a bound on the moment of order 2 of the noise, or magnitude, its root: "),
        ({"epsilon": 0.5}, {}, "of order 1.5"),
        ({"moment": 1.0}, {"changing": True}, "menu needs fixed arms, because it plays one arm many times"),
        ({"moment": 1.0}, {"masked": True}, "needs every arm at every play"),
        ({"moment": 1.0}, {"horizon": None}, "needs a known horizon"),
        ({"moment": 1.0}, {"delta": None}, "needs a failure probability"),
        ({"moment": 1.0}, {"delta": 1e-300}, "menu in student-t-arms: 'repeats' must be <= 10000: 16747"),
        ({"moment": 1.0}, {"delta": 1e-320}, "menu in student-t-arms: 'repeats' must be <= 10000"),
        ({"moment": 1.0}, {"dimension": None}, "needs features"),
        ({"moment": 1.0}, {"actions": "ball"}, "needs finitely many actions"),
        ({"moment": 1.0, "magnitude": 2.0}, {}, "menu: give moment or magnitude, not both"),
    ],
)
def test_refuses(fields: dict[str, Any], changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        Menu(**fields).resolve(attrs.evolve(PROBLEM, **changes))


def test_refuses_contexts() -> None:
    problem: Problem = attrs.evolve(NestedDimension().problem, horizon=10, delta=0.1)
    with pytest.raises(CorralError, match="use tofu instead"):
        Menu(moment=1.0).resolve(problem)


@pytest.mark.parametrize(
    "values",
    [
        {"epsilon": 0.0}, {"epsilon": 1.1}, {"epsilon": float("nan")}, {"epsilon": "1"}, {"moment": -1.0},
        {"moment": float("inf")}, {"moment": 1e19}, {"repeats": 0}, {"repeats": 1.5}, {"repeats": 10**9},
        {"magnitude": -1.0}, {"noise": 1.0}, {"epsilom": 1.0},
    ],
)  # fmt: skip
def test_refuses_values(values: dict[str, Any]) -> None:
    with pytest.raises(CorralError, match=next(iter(values))):
        build(Menu, values, "menu")
