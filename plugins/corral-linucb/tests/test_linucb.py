"""LinUCB and what derives from it, each against a plain loop with `solve`, and against what its source promises."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from corral_linucb import (
    DisjointLinUcb,
    GOptimal,
    InfiniteNested,
    LinearArms,
    LinUcb,
    MisspecifiedContexts,
    MisspecifiedLinUcb,
    ModCb,
    NestedDimension,
    QuadraticContexts,
    QuadraticLinUcb,
    SharedContext,
    SupLinUcb,
)
from corral_linucb.bases.quadratic_linucb import svec
from corral_linucb.secular import maximise, maximise_ellipsoid

from corral_core import CorralError, Feedback, Observation, Problem, plain, try_out
from corral_core.protocols.problem import NOTHING
from corral_core.selection.setup import given_rows

ROWS, ARMS, D = 3, 6, 5
CHANGING = Problem(arms=ARMS, dimension=D, changing=True, masked=True, noise=0.4, low=-1, high=1, delta=0.02)
FIXED = attrs.evolve(CHANGING, changing=False, masked=False)


class Twin:
    """One learner of LinUCB's, in double precision and with no shortcut."""

    def __init__(self, d: int, *, scale: float = 1.0, delta: float = 0.02, epsilon: float = 0.0) -> None:
        self.gram, self.response, self.s = 2.0 * np.eye(d), np.zeros(d), 1
        self.scale, self.delta, self.epsilon = scale, delta, epsilon

    @property
    def theta(self) -> np.ndarray:
        return np.linalg.solve(self.gram, self.response)

    @property
    def radius(self) -> float:
        grown = math.log(np.linalg.det(self.gram)) - len(self.gram) * math.log(2.0)
        beta = 0.4 * math.sqrt(grown + 2 * math.log(1 / self.delta)) + math.sqrt(2.0) * 1.5
        return self.scale * beta + self.epsilon * math.sqrt(self.s)

    def index(self, x: np.ndarray) -> float:
        return float(x @ self.theta + self.radius * math.sqrt(x @ np.linalg.solve(self.gram, x)))

    def learn(self, x: np.ndarray, y: float) -> None:
        self.gram += np.outer(x, x)
        self.response += x * y
        self.s += 1


PARAMETERS = {"penalty": 2.0, "norm": 1.5}
KINDS = {
    "linucb": (LinUcb(**PARAMETERS), lambda x: x, {}),
    "first features": (LinUcb(dimension=2, scale=0.3, **PARAMETERS), lambda x: x[:2], {"scale": 0.3}),
    "misspecified": (
        MisspecifiedLinUcb(epsilon=0.2, delta=0.5, **PARAMETERS),
        lambda x: x,
        {"epsilon": 0.2, "delta": 0.5},
    ),
    "quadratic": (QuadraticLinUcb(dimension=3, **PARAMETERS), lambda x: svec(x[:3]), {}),
    "quadratic and linear": (
        QuadraticLinUcb(dimension=3, linear=True, **PARAMETERS),
        lambda x: np.concatenate([x[:3], svec(x[:3])]),
        {},
    ),
}


@pytest.mark.parametrize("problem", [FIXED, CHANGING], ids=["fixed arms", "changing and masked arms"])
@pytest.mark.parametrize("kind", KINDS)
def test_plays_the_largest_index_of_a_loop(kind: str, problem: Problem) -> None:
    """400 plays, three rebuilds among them; policies of changing arms are of single precision."""
    base, seen, knobs = KINDS[kind]
    base = base.resolve(problem)
    rng, rows = np.random.default_rng(1), np.arange(ROWS)
    fixed = rng.standard_normal((ROWS, ARMS, D)) / 2
    state = base.init(given_rows([base], {} if problem.changing else {"features": fixed}, ROWS), rng)
    twins = [Twin(len(seen(fixed[0, 0])), **knobs) for _ in rows]
    exact = 1e-5 if problem.changing else 1e-10
    for _ in range(400):
        features = rng.standard_normal((ROWS, ARMS, D)) / 2 if problem.changing else fixed
        mask = rng.random((ROWS, ARMS)) < 0.6
        mask[:, 2] |= ~mask.any(axis=1)
        observation = Observation(features, mask) if problem.changing else NOTHING
        action = base.act(base.policy(state, rows), observation, rng)
        reward = np.einsum("nd,nd->n", features[rows, action], np.cos(np.arange(ROWS * D)).reshape(ROWS, D))
        reward += 0.4 * rng.standard_normal(ROWS)
        base.learn(state, rows, Feedback(observation, action, reward), rng)
        for row, twin in enumerate(twins):
            there = mask[row] if problem.changing else np.ones(ARMS, dtype=bool)
            index = [
                twin.index(seen(x)) if is_there else -np.inf for x, is_there in zip(features[row], there, strict=True)
            ]
            assert index[action[row]] == pytest.approx(max(index), abs=exact)
            twin.learn(seen(features[row, action[row]]), reward[row])


