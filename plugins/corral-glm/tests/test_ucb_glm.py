"""UCB-GLM against a plain loop that asks scipy, its bound, and where it may be played."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from corral_glm import GlmArms, GlmContexts, Link, UcbGlm
from corral_glm.links import link_of
from scipy import optimize

from corral_core import Array, Corral, CorralError, Environment, Feedback, Problem, try_out
from corral_core.metas.learning_rates import target
from corral_core.selection.setup import given_rows

ARMS, FEATURES, PLAYS = 5, 3, 80
FIXED = Problem(arms=ARMS, dimension=FEATURES, noise=0.5, low=0.0, high=1.0, horizon=PLAYS, delta=0.01)
PROBLEMS = {
    "fixed": FIXED,
    "changing": attrs.evolve(FIXED, changing=True),
    "masked": attrs.evolve(FIXED, changing=True, masked=True),
}


class Twin:
    """One learner, arm by arm, that solves for everything it needs."""

    def __init__(self, base: UcbGlm, scale: float, kappa: float) -> None:
        self.base, self.scale, self.kappa = base, scale, kappa
        self.plays: list[tuple[Array, float]] = []
        self.fit(np.eye(base.dimension) * base.penalty)

    def gram(self) -> Array:
        found: Array = self.base.penalty * np.eye(self.base.dimension)
        for x, _ in self.plays:
            found = found + np.outer(x, x)
        return found

    def fit(self, gram: Array) -> None:
        base, d = self.base, self.base.dimension
        x, y = np.array([x for x, _ in self.plays]).reshape(-1, d), np.array([y for _, y in self.plays])
        mean = link_of(base.link).mean
        missing = optimize.root(lambda theta: (y - mean(x @ theta)) @ x - base.penalty * theta, np.zeros(d), tol=1e-12)
        assert np.abs(missing.fun).max() < 1e-8
        self.theta, self.inverse, self.determinant = missing.x, np.linalg.inv(gram), np.linalg.det(gram)
        log = math.log(self.determinant / base.penalty**d) + 2 * math.log(1 / base.delta)
        self.alpha = self.scale / self.kappa * (base.noise * math.sqrt(log) + math.sqrt(base.penalty) * base.norm)

    def index(self, features: Array, mask: Array) -> Array:
        found = [x @ self.theta + self.alpha * math.sqrt(x @ self.inverse @ x) for x in features]
        return np.where(mask, found, -np.inf)

    def learn(self, x: Array, reward: float) -> None:
        self.plays.append((x, reward))
        gram = self.gram()
        if np.linalg.det(gram) > self.determinant * (1 + self.base.switching):
            self.fit(gram)


@pytest.mark.parametrize("kind", list(PROBLEMS))
@pytest.mark.parametrize("link", ["logistic", "cloglog", "identity"])
def test_equals_a_plain_loop(kind: str, link: str, observed) -> None:
    """Two rows of each of two kin, every action; the model has two of the three features."""
    rng = np.random.default_rng(1)
    common = {"link": link, "dimension": 2, "switching": 0.3, "penalty": 0.5, "norm": 2.0}
    kin = [UcbGlm(scale=0.02, **common), UcbGlm(scale=0.2, **common)]
    bases, rows = [base.resolve(PROBLEMS[kind]) for base in kin], np.arange(4)
    fixed, parameter = rng.standard_normal((4, ARMS, FEATURES)), rng.standard_normal((4, 2))
    fixed[2:] = fixed[:2]
    given = given_rows(bases, {"features": fixed[:2]} if kind == "fixed" else {}, 2)
    state = bases[0].init(given, rng)
    kappa = link_of(link).derivative(np.array([-3.0, 3.0])).min()
    twins = [Twin(base, base.scale, kappa) for base in bases for _ in range(2)]
    for _ in range(PLAYS):
        features, mask, observation = observed(kind, fixed, rng)
        action = bases[0].act(bases[0].policy(state, rows), observation, rng)
        for row, twin in enumerate(twins):
            index = twin.index(features[row, :, :2], mask[row])
            assert index[action[row]] == pytest.approx(index.max(), rel=1e-4)
            assert state.estimates.theta[row, 0] == pytest.approx(twin.theta, abs=1e-6)
        x = features[rows, action, :2]
        reward = (rng.random(4) < link_of("logistic").mean(np.einsum("ni,ni->n", x, parameter))).astype(float)
        bases[0].learn(state, rows, Feedback(observation, action, reward), rng)
        for row, twin in enumerate(twins):
            twin.learn(x[row], reward[row])
    assert state.estimates.converged.all() and not state.estimates.failures.any()
    assert len({twin.theta.tobytes() for twin in twins}) == 4


def test_an_even_link_looks_both_ways() -> None:
    """Arms x and -x are worth the same, however often only one of them was played."""
    base = UcbGlm(link="square", scale=0.1, curvature=1.0).resolve(FIXED)
    rng, arms = np.random.default_rng(2), np.zeros((1, ARMS, FEATURES))
    arms[0, 0, 0], arms[0, 1, 0], arms[0, 2:, 1] = 3.0, -3.0, 0.1
    state = base.init(given_rows([base], {"features": arms}, 1), rng)
    row = np.array([0])
    for _ in range(30):
        action = base.act(base.policy(state, row), None, rng)
        base.learn(state, row, Feedback(None, np.array([1]), np.array([0.9])), rng)
    theta = state.estimates.theta[:, 0]
    index = base._index(arms, theta, state.ridge.inverse, np.zeros(1))
    assert index[0, 0] == index[0, 1] > index[0, 2]
    assert action[0] == 0, "the first of the two"


@pytest.mark.parametrize(
    ("environment", "link", "share"),
    [
        (GlmContexts(), "logistic", 0.1),
        (GlmContexts(link="cloglog"), "cloglog", 0.1),
        (GlmContexts(link="identity"), "identity", 0.1),
        (GlmContexts(link="square"), "square", 0.2),
        (GlmArms(link="probit"), "probit", 0.2),
    ],
)
def test_learns_where_it_is_adapted(environment: Environment, link: str, share: float) -> None:
    """Under this share of what uniform play loses, (mean best - mean) a play, in 600 plays: ten standard errors."""
    base = UcbGlm(link=link, norm=4.0, curvature=1.0, scale=0.5, switching=0.5)
    regret = try_out(environment, base, rows=8, horizon=600).regret[:, -1]
    rng = np.random.default_rng(3)
    instance = environment.draw(4000, rng)
    uniform = environment.play(instance, lambda seen: rng.integers(0, environment.problem.arms, 4000), rng).regret
    assert regret.mean() < share * 600 * uniform.mean()


@pytest.mark.parametrize("link", ["logistic", "identity", "square"])
def test_bound(link: str) -> None:
    """LinUCB's at one number times L/kappa; the shape is that of every link."""
    base = UcbGlm(link=link, penalty=4.0, norm=0.5, switching=1e-9).resolve(FIXED)
    kappa = {"logistic": 1 / (2 + 2 * math.cosh(1.5)), "identity": 1.0, "square": 2.25 / 3.25 / 1.5}[link]
    grown = 3 * math.log1p(100 / 12)
    linear = 4 * math.sqrt(100 * grown) * (2 * 0.5 + 0.5 * math.sqrt(2 * math.log(20) + grown))
    assert base.kappa == pytest.approx(kappa)
    assert base.bound(0.05)(100) == pytest.approx(link_of(link).largest_slope / kappa * linear, rel=1e-6)
    assert base.bound(0.05).shape == ((0.5 * math.sqrt(3), 0.5),)


