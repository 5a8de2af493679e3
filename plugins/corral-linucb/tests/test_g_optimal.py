"""Designs against known optima, and the elimination against a plain loop and its source's promises."""

from __future__ import annotations

import math
from collections import deque
from typing import ClassVar

import attrs
import numpy as np
import pytest
from corral_linucb import GOptimal
from corral_linucb.bases.g_optimal import GOptimalState
from corral_linucb.design import coordinates, design
from numpy.random import Generator

from corral_core import Array, Bandit, CorralError, Feedback, Observation, Problem, Rows, parameter, try_out
from corral_core.environments.bandit import chosen, gaussian
from corral_core.protocols.problem import NOTHING
from corral_core.selection.setup import given_rows

# --- Designs ----------------------------------------------------------------------------------------------------------


def largest_width(features: Array, weights: Array, active: Array) -> float:
    """max over active a of ||a||^2_{V^+}, of one row."""
    spread = np.linalg.pinv((features.T * weights) @ features, rcond=1e-10, hermitian=True)
    return float(np.einsum("ai,ij,aj->a", features[active], spread, features[active]).max())


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_unit_vectors_get_equal_weights(scale: float) -> None:
    """Also where some are longer, and where shorter arms point between them."""
    axes = np.diag([1.0, 3.0, 0.01, 20.0])
    between = 0.3 * axes + 0.2 * np.roll(axes, 1, axis=0)
    features = scale * np.concatenate([between, axes])[None]
    weights = design(features, np.ones((1, 8), dtype=bool), 0.001)
    assert weights[0] == pytest.approx([0, 0, 0, 0, 0.25, 0.25, 0.25, 0.25], abs=1e-12)


@pytest.mark.parametrize("corners", [3, 4, 5, 7, 12])
def test_polygon(corners: int) -> None:
    """On a circle the optimum is V = I/2, which equal weights attain: ours has it up to the tolerance."""
    angle = 2 * np.pi * np.arange(corners) / corners
    features = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    active = np.ones((1, corners), dtype=bool)
    weights = design(features[None], active, 1e-4)[0]
    assert largest_width(features, weights, active[0]) <= 2 * (1 + 1.001e-4)
    assert features.T @ (weights[:, None] * features) == pytest.approx(np.eye(2) / 2, abs=0.01)


@pytest.mark.parametrize("tolerance", [1.0, 0.1, 0.001])
@pytest.mark.parametrize(("arms", "d"), [(1, 1), (6, 1), (50, 2), (20, 5), (64, 8), (5, 8)])
def test_near_the_optimum(arms: int, d: int, tolerance: float) -> None:
    """g <= (1 + tolerance) rank, whatever is active; supports as small as the first phase of the elimination counts on.

    (Never below the rank: no design is.)
    """
    rng, rows = np.random.default_rng(10 * arms + d), 12
    features = rng.standard_normal((rows, arms, d)) * 10 ** rng.uniform(-2, 2, (rows, 1, d))
    active = rng.random((rows, arms)) < np.linspace(0.2, 1.2, rows)[:, None]
    active[:, -1] = True
    weights = design(features, active, tolerance)
    assert weights.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert (weights >= 0).all()
    assert (weights[~active] == 0).all()
    for row in range(rows):
        rank = min(int(active[row].sum()), d)
        g = largest_width(features[row] / np.abs(features[row]).max(axis=0), weights[row], active[row])
        assert rank * (1 - 1e-9) <= g <= (1 + tolerance) * rank * (1 + 1e-9)
        if tolerance == 1:
            assert (weights[row] > 0).sum() <= 4 * d * math.log(math.log(max(d, 3))) + 16


def test_arms_in_a_subspace() -> None:
    """Arms of rank 3 in ten dimensions, one nearly so, repeated arms, and arms that are all zero."""
    rng = np.random.default_rng(1)
    features = np.zeros((4, 12, 10))
    features[0] = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 10))
    features[1] = features[0] + 1e-13 * rng.standard_normal((12, 10))
    features[2] = rng.standard_normal(10)
    active = np.ones((4, 12), dtype=bool)
    active[3, :2] = False
    assert coordinates(features, active).rank.tolist() == [3, 3, 1, 0]
    weights = design(features, active, 0.001)
    assert largest_width(features[0], weights[0], active[0]) <= 3 * 1.0011
    assert largest_width(features[1], weights[1], active[1]) <= 3 * 1.0011
    assert (weights[2] > 0).sum() == 1
    assert weights[3].tolist() == [0, 0, 1] + [0] * 9