@pytest.mark.parametrize("actions", ["ball", "ellipsoid"])
def test_infinite_sets_against_a_loop(actions: str) -> None:
    """The policy is what the exact maximiser makes of a loop's estimate; zeros where features are not looked at."""
    problem = Problem(actions=actions, dimension=D, changing=actions == "ellipsoid", noise=0.4, delta=0.02)
    base = LinUcb(dimension=3, **PARAMETERS).resolve(problem)
    rng, row = np.random.default_rng(2), np.arange(1)
    state, twin = base.init(given_rows([base], {}, 1), rng), Twin(3)
    for _ in range(150):
        axes = 0.5 + rng.random((1, D)) / 2
        observation = NOTHING if actions == "ball" else Observation(axes)
        action = base.act(base.policy(state, row), observation, rng)
        believed = twin.theta[None], np.linalg.inv(twin.gram)[None], np.array([twin.radius])
        best = maximise(*believed) if actions == "ball" else maximise_ellipsoid(*believed, axes[:, :3])
        assert twin.index(action[0, :3]) == pytest.approx(twin.index(best[0]), abs=1e-6)
        assert (action[0, 3:] == 0).all()
        reward = action @ np.arange(D) / D + 0.4 * rng.standard_normal(1)
        base.learn(state, row, Feedback(observation, action, reward), rng)
        twin.learn(action[0, :3], reward[0])


@pytest.mark.parametrize("shared", [True, False], ids=["one context", "features of each arm"])
def test_disjoint_linucb_against_loops(shared: bool) -> None:
    """A loop's LinUCB for every arm, with delta/K."""
    base = DisjointLinUcb(dimension=4, **PARAMETERS).resolve(attrs.evolve(CHANGING, shared=shared))
    rng, rows = np.random.default_rng(3), np.arange(ROWS)
    state = base.init(given_rows([base], {}, ROWS), rng)
    twins = [[Twin(4, delta=0.02 / ARMS) for _ in range(ARMS)] for _ in rows]
    for _ in range(300):
        features = rng.standard_normal((ROWS, D) if shared else (ROWS, ARMS, D)) / 2
        mask = rng.random((ROWS, ARMS)) < 0.7
        mask[:, 0] |= ~mask.any(axis=1)
        observation = Observation(features, mask)
        action = base.act(base.policy(state, rows), observation, rng)
        reward = rng.standard_normal(ROWS)
        base.learn(state, rows, Feedback(observation, action, reward), rng)
        for row in rows:
            x = [features[row, :4] if shared else features[row, arm, :4] for arm in range(ARMS)]
            index = [twins[row][arm].index(x[arm]) if mask[row, arm] else -np.inf for arm in range(ARMS)]
            assert index[action[row]] == pytest.approx(max(index), abs=1e-5)
            twins[row][action[row]].learn(x[action[row]], reward[row])


def test_disjoint_linucb_on_fixed_arms_is_the_same_as_on_arms_that_happen_not_to_change() -> None:
    rng, rows = np.random.default_rng(4), np.arange(ROWS)
    features = rng.standard_normal((ROWS, ARMS, D))
    fixed, changing = (DisjointLinUcb().resolve(problem) for problem in (FIXED, CHANGING))
    one = fixed.init(given_rows([fixed], {"features": features}, ROWS), rng)
    other = changing.init(given_rows([changing], {}, ROWS), rng)
    for _ in range(100):
        action = fixed.act(fixed.policy(one, rows), NOTHING, rng)
        seen = Observation(features)
        assert (action == changing.act(changing.policy(other, rows), seen, rng)).all()
        reward = rng.standard_normal(ROWS)
        fixed.learn(one, rows, Feedback(NOTHING, action, reward), rng)
        changing.learn(other, rows, Feedback(seen, action, reward), rng)


