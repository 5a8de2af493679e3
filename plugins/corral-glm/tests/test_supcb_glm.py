"""SupCB-GLM against a plain loop over levels that asks scipy, and its initial plays."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from corral_glm import GlmArms, GlmContexts, SupCbGlm
from corral_glm.bases.supcb_glm import ALL
from corral_glm.links import link_of
from scipy import optimize, stats

from corral_core import Array, Corral, CorralError, Feedback, Observation, Problem, try_out
from corral_core.selection.setup import given_rows

ARMS, FEATURES, PLAYS = 4, 3, 120
FIXED = Problem(arms=ARMS, dimension=FEATURES, noise=0.5, low=0.0, high=1.0, horizon=PLAYS, delta=0.01)
PROBLEMS = {
    "fixed": FIXED,
    "changing": attrs.evolve(FIXED, changing=True),
    "masked": attrs.evolve(FIXED, changing=True, masked=True),
}


class Twin:
    """One learner, arm by arm and level by level."""

    def __init__(self, base: SupCbGlm) -> None:
        self.base, self.levels = base, math.floor(math.log2(base.horizon))
        alpha = 3 * base.noise * math.sqrt(2 * math.log(base.horizon * base.arms / base.delta))
        reach = base.norm + 1
        kappa = float(link_of(base.link).derivative(np.array([-reach, reach])).min())
        self.factor = base.scale / kappa * math.sqrt(1 + base.switching) * (alpha + math.sqrt(base.penalty) * base.norm)
        self.plays: list[list[tuple[Array, float]]] = [[] for _ in range(self.levels)]
        self.theta = [np.zeros(base.dimension) for _ in range(self.levels)]
        self.determinant = [base.penalty**base.dimension] * self.levels

    def gram(self, level: int) -> Array:
        found: Array = self.base.penalty * np.eye(self.base.dimension)
        for x, _ in self.plays[level]:
            found = found + np.outer(x, x)
        return found

    def act(self, features: Array, mask: Array) -> tuple[int, int]:
        candidates = [arm for arm in range(len(mask)) if mask[arm]]
        for level in range(1, self.levels + 1):
            inverse, theta = np.linalg.inv(self.gram(level - 1)), self.theta[level - 1]
            width = {arm: self.factor * math.sqrt(features[arm] @ inverse @ features[arm]) for arm in candidates}
            mean = {arm: features[arm] @ theta for arm in candidates}
            if all(w <= 1 / math.sqrt(self.base.horizon) for w in width.values()):
                return max(candidates, key=lambda arm: mean[arm]), -1
            if any(w > 2**-level for w in width.values()):
                return max(candidates, key=lambda arm: width[arm]), level - 1
            best = max(mean.values())
            candidates = [arm for arm in candidates if mean[arm] >= best - 2 ** (1 - level)]
        raise AssertionError("the last level decides")

    def learn(self, x: Array, level: int, reward: float) -> None:
        for each in range(self.levels) if level == ALL else [level] if level >= 0 else []:
            self.plays[each].append((x, reward))
            determinant = float(np.linalg.det(self.gram(each)))
            if determinant > self.determinant[each] * (1 + self.base.switching):
                self.determinant[each] = determinant
                self.theta[each] = self.fitted(each)

    def fitted(self, level: int) -> Array:
        x, y = np.array([x for x, _ in self.plays[level]]), np.array([y for _, y in self.plays[level]])
        mean, penalty = link_of(self.base.link).mean, self.base.penalty
        found = optimize.root(
            lambda theta: (y - mean(x @ theta)) @ x - penalty * theta, np.zeros(self.base.dimension), tol=1e-12
        )
        return np.asarray(found.x)


@pytest.mark.parametrize("kind", list(PROBLEMS))
def test_equals_a_plain_loop(kind: str, observed) -> None:
    """Three rows, every action and level after the initial plays; several levels decide, no more than there are."""
    rng = np.random.default_rng(1)
    base = SupCbGlm(initial=10, scale=0.004, penalty=0.5, switching=0.3).resolve(PROBLEMS[kind])
    rows, fixed = np.arange(3), rng.standard_normal((3, ARMS, FEATURES))
    parameter = rng.standard_normal((3, FEATURES))
    state = base.init(given_rows([base], {"features": fixed} if kind == "fixed" else {}, 3), rng)
    twins, levels = [Twin(base) for _ in rows], set()
    for play in range(PLAYS):
        features, mask, observation = observed(kind, fixed, rng)
        decision = base.act(base.policy(state, rows), observation, rng)
        assert mask[rows, decision.action].all()
        if play < 10:
            assert (decision.level == ALL).all()
        else:
            expected = [twin.act(features[row], mask[row]) for row, twin in enumerate(twins)]
            assert list(zip(decision.action, decision.level, strict=True)) == expected
        x = features[rows, decision.action]
        reward = (rng.random(3) < link_of("logistic").mean(np.einsum("ni,ni->n", x, parameter))).astype(float)
        base.learn(state, rows, Feedback(observation, decision, reward), rng)
        for row, twin in enumerate(twins):
            twin.learn(x[row], int(decision.level[row]), float(reward[row]))
        levels |= set(decision.level.tolist())
    assert len(levels) >= 4
    for row, twin in enumerate(twins):
        assert state.estimates.theta[row] == pytest.approx(np.array(twin.theta)[: base.levels], abs=1e-6)


def test_initial_plays_are_uniform() -> None:
    """A chi-square test over 3,000 rows, which fails once in 1e6."""
    rng, rows = np.random.default_rng(2), np.arange(3000)
    for kind in ("fixed", "changing"):
        base = SupCbGlm().resolve(PROBLEMS[kind])
        assert base.tau == math.ceil(math.sqrt(FEATURES * PLAYS))
        features = np.ones((3000, ARMS, FEATURES))
        state = base.init(given_rows([base], {"features": features}, 3000), rng)
        decision = base.act(base.policy(state, rows), Observation(features), rng)
        assert stats.chisquare(np.bincount(decision.action, minlength=ARMS)).pvalue > 1e-6
        base.learn(state, rows[:5], Feedback(Observation(features[:5]), decision.take(rows[:5]), np.ones(5)), rng)
        assert (state.ridge.plays[:5] == 1).all() and not state.ridge.plays[5:].any()


def test_the_last_level_decides_whatever_the_horizon() -> None:
    for horizon in [*range(1, 70), 1000, 10**6]:
        base = SupCbGlm().resolve(attrs.evolve(FIXED, horizon=horizon))
        assert 2.0**-base.levels <= 1 / math.sqrt(horizon)


def test_learns() -> None:
    """A fifth of what uniform play loses (about .41 a play), with tau = 90 initial plays of 1,000 among it."""
    base = SupCbGlm(norm=4.0, curvature=1.0, scale=0.02, switching=0.5)
    regret = try_out(GlmContexts(), base, rows=8, horizon=1000).regret[:, -1]
    assert 90 * 0.3 < regret.mean() < 0.2 * 1000 * 0.4


@pytest.mark.parametrize(("norm", "spread", "cost"), [(0.5, 1.0, 8.0), (4.0, 8.0, 16.0)])
def test_bound(norm: float, spread: float, cost: float) -> None:
    """The formula at one number, and its shape; a play that the first level learns from may cost all there is."""
    base = SupCbGlm(link="identity", penalty=4.0, norm=norm, initial=7, switching=0.21).resolve(FIXED)
    a = 1.1 * (1.5 * math.sqrt(2 * math.log(PLAYS * ARMS / 0.05)) + 2 * norm)
    widths = a * math.sqrt(2 * 3 * 4 * 100 * math.log1p(100 / 3))
    assert base.bound(0.05)(100) == pytest.approx(7 * spread + cost * widths + 20)
    assert base.bound(0.05).shape == ((0.5 * math.sqrt(3), 0.5),)


@pytest.mark.parametrize("environment", [GlmContexts(), GlmContexts(available=0.5), GlmArms()])
def test_smoothing(environment: GlmContexts | GlmArms) -> None:
    bases = [SupCbGlm(initial=5, switching=0.5), SupCbGlm(link="square", scale=0.02, initial=5, switching=0.5)]
    record = try_out(environment, bases, Corral(), rows=4, horizon=60, preset="paper")
    assert (record.plays[:, -1].sum(axis=1) == 60).all()
    assert np.isfinite(record.regret).all()


def test_says_what_it_misses() -> None:
    with pytest.raises(CorralError, match="supcb-glm needs a known horizon"):
        SupCbGlm().resolve(attrs.evolve(FIXED, horizon=None))
    with pytest.raises(CorralError, match="the slope of the cloglog link falls to 0"):
        SupCbGlm(link="cloglog", norm=9.0).resolve(FIXED)
    with pytest.raises(ValueError, match="initial"):
        SupCbGlm(initial=-1)