def test_coordinates_say_the_arms() -> None:
    """Arms are their coordinates times the spanning arms, which are unit vectors; condition numbers of 1e6."""
    rng = np.random.default_rng(2)
    features = rng.standard_normal((20, 9, 4)) * 10.0 ** np.array([0, -2, -4, -6])
    active = np.ones((20, 9), dtype=bool)
    arms, rank, spanning = coordinates(features, active)
    assert (rank == 4).all()
    picked = np.take_along_axis(features, spanning[:, :, None], axis=1)
    assert arms @ picked == pytest.approx(features, abs=1e-12)
    assert np.take_along_axis(arms, spanning[:, :, None], axis=1) == pytest.approx(np.tile(np.eye(4), (20, 1, 1)))


def test_designs_do_not_touch_each_other() -> None:
    rng = np.random.default_rng(3)
    features, active = rng.standard_normal((30, 15, 4)), rng.random((30, 15)) < 0.6
    active[:, 0] = True
    together = design(features, active, 0.05)
    alone = [design(features[row : row + 1], active[row : row + 1], 0.05)[0] for row in range(30)]
    assert np.array(alone) == pytest.approx(together, abs=1e-9)


# --- The base ---------------------------------------------------------------------------------------------------------


class Instance(Rows):
    features: Array
    mean: Array
    best: Array


@attrs.frozen
class Sphere(Bandit):
    """Arms uniform on the unit sphere, with means <a, theta*> for a theta* on it too."""

    name: ClassVar[str] = "sphere"
    arms: int = parameter(20, help="number of arms")
    dimension: int = parameter(3, help="number of features")
    noise: float = parameter(0.3, help="standard deviation")

    @property
    def problem(self) -> Problem:
        return Problem(self.name, arms=self.arms, dimension=self.dimension, noise=self.noise, low=-1.0, high=1.0)

    def draw(self, rows: int, rng: Generator) -> Instance:
        drawn = rng.standard_normal((rows, self.arms + 1, self.dimension))
        drawn /= np.linalg.norm(drawn, axis=2, keepdims=True)
        mean = np.einsum("nad,nd->na", drawn[:, 1:], drawn[:, 0])
        return Instance(drawn[:, 1:], mean, mean.max(axis=1))

    def shown(self, instance: Instance) -> dict[str, Array]:
        return {"features": instance.features}

    def pay(self, instance: Instance, observation: Observation, action: Array, rng: Generator) -> tuple[Array, Array]:
        return gaussian(instance.mean, instance.best, action, self.noise, rng)


def started(
    environment: Sphere, rows: int, seed: int, scale: float = 0.5, delta: float = 0.01
) -> tuple[GOptimal, GOptimalState, Instance]:
    base = GOptimal(scale=scale).resolve(attrs.evolve(environment.problem, delta=delta))
    rng = np.random.default_rng(seed)
    instance = environment.draw(rows, rng)
    return base, base.init(given_rows([base], environment.shown(instance), rows), rng), instance


class Twin:
    """One learner, in loops over arms."""

    def __init__(self, features: Array, noise: float, scale: float, delta: float) -> None:
        self.features = [np.array(arm) for arm in features]
        self.d = features.shape[1]
        self.factor = 2 * scale * noise
        self.log = math.log(len(features) / delta)
        self.active = list(range(len(features)))
        self.m = math.ceil(4 * self.d * math.log(math.log(max(self.d, 3)))) + 16
        self.start()

    def start(self) -> None:
        chosen_arms: list[int] = []
        for _ in range(self.d):
            residual = {}
            for a in self.active:
                arm = self.features[a]
                if chosen_arms:
                    span = np.array([self.features[b] for b in chosen_arms]).T
                    arm = arm - span @ np.linalg.lstsq(span, arm, rcond=None)[0]
                residual[a] = float(np.linalg.norm(arm))
            longest = max(residual.values())
            best = min(a for a in self.active if residual[a] >= (1 - 1e-9) * longest)
            if residual[best] < 1e-9:
                break
            chosen_arms.append(best)
        rank = len(chosen_arms)
        pi = {a: (1 / rank if a in chosen_arms else 0.0) for a in self.active}
        while True:
            spread = sum(pi[a] * np.outer(self.features[a], self.features[a]) for a in self.active)
            inverse = np.linalg.pinv(spread, rcond=1e-12)
            width = {a: float(self.features[a] @ inverse @ self.features[a]) for a in self.active}
            worst = max(self.active, key=lambda a: width[a])
            if width[worst] <= 2 * rank:
                break
            step = (width[worst] / rank - 1) / (width[worst] - 1)
            pi = {a: (1 - step) * pi[a] + (step if a == worst else 0.0) for a in self.active}
        self.left = {a: math.ceil(self.m * pi[a] - 1e-9) for a in self.active}
        self.data: list[tuple[Array, float]] = []

    def arm(self) -> int:
        return min(self.left, key=lambda a: (-self.left[a], a))

    def learn(self, arm: int, reward: float) -> None:
        self.data.append((self.features[arm], reward))
        self.left[arm] -= 1
        if any(self.left.values()):
            return
        x, y = (np.array(column) for column in zip(*self.data, strict=True))
        theta = np.linalg.lstsq(x, y, rcond=None)[0]
        value = {a: float(self.features[a] @ theta) for a in self.active}
        widest = self.factor * math.sqrt(4 * self.d / self.m * self.log)
        self.active = [a for a in self.active if max(value.values()) - value[a] <= widest]
        self.m *= 2
        self.start()