def test_a_slope_above_one_does_not_make_up_for_the_ridge() -> None:
    """kappa V is at most sum mu' x x^T + lambda I for a kappa of at most 1 alone."""
    steep = Link("steep", lambda z: 2 * z, lambda z: np.full_like(z, 2.0), 2.0)
    assert UcbGlm(link=steep).resolve(FIXED).kappa == 1.0
    assert UcbGlm(link=steep, curvature=2.0).resolve(FIXED).kappa == 2.0


def test_all_links_agree_on_the_rate() -> None:
    bases = [UcbGlm(link=link).resolve(FIXED) for link in ("logistic", "probit", "cloglog", "identity", "square")]
    assert target([base.bound(0.01) for base in bases]).row == "alpha and c known"


@pytest.mark.parametrize("environment", [GlmContexts(), GlmContexts(available=0.5), GlmArms()])
def test_smoothing(environment: Environment) -> None:
    bases = [UcbGlm(link="identity", switching=0.5), UcbGlm(link="square", switching=0.5)]
    record = try_out(environment, bases, Corral(), rows=4, horizon=100, preset="paper")
    assert (record.plays[:, -1].sum(axis=1) == 100).all()
    assert np.isfinite(record.regret).all()


@pytest.mark.parametrize("arms", [1, 3])
@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("horizon", [1, 2, 20])
def test_the_smallest_problems(arms: int, dimension: int, horizon: int) -> None:
    for environment in (GlmContexts(arms=arms, dimension=dimension), GlmArms(arms=arms, dimension=dimension, norm=0.0)):
        for link in ("logistic", "square"):
            assert np.isfinite(try_out(environment, UcbGlm(link=link), rows=2, horizon=horizon).regret).all()


