"""SupLinUCB against a plain loop over levels and arms, its bookkeeping, and where it may be played."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from corral_linucb import LinearArms, SupLinUcb

from corral_core import Array, Bandit, Corral, CorralError, Feedback, Observation, Problem, Rows, try_out
from corral_core.environments.bandit import gaussian
from corral_core.selection.setup import given_rows

ARMS, FEATURES, PLAYS = 5, 4, 400
FIXED = Problem(arms=ARMS, dimension=FEATURES, noise=0.1, low=-1.0, high=1.0, horizon=PLAYS, delta=0.01)
PROBLEMS = {
    "fixed": FIXED,
    "changing": attrs.evolve(FIXED, changing=True),
    "masked": attrs.evolve(FIXED, changing=True, masked=True),
}


class Twin:
    """One learner, arm by arm and level by level, that solves for everything it needs."""

    def __init__(self, base: SupLinUcb, scale: float, delta: float) -> None:
        self.base, self.levels = base, math.ceil(math.log(base.horizon))
        alpha = base.noise * math.sqrt(2 * math.log(2 * base.horizon * base.arms / delta))
        self.factor = scale * (alpha + math.sqrt(base.penalty) * base.norm)
        self.gram = [base.penalty * np.eye(base.dimension) for _ in range(self.levels)]
        self.response = [np.zeros(base.dimension) for _ in range(self.levels)]

    def act(self, features: Array, mask: Array) -> tuple[int, int]:
        span = self.base.high - self.base.low
        candidates = [arm for arm in range(len(mask)) if mask[arm]]
        for level in range(1, self.levels + 1):
            gram, theta = self.gram[level - 1], np.linalg.solve(self.gram[level - 1], self.response[level - 1])
            width, index = {}, {}
            for arm in candidates:
                x = features[arm, : self.base.dimension]
                width[arm] = self.factor * math.sqrt(x @ np.linalg.solve(gram, x))
                index[arm] = x @ theta + width[arm]
            if all(w <= span / math.sqrt(self.base.horizon) for w in width.values()):
                return max(candidates, key=lambda arm: index[arm]), -1
            if any(w > span * 2**-level for w in width.values()):
                return max(candidates, key=lambda arm: width[arm]), level - 1
            best = max(index.values())
            candidates = [arm for arm in candidates if index[arm] >= best - span * 2 ** (1 - level)]
        raise AssertionError("the last level decides")

    def learn(self, x: Array, level: int, reward: float) -> None:
        if level >= 0:
            self.gram[level] += np.outer(x, x)
            self.response[level] += x * reward


@pytest.mark.parametrize("kind", list(PROBLEMS))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_equals_a_plain_loop(kind: str, seed: int, observed) -> None:
    """Three rows of each of two kin, every action and every level; the model has three of the four features."""
    rng = np.random.default_rng(seed)
    kin = [SupLinUcb(dimension=3, scale=0.15), SupLinUcb(dimension=3, scale=0.02, delta=0.3)]
    bases, rows = [base.resolve(PROBLEMS[kind]) for base in kin], np.arange(6)
    fixed, parameter = rng.standard_normal((6, ARMS, FEATURES)) / 2, rng.standard_normal((6, FEATURES)) / 2
    fixed[3:] = fixed[:3]
    given = given_rows(bases, {"features": fixed[:3]} if kind == "fixed" else {}, 3)
    state = bases[0].init(given, rng)
    twins = [Twin(base, base.scale, base.delta) for base in bases for _ in range(3)]
    levels = set()
    for _ in range(PLAYS):
        features, mask, observation = observed(kind, fixed, rng)
        decision = bases[0].act(bases[0].policy(state, rows), observation, rng)
        expected = [twin.act(features[row], mask[row]) for row, twin in enumerate(twins)]
        assert list(zip(decision.action, decision.level, strict=True)) == expected
        x = features[rows, decision.action]
        reward = np.einsum("ni,ni->n", x, parameter) + 0.1 * rng.standard_normal(6)
        bases[0].learn(state, rows, Feedback(observation, decision, reward), rng)
        for row, twin in enumerate(twins):
            twin.learn(x[row, :3], expected[row][1], reward[row])
        levels |= set(decision.level.tolist())
    assert levels >= {-1, 2, 3, 4}


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_lockstep_equals_one_by_one(kind: str, observed) -> None:
    """Rows do not touch each other: to the bit, in any subset and order."""
    rng = np.random.default_rng(4)
    base, fixed = SupLinUcb(scale=0.1).resolve(PROBLEMS[kind]), rng.standard_normal((5, ARMS, FEATURES)) / 2
    given = given_rows([base], {"features": fixed} if kind == "fixed" else {}, 5)
    together = base.init(given, rng)
    alone = [base.init(given.take(np.array([row])), rng) for row in range(5)]
    for _ in range(200):
        rows = rng.permutation(5)[: rng.integers(1, 6)]
        _, _, observation = observed(kind, fixed, rng)
        seen = observation.take(rows)
        decision = base.act(base.policy(together, rows), seen, rng)
        reward = rng.standard_normal(len(rows))
        base.learn(together, rows, Feedback(seen, decision, reward), rng)
        for at, row in enumerate(rows):
            one, only = np.array([at]), np.array([0])
            mine = base.act(base.policy(alone[row], only), seen.take(one), rng)
            assert (mine.action[0], mine.level[0]) == (decision.action[at], decision.level[at])
            base.learn(alone[row], only, Feedback(seen.take(one), mine, reward[one]), rng)
    for row in range(5):
        for name, value in alone[row].ridge._values():
            assert np.array_equal(value[0], getattr(together.ridge, name)[row])


@pytest.mark.parametrize(("scale", "level"), [(1e-9, -1), (1e3, 0)])
@pytest.mark.parametrize("kind", ["fixed", "changing"])
def test_only_the_deciding_level_learns(kind: str, scale: float, level: int, observed) -> None:
    """Widths all small: no level learns. All wide: the first level does, and no other."""
    rng = np.random.default_rng(5)
    base, fixed = SupLinUcb(scale=scale).resolve(PROBLEMS[kind]), rng.standard_normal((3, ARMS, FEATURES))
    state = base.init(given_rows([base], {"features": fixed}, 3), rng)
    for _ in range(5):
        _, _, observation = observed(kind, fixed, rng)
        decision = base.act(base.policy(state, np.arange(3)), observation, rng)
        assert (decision.level == level).all()
        base.learn(state, np.arange(3), Feedback(observation, decision, np.ones(3)), rng)
    expected = np.zeros((3, base.levels))
    if level >= 0:
        expected[:, level] = 5
    assert np.array_equal(state.ridge.plays, expected)
    assert not state.ridge.theta[:, 1:].any()


def test_the_last_level_decides_whatever_the_horizon() -> None:
    for horizon in [1, 2, 3, 7, 8, 1000, 10**6]:
        base = SupLinUcb().resolve(attrs.evolve(FIXED, horizon=horizon))
        assert 2.0**-base.levels <= 1 / math.sqrt(horizon)


class Instance(Rows):
    parameter: Array


@attrs.frozen
class Linear(Bandit):
    """Contexts drawn uniformly from the sphere, and means linear in them."""

    name = "linear"
    masked: bool = False

    @property
    def problem(self) -> Problem:
        return Problem(self.name, "finite", 4, 3, True, masked=self.masked, noise=0.1, low=-1.0, high=1.0)

    def draw(self, rows: int, rng: np.random.Generator) -> Instance:
        parameter = rng.standard_normal((rows, 3))
        return Instance(parameter / np.linalg.norm(parameter, axis=1, keepdims=True))

    def observe(self, instance: Instance, rng: np.random.Generator) -> Observation:
        features = rng.standard_normal((len(instance), 4, 3))
        mask = rng.random((len(instance), 4)) < 0.7
        mask[:, 0] |= ~mask.any(axis=1)
        return Observation(features / np.linalg.norm(features, axis=2, keepdims=True), mask if self.masked else None)

    def pay(
        self, instance: Instance, observation: Observation, action: Array, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        means = np.einsum("nki,ni->nk", observation.features, instance.parameter)
        there = means if observation.mask is None else np.where(observation.mask, means, -np.inf)
        return gaussian(means, there.max(axis=1), action, 0.1, rng)


@pytest.mark.parametrize(("masked", "uniform"), [(False, 0.6), (True, 0.438)])
def test_learns(masked: bool, uniform: float) -> None:
    """At most a third of uniform play's regret, whose means are (N - 1)/(N + 1) for N arms, uniform on [-1, 1].

    The means are 235 and 147 of 3000 plays, with standard errors of 1.4: a hundred of them from failing.
    """
    regret = try_out(Linear(masked=masked), [SupLinUcb()], rows=32, horizon=3000).regret[:, -1]
    assert regret.mean() < uniform * 3000 / 3


def test_bound() -> None:
    """The formula at one number, and its shape."""
    bound = SupLinUcb(penalty=4.0, norm=0.5).resolve(FIXED).bound(0.05)
    log = math.log(2 * ARMS * PLAYS * 6 / 0.05)
    assert bound(100) == pytest.approx((1.6 + 12 + 4) * math.sqrt(100 * FEATURES * log**3))
    assert bound.shape == ((0.1 * math.sqrt(FEATURES), 0.5),)


@pytest.mark.parametrize("environment", [Linear(), Linear(masked=True), LinearArms()], ids=["all", "masked", "fixed"])
def test_smoothing(environment: Bandit) -> None:
    bases = [SupLinUcb(dimension=1), SupLinUcb(scale=0.3)]
    record = try_out(environment, bases, Corral(), rows=8, horizon=300, preset="paper")
    assert (record.plays[:, -1].sum(axis=1) == 300).all()
    assert np.isfinite(record.regret).all()


def test_says_what_it_misses() -> None:
    with pytest.raises(CorralError, match="suplinucb needs features of every arm; the shop has one context for all"):
        SupLinUcb().resolve(attrs.evolve(FIXED, shared=True, environment="the shop"))
    with pytest.raises(CorralError, match="suplinucb needs a known horizon"):
        SupLinUcb().resolve(attrs.evolve(FIXED, horizon=None))
    base = SupLinUcb().resolve(FIXED)
    with pytest.raises(CorralError, match="needs the features of fixed arms; the problem shows none"):
        base.init(given_rows([base], {}, 2), np.random.default_rng(0))
    with pytest.raises(CorralError, match=r"call resolve\(problem\) first"):
        SupLinUcb(arms=2, dimension=2, noise=1, low=0, high=1, horizon=9, delta=0.1).init(
            given_rows([base], {}, 2), np.random.default_rng(0)
        )