@pytest.mark.parametrize(("arms", "d"), [(20, 3), (6, 2), (30, 6), (1, 2), (4, 1)])
def test_against_a_loop(arms: int, d: int) -> None:
    """1,500 plays of five rows: the same arm at every play, and the same arms left at the end."""
    environment = Sphere(arms=arms, dimension=d, noise=0.1)
    base, state, instance = started(environment, 5, seed=arms)
    twins = [Twin(instance.features[row], 0.1, 0.5, 0.01) for row in range(5)]
    rng, rows = np.random.default_rng(4), np.arange(5)
    for _ in range(1500):
        arm = base.act(base.policy(state, rows), NOTHING, rng)
        assert arm.tolist() == [twin.arm() for twin in twins]
        reward, _ = environment.pay(instance, NOTHING, arm, rng)
        base.learn(state, rows, Feedback(NOTHING, arm, reward), rng)
        for row in rows:
            twins[row].learn(int(arm[row]), float(reward[row]))
    for row in rows:
        assert np.flatnonzero(state.active[row]).tolist() == twins[row].active
    if arms > 4:
        assert state.active.sum(axis=1).mean() < arms / 2


def test_rows_do_not_touch_each_other() -> None:
    """Rows learn one at a time, in any order, what they learn together; others do not change."""
    environment = Sphere(noise=0.1)
    base, together, instance = started(environment, 6, seed=5)
    _, alone, _ = started(environment, 6, seed=5)
    rng, rows = np.random.default_rng(6), np.arange(6)
    for _ in range(400):
        arm = base.act(base.policy(together, rows), NOTHING, rng)
        reward, _ = environment.pay(instance, NOTHING, arm, rng)
        base.learn(together, rows, Feedback(NOTHING, arm, reward), rng)
        for row in rng.permutation(6):
            one = np.array([row])
            before = alone.take(np.delete(rows, row))
            assert base.policy(alone, one).arm == arm[one]
            base.learn(alone, one, Feedback(NOTHING, arm[one], reward[one]), rng)
            after = alone.take(np.delete(rows, row))
            assert all((getattr(before, name) == getattr(after, name)).all() for name in GOptimalState.names)
    assert (together.active == alone.active).all()
    assert (together.left == alone.left).all()


def test_late_rewards() -> None:
    """Rewards that come 1 to 40 plays late, in any order: the elimination goes on, and keeps the best arm.

    Ten phases with 40 rows at delta = 1e-6: it is lost by chance in 1e-3.
    """
    environment, rows = Sphere(noise=0.1), np.arange(40)
    base, state, instance = started(environment, 40, seed=7, scale=1.0, delta=1e-6)
    rng, waiting = np.random.default_rng(8), deque[tuple[Array, Array]]()
    for play in range(6000):
        arm = base.act(base.policy(state, rows), NOTHING, rng)
        waiting.append((arm, environment.pay(instance, NOTHING, arm, rng)[0]))
        if play % 40 == 39:
            for _ in range(len(waiting)):
                waiting.rotate(int(rng.integers(40)))
                late, reward = waiting.popleft()
                base.learn(state, rows, Feedback(NOTHING, late, reward), rng)
                assert (state.left >= 0).all()
                assert (state.left.sum(axis=1) == state.unfinished).all()
                assert (state.unfinished > 0).all()
                assert (state.left[~state.active] == 0).all()
    assert state.active[rows, instance.mean.argmax(axis=1)].all()
    assert state.active.sum(axis=1).mean() < 10
    assert (state.length > base.first_phase * 16).all()


def test_the_best_arm_stays() -> None:
    """And no other arm stays that is more than four widths from it, in 4,000 plays of 300 rows at delta = 0.001.

    Seven phases end, so that a row fails with probability at most 2 * 7 * delta = 0.014: twenty of them in 1e-7.
    """
    environment, rows = Sphere(arms=10, dimension=2, noise=0.3), np.arange(300)
    base, state, instance = started(environment, 300, seed=9, scale=1.0, delta=0.001)
    rng = np.random.default_rng(10)
    for _ in range(4000):
        arm = base.act(base.policy(state, rows), NOTHING, rng)
        reward, _ = environment.pay(instance, NOTHING, arm, rng)
        base.learn(state, rows, Feedback(NOTHING, arm, reward), rng)
    assert (state.length == base.first_phase * 2**7).all()
    stayed = state.active[rows, instance.mean.argmax(axis=1)]
    gap = np.where(state.active, instance.best[:, None] - instance.mean, 0.0).max(axis=1)
    width = 0.3 * np.sqrt(4 * 2 * math.log(10 / 0.001) / (state.length / 2))
    assert (~stayed | (gap > 4 * width)).sum() < 20