@pytest.mark.parametrize(
    ("base", "environment", "uniform"),
    [
        (LinUcb(norm=1.5, length=1.5, penalty=2.25), LinearArms(arms=20, noise=0.05), 0.25),
        (LinUcb(switching=0.1), NestedDimension(dimension=4, relevant=4, noise=0.05), 0.3),
        (LinUcb(switching=0.1), NestedDimension(dimension=4, relevant=4, noise=0.05, available=0.5), 0.25),
        (LinUcb(), InfiniteNested(dimension=4, relevant=4, noise=0.05), 1.0),
        (LinUcb(), InfiniteNested(dimension=4, relevant=4, noise=0.05, set="ellipsoid"), 0.7),
        (MisspecifiedLinUcb(epsilon=0.01), MisspecifiedContexts(dimension=4, misspecification=0.01, noise=0.05), 0.3),
        (QuadraticLinUcb(), QuadraticContexts(arms=10, dimension=2, noise=0.02), 0.3),
        (DisjointLinUcb(), SharedContext(arms=2, dimension=2, noise=0.05), 0.5),
        (DisjointLinUcb(), SharedContext(arms=2, dimension=2, noise=0.05, available=0.6), 0.3),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_learns_where_it_is_adapted(base, environment, uniform: float) -> None:
    """Less than a quarter of what uniform play loses at least, and below its bound in every row.

    The bound says something: less than half of what can be lost. A row breaks it with probability at most
    delta = 1/2000; the means lie far below the quarter.
    """
    horizon = 2000
    regret = try_out(environment, [base], rows=24, horizon=horizon).regret
    assert regret is not None
    problem = attrs.evolve(environment.problem, horizon=horizon, delta=1 / horizon)
    bound = base.resolve(problem).bound(1 / horizon)
    low, high = problem.range
    assert bound(horizon) < (high - low) * horizon / 2
    assert (regret < bound(np.linspace(0, horizon, 201)[1:])).all()
    assert regret[:, -1].mean() < uniform * horizon / 4


@pytest.mark.parametrize(
    ("dimension", "reference"), [(1, 1145), (2, 477), (4, 123), (8, 18.8), (16, 28), (32, 42), (64, 60)]
)
def test_reference_numbers_of_nested_dimensions(dimension: int, reference: float) -> None:
    """Published means of 20 runs of 4,000 plays, D = 64, d* = 8, ten arms.

    4.5 standard errors of the difference of two such means, estimated from 20 runs, and the rounding of the reference
    one: fails by chance in 2.5e-4 each (Student's t, 19 degrees of freedom).
    """
    base = LinUcb(dimension=dimension)
    regret = try_out(NestedDimension(), [base], rows=20, horizon=4000).regret[:, -1]
    error = regret.std(ddof=1) / math.sqrt(20)
    assert abs(regret.mean() - reference) < 4.5 * math.sqrt(2) * error + 0.5


def test_the_bound_is_the_sources() -> None:
    base = LinUcb(penalty=1.0, norm=2.0, length=3.0).resolve(FIXED)
    s = np.array([1.0, 50.0, 1e5])
    grown = np.log(1 + 9 * s / D)
    expected = 4 * np.sqrt(s * D * grown) * (2.0 + 0.4 * np.sqrt(2 * np.log(100) + D * grown))
    assert base.bound(0.01)(s) == pytest.approx(expected, rel=1e-12)
    wide = LinUcb(norm=2.0, length=3.0, scale=3.0, switching=3.0).resolve(FIXED).bound(0.01)
    assert wide(s) == pytest.approx(3 * 2 * expected, rel=1e-12)
    rare = MisspecifiedLinUcb(norm=2.0, length=3.0, epsilon=0.1, switching=3.0).resolve(FIXED).bound(0.01)
    assert rare(s) == pytest.approx(2 * expected + 0.2 * s * (2 * np.sqrt(2 * D * grown) + 1), rel=1e-12)
    wrong = MisspecifiedLinUcb(penalty=1.0, norm=2.0, length=3.0, epsilon=0.1).resolve(FIXED).bound(0.01)
    assert wrong(s) == pytest.approx(expected + 0.2 * s * (np.sqrt(2 * D * grown) + 1), rel=1e-12)
    assert [(round(c, 6), alpha) for c, alpha in wrong.shape] == [(0.4 * D, 0.5), (round(0.1 * math.sqrt(D), 6), 1.0)]
    ball = LinUcb().resolve(Problem(actions="ball", dimension=4, noise=1.0, delta=0.1)).bound(0.1)
    assert ball.shape[0].c == 4.0
    assert LinUcb().resolve(attrs.evolve(FIXED, dimension=4)).bound(0.1).shape[0].c == pytest.approx(0.8)


def test_svec_keeps_inner_products() -> None:
    rng = np.random.default_rng(11)
    z, theta = rng.standard_normal((2, 100, 4))
    assert (svec(z) * svec(theta)).sum(axis=1) == pytest.approx((z * theta).sum(axis=1) ** 2, rel=1e-10, abs=1e-12)
    assert np.linalg.norm(svec(z), axis=1) == pytest.approx((z**2).sum(axis=1), rel=1e-12)


def test_quadratic_features_are_as_long_as_the_bound_says() -> None:
    z = np.random.default_rng(13).standard_normal((50, 3))
    z *= 1.7 / np.linalg.norm(z, axis=1, keepdims=True)
    for linear in (False, True):
        base = QuadraticLinUcb(dimension=3, length=1.7, linear=linear)
        assert (base.mapped(z) ** 2).sum(axis=1) == pytest.approx(np.full(50, base.squared_length))


def test_refusals() -> None:
    with pytest.raises(CorralError, match="disjoint-linucb plays all 6 arms of here; leave arms out"):
        DisjointLinUcb(arms=2).resolve(attrs.evolve(FIXED, environment="here"))
    with pytest.raises(CorralError, match="suplinucb: low must be at most high, not 2 and 1"):
        SupLinUcb(low=2, horizon=10).resolve(FIXED)
    with pytest.raises(CorralError, match="linucb needs features; bernoulli-arms has none"):
        LinUcb().resolve(Problem("bernoulli-arms", arms=3, noise=1.0, delta=0.1))
    with pytest.raises(CorralError, match="one context for all of them, so use disjoint-linucb of corral-linucb"):
        LinUcb().resolve(attrs.evolve(CHANGING, shared=True))
    with pytest.raises(CorralError, match="linucb: dimension must be at most 5, as many as here has, not 9"):
        LinUcb(dimension=9).resolve(attrs.evolve(FIXED, environment="here"))
    with pytest.raises(
        CorralError, match="quadratic-linucb needs finitely many actions; the problem has a ball of actions"
    ):
        QuadraticLinUcb().resolve(Problem(actions="ball", dimension=2, noise=1.0, delta=0.1))
    base = LinUcb().resolve(attrs.evolve(FIXED, environment="here"))
    with pytest.raises(CorralError, match="linucb needs the features of fixed arms; here shows none"):
        base.init(given_rows([base], {}, 1), np.random.default_rng(0))
    with pytest.raises(CorralError, match="call resolve"):
        LinUcb(dimension=2, noise=1.0, delta=0.1).bound(0.1)


@pytest.mark.parametrize(
    "base", [LinUcb(), DisjointLinUcb(), SupLinUcb(horizon=9), ModCb(), GOptimal()], ids=lambda base: base.name
)
def test_wrong_features_of_fixed_arms_are_named(base) -> None:
    base, rng = base.resolve(attrs.evolve(FIXED, environment="here")), np.random.default_rng(14)
    features = np.ones((2, ARMS, D))
    features[1, 3, 0] = np.nan
    with pytest.raises(CorralError, match="here: features of row 1 are not finite numbers"):
        base.init(given_rows([base], {"features": features}, 2), rng)
    with pytest.raises(CorralError, match=r"of shape \(2, 6, 5\): rows, arms, features, .* not float64 of \(2, 6, 4\)"):
        base.init(given_rows([base], {"features": np.ones((2, ARMS, D - 1))}, 2), rng)


@pytest.mark.parametrize(
    "base", [LinUcb(), DisjointLinUcb(), SupLinUcb(horizon=9), ModCb()], ids=lambda base: base.name
)
def test_features_beyond_all_bounds_are_named(base) -> None:
    """Finite, but their squares are not; an arm that is masked away may have any."""
    base, rng = base.resolve(CHANGING), np.random.default_rng(15)
    policy = base.policy(base.init(given_rows([base], {}, 2), rng), np.arange(2))
    features = np.ones((2, ARMS, D))
    features[1, 3] = 1e300
    with pytest.raises(CorralError, match="arm 3 of row 1 cannot be valued: its features or rewards are not finite"):
        base.act(policy, Observation(features), rng)
    mask = np.ones((2, ARMS), dtype=bool)
    mask[1, 3] = False
    base.act(policy, Observation(features, mask), rng)


@pytest.mark.parametrize("base", [LinUcb(switching=0.5), DisjointLinUcb()], ids=lambda base: base.name)
def test_one_arm_one_feature_one_row_one_play(base) -> None:
    environment = NestedDimension(arms=1, dimension=1, relevant=1)
    record = try_out(environment, [base], rows=1, horizon=1)
    assert record.regret is not None and record.regret[0, 0] == 0.0


def test_states_survive_saving() -> None:
    base = LinUcb(switching=0.5).resolve(FIXED)
    rng, rows = np.random.default_rng(12), np.arange(ROWS)
    given = given_rows([base], {"features": rng.standard_normal((ROWS, ARMS, D))}, ROWS)
    player = plain(base).start(given, rng)
    for _ in range(50):
        action = player.act(player.next_policy(0, rows, rng), NOTHING, rng)
        player.learn(0, rows, Feedback(NOTHING, action, rng.standard_normal(ROWS)), rng)
    arrays = {name: array.copy() for name, array in player.state.to_arrays().items()}
    loaded = base.init(given, rng).from_arrays(arrays)
    assert np.array_equal(base.policy(loaded, rows).arm, base.policy(player.state, rows).arm)
    assert np.array_equal(loaded.ridge.inverse, player.state.ridge.inverse)