def test_says_what_it_misses() -> None:
    with pytest.raises(
        CorralError, match=r"slope of the probit link falls to 0 on \|z\| <= 41; set a smaller norm, or"
    ):
        UcbGlm(link="probit", norm=40.0).resolve(FIXED)
    UcbGlm(link="probit", norm=40.0, curvature=0.1).resolve(FIXED)
    with pytest.raises(CorralError, match="ucb-glm needs features; the problem has none"):
        UcbGlm().resolve(attrs.evolve(FIXED, dimension=None))
    with pytest.raises(CorralError, match="ucb-glm needs a known scale of the noise"):
        UcbGlm().resolve(attrs.evolve(FIXED, noise=None))
    for wrong in ({"switching": 0.0}, {"curvature": 0.0}, {"curvature": math.nan}, {"length": math.inf}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            UcbGlm(**wrong)


def test_a_reward_that_is_no_number_stays_in_its_row() -> None:
    base = UcbGlm(switching=1e-6).resolve(PROBLEMS["fixed"])
    rng = np.random.default_rng(4)
    state = base.init(given_rows([base], {"features": rng.standard_normal((2, ARMS, FEATURES))}, 2), rng)
    rows = np.arange(2)
    base.learn(state, rows, Feedback(None, np.array([0, 0]), np.array([1.0, 1.0])), rng)
    before = state.estimates.theta.copy()
    with pytest.warns(RuntimeWarning, match="ucb-glm: a fit with the logistic link did not converge"):
        base.learn(state, rows, Feedback(None, np.array([1, 1]), np.array([np.nan, 0.0])), rng)
    assert np.array_equal(state.estimates.theta[0], before[0])
    assert not np.array_equal(state.estimates.theta[1], before[1])
    assert state.estimates.failures[:, 0].tolist() == [1, 0]


def test_fits_in_small_batches_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is fitted together is a matter of memory: seven rows at once or one at a time, bit by bit."""
    base = UcbGlm(norm=4.0, curvature=1.0, switching=0.5)
    whole = try_out(GlmContexts(dimension=2, arms=3), base, horizon=60, rows=7).regret
    monkeypatch.setattr("corral_glm.estimates.AT_ONCE", 1)
    assert (try_out(GlmContexts(dimension=2, arms=3), base, horizon=60, rows=7).regret == whole).all()