def test_learns_where_it_is_adapted() -> None:
    """A fifth of uniform play's regret or less, and below its bound in every row.

    The mean of 64 rows is a tenth of uniform play's, with a standard error of a three-hundredth: 27 of them away.
    A row breaks its bound with probability at most 26/8000, were the bound tight; it is nine times the mean regret.
    """
    environment, horizon = Sphere(arms=20, dimension=3, noise=0.3), 8000
    regret = try_out(environment, [GOptimal()], rows=64, horizon=horizon).regret
    assert regret is not None
    instance = environment.draw(64, np.random.default_rng(1).spawn(3)[0])
    uniform = horizon * (instance.best - instance.mean.mean(axis=1)).mean()
    assert regret[:, -1].mean() < uniform / 5
    problem = attrs.evolve(environment.problem, horizon=horizon, delta=1 / horizon)
    bound = GOptimal().resolve(problem).bound(1 / horizon)
    at = np.linspace(horizon / regret.shape[1], horizon, regret.shape[1])
    assert (regret <= bound(at)).all()
    assert bound.leading is not None and bound.leading.alpha == 0.5


def test_uses_the_first_features_and_its_own_knobs() -> None:
    """Of two kin with other scales the narrower eliminates more; noise in further features changes nothing."""
    environment = Sphere(dimension=2, noise=0.1)
    rng = np.random.default_rng(11)
    instance = environment.draw(8, rng)
    wider = np.concatenate([instance.features, rng.standard_normal((8, 20, 3))], axis=2)
    problem = attrs.evolve(environment.problem, dimension=5, delta=0.01)
    bases = [GOptimal(scale=scale, dimension=2).resolve(problem) for scale in (0.3, 2.0)]
    state = bases[0].init(given_rows(bases, {"features": wider}, 8), rng)
    plain = GOptimal(scale=0.3).resolve(attrs.evolve(environment.problem, delta=0.01))
    other = plain.init(given_rows([plain], environment.shown(instance), 8), rng)
    noise = rng.standard_normal((300, 8)) * 0.1
    for play in range(300):
        arm = bases[0].act(bases[0].policy(state, np.arange(16)), NOTHING, rng)
        same = plain.act(plain.policy(other, np.arange(8)), NOTHING, rng)
        assert (same == arm[:8]).all()
        reward = chosen(np.tile(instance.mean, (2, 1)), arm) + np.tile(noise[play], 2)
        bases[0].learn(state, np.arange(16), Feedback(NOTHING, arm, reward), rng)
        plain.learn(other, np.arange(8), Feedback(NOTHING, same, reward[:8]), rng)
    left = state.active.sum(axis=1)
    assert left[:8].mean() < left[8:].mean()


def test_exact_rewards_and_arms_of_nothing() -> None:
    """Without noise one phase finds the best arm; arms without features are all kept."""
    environment, rows = Sphere(noise=0.0), np.arange(3)
    base, _, instance = started(environment, 3, seed=12)
    features = instance.features.copy()
    features[2] = 0.0
    rng = np.random.default_rng(13)
    state = base.init(given_rows([base], {"features": features}, 3), rng)
    for _ in range(100):
        arm = base.act(base.policy(state, rows), NOTHING, rng)
        base.learn(state, rows, Feedback(NOTHING, arm, chosen(instance.mean, arm)), rng)
    assert state.active.sum(axis=1).tolist() == [1, 1, 20]
    assert (arm[:2] == instance.mean.argmax(axis=1)[:2]).all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"changing": True}, "g-optimal needs fixed arms; sphere changes them from play to play"),
        ({"masked": True}, "needs every arm at every play"),
        ({"shared": True, "changing": True}, "needs features of every arm"),
        ({"actions": "ball"}, "needs finitely many actions"),
        ({"dimension": None}, "needs features; sphere has none"),
    ],
)
def test_refuses(changes: dict[str, object], sentence: str) -> None:
    problem = attrs.evolve(Sphere().problem, delta=0.1, **changes)
    with pytest.raises(CorralError, match=sentence):
        GOptimal().resolve(problem)


def test_needs_to_see_the_arms() -> None:
    base = GOptimal().resolve(attrs.evolve(Sphere().problem, delta=0.1))
    with pytest.raises(CorralError, match="g-optimal needs the features of fixed arms; sphere shows none"):
        base.init(given_rows([base], {}, 2), np.random.default_rng(0))
