"""kNN-UCB against a plain twin, with replays of prefixes, masks and features of arms; and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from corral_nonparam import KnnUcb, Lipschitz, search
from corral_nonparam.bases.knn_ucb import neighbours

from corral_core import Array, CorralError, Feedback, Observation, Problem, try_out
from corral_core.selection.setup import given_rows

CONTEXTS = Problem(
    arms=3, dimension=4, changing=True, shared=True, low=0.0, high=1.0, noise=0.1, horizon=1000, delta=0.01
)


class Twin:
    """One row, as the source writes it: all plays in lists."""

    def __init__(self, base: KnnUcb) -> None:
        self.base = base
        self.plays: list[tuple[int, list[float], float]] = []

    def act(self, features: Array, mask: Array, prefix: int) -> int:
        base, there = self.base, [arm for arm in range(self.base.arms) if mask[arm]]
        past = self.plays[:prefix]
        index = {}
        for arm in there:
            own = [(x, reward) for played, x, reward in past if played == arm]
            n = len(own)
            if n < base.initial:
                return arm
            x = (features if features.ndim == 1 else features[arm])[: base.dimension].tolist()
            k = 1
            while (k + 1) ** (2 + base.dimension) <= n**2:
                k += 1
            near = sorted(
                (sum((a - b) ** 2 for a, b in zip(point, x, strict=True)), i) for i, (point, _) in enumerate(own)
            )
            mean = sum(own[i][1] for i in sorted(i for _, i in near[:k])) / k
            scale, doubt = float(np.float32(base.scale)), float(np.float32(-math.log(base.delta)))
            bonus = math.sqrt(math.log(n) * (math.log(n * base.arms) + doubt)) * n ** (-1 / (2 + base.dimension))
            index[arm] = mean + scale * bonus
        return max(there, key=lambda arm: (index[arm], -arm))

    def learn(self, features: Array, arm: int, reward: float) -> None:
        x = (features if features.ndim == 1 else features[arm])[: self.base.dimension].tolist()
        self.plays.append((arm, x, reward))


@pytest.mark.parametrize("trees", [False, True])
@pytest.mark.parametrize("kind", ["shared", "masked", "of arms", "lattice", "single precision"])
def test_every_play_and_every_replay_is_the_twins(kind: str, trees: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """120 plays of four rows; at each, a replay of an earlier policy at another context."""
    if trees:
        monkeypatch.setattr(search, "TREES_FROM", 20)
        monkeypatch.setattr(search, "LEAF", 8)
    rng, rows = np.random.default_rng(7), np.arange(4)
    problem = attrs.evolve(CONTEXTS, shared=kind != "of arms", masked=kind == "masked")
    base = KnnUcb(dimension=2, scale=0.2, initial=2).resolve(problem)
    state: Any = base.init(given_rows([base], {}, 4), rng)
    twins = [Twin(base) for _ in rows]
    policies = []

    def drawn() -> tuple[Array, Array, Observation]:
        features = rng.random((4, 3, 4) if kind == "of arms" else (4, 4))
        if kind == "lattice":
            features = np.round(features * 3) / 3
        if kind == "single precision":
            features = features.astype(np.float32)
        mask = np.ones((4, 3), dtype=bool)
        if kind == "masked":
            mask = rng.random((4, 3)) < 0.6
            mask[:, 1] |= ~mask.any(axis=1)
        return features, mask, Observation(features, mask if kind == "masked" else None)

    for play in range(120):
        features, mask, observation = drawn()
        policy = base.policy(state, rows)
        policies.append(policy)
        arm = base.act(policy, observation, rng)
        assert arm.tolist() == [twin.act(features[row], mask[row], play) for row, twin in enumerate(twins)]
        other, there, elsewhere = drawn()
        earlier = int(rng.integers(0, play + 1))
        replayed = base.act(policies[earlier], elsewhere, rng)
        assert replayed.tolist() == [twin.act(other[row], there[row], earlier) for row, twin in enumerate(twins)]
        reward = np.sin(7 * features.reshape(4, -1)[:, 0] + arm) + 0.1 * rng.standard_normal(4)
        base.learn(state, rows, Feedback(observation, arm, reward), rng)
        for row, twin in enumerate(twins):
            twin.learn(features[row], int(arm[row]), float(reward[row]))


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 8, 20])
def test_the_number_of_neighbours_is_exact(dimension: int) -> None:
    """The largest k with k^(2+d) <= n^2, in whole numbers; around every step, where rounding would show."""
    power = 2 + dimension
    steps = [math.isqrt(k**power) + more for k in range(1, 400) for more in (-1, 0, 1, 2)]
    n = np.array(sorted({step for step in steps if 1 <= step <= 10**7}))
    found = neighbours(n, dimension).tolist()
    for count, k in zip(n.tolist(), found, strict=True):
        assert k**power <= count**2 < (k + 1) ** power


def test_a_policy_is_a_few_bytes() -> None:
    base = KnnUcb().resolve(CONTEXTS)
    state = base.init(given_rows([base], {}, 5), np.random.default_rng(1))
    policy = base.policy(state, np.arange(5))
    assert policy.history is state.history
    assert sum(array.nbytes for array in (policy.row, policy.plays, policy.scale, policy.doubt)) == 5 * (4 * 3 + 12)


@pytest.mark.parametrize("delta", [5e-324, 1e-50, 0.5, 1 - 1e-16])
def test_any_delta_will_do(delta: float) -> None:
    """Policies are of single precision, in which the smallest of these are zero and the largest is one."""
    record = try_out(Lipschitz(), KnnUcb(delta=delta, scale=1e9), horizon=40, rows=2)
    assert np.isfinite(record.regret).all()


def test_the_bound_is_its_formula() -> None:
    base = KnnUcb(dimension=2, scale=0.5, initial=4).resolve(CONTEXTS)
    bound = base.bound(0.01)
    assert bound is not None
    logarithms = math.sqrt(math.log(1000) * math.log(1000 * 3 / 0.01))
    expected = 3 * 4 * 1.0 + 2 * (4 / 3) * 0.5 * logarithms * 3**0.25 * 100**0.75
    assert bound(100) == pytest.approx(expected, rel=1e-12)
    assert bound.shape == ((pytest.approx(0.1 * 3**0.25), 0.75),)
    twice = 2 * sum(0.5 * logarithms * n**-0.25 for n in range(1, 34)) * 3  # twice the bonuses of 33 plays of each arm
    assert twice < expected
    assert KnnUcb(dimension=2).resolve(attrs.evolve(CONTEXTS, horizon=None)).bound(0.01) is None


@pytest.mark.parametrize(
    ("base", "changes", "words"),
    [
        (KnnUcb(), {"dimension": None}, "knn-ucb needs features"),
        (KnnUcb(dimension=1), {"dimension": None}, "knn-ucb needs features"),
        (KnnUcb(), {"changing": False}, "needs contexts that change"),
        (KnnUcb(dimension=5), {}, "dimension must be at most 4"),
        (KnnUcb(arms=2), {}, "plays all 3 arms"),
        (KnnUcb(), {"delta": None}, "needs a failure probability"),
    ],
)
def test_refusals(base: KnnUcb, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CorralError, match=words):
        base.resolve(attrs.evolve(CONTEXTS, **changes))


@pytest.mark.parametrize(
    "wrong",
    [{"scale": -1.0}, {"scale": math.nan}, {"scale": math.inf}, {"initial": 0}, {"dimension": 0}, {"delta": 0.0}],
)
def test_wrong_values_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        KnnUcb(**wrong)


def test_features_that_are_not_finite_are_refused() -> None:
    base = KnnUcb(initial=1).resolve(attrs.evolve(CONTEXTS, arms=1))
    state = base.init(given_rows([base], {}, 1), np.random.default_rng(1))
    rng, row = np.random.default_rng(1), np.array([0])
    base.learn(state, row, Feedback(Observation(np.zeros((1, 4))), row, np.zeros(1)), rng)
    with pytest.raises(CorralError, match="finite"):
        base.act(base.policy(state, row), Observation(np.full((1, 4), np.nan)), rng)
    with pytest.raises(CorralError, match="features at every play"):
        base.act(base.policy(state, row), Observation(), rng)


def test_adapted_bases_learn_and_others_cannot() -> None:
    """d* = 2: with two features far below uniform play, with one as bad as that.

    16 rows of 1,000 plays. Uniform play loses (2/pi)^2/2 = .2026 per play on average; so does d = 1, which sees arms of
    equal means. A gap |sin sin| has mean .405 and mean square 1/4, and half of it is lost, on average over two arms:
    a play's loss has a variance of 1/8 - .041 = .084, and the mean of 16,000 independent plays a standard error of
    .0023. Arms played are not independent, but contexts are, and the loss of either arm at a context is all there is:
    4.5 standard errors, a failure probability below 1e-5. The reference of 4,000 plays (14.5, two seeds) is 1.8% of
    what uniform play loses there; a tenth of it after 1,000 plays is several times what was seen.
    """
    world = Lipschitz(dimension=4, relevant=2)
    lost = {d: try_out(world, KnnUcb(dimension=d), horizon=1000, rows=16).regret[:, -1].mean() for d in (1, 2)}
    assert abs(lost[1] / 1000 - (2 / math.pi) ** 2 / 2) < 4.5 * 0.0023
    assert lost[2] < 0.1 * 1000 * (2 / math.pi) ** 2 / 2
