"""LSVI-UCB by counts compared with LSVI-UCB by sums over all past steps, and its regret with too few features."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from corral_lsvi import LsviUcb, NestedLinearMdp

from corral_core import Array, CorralError, Environment, Feedback, Problem, try_out
from corral_core.checks.worlds import SmallChain
from corral_core.environments.finite_mdp import Model
from corral_core.selection.setup import given_rows

WORLD = NestedLinearMdp(states=6, arms=2, stages=4, dimension=4, relevant=2)
CHAIN = SmallChain(states=4, stages=5, dimension=3)  # is not linear, and ends early


@attrs.frozen
class Richer(NestedLinearMdp):
    """Pays ten times as much."""

    name = "richer"

    @property
    def problem(self) -> Problem:
        most = 10.0 * self.stages
        return attrs.evolve(super().problem, environment=self.name, step_high=10.0, high=most, noise=most / 2)

    def draw(self, rows: int, rng: Any) -> Any:
        instance = super().draw(rows, rng)
        model = Model.of(instance.model.probability, 10 * instance.model.reward, self.stages)
        return instance.replace(model=model)


RICHER = Richer(states=6, arms=2, stages=4, dimension=4, relevant=2)


def resolved(base: LsviUcb, environment: Environment = WORLD, horizon: int = 300) -> Any:
    return base.resolve(attrs.evolve(environment.problem, horizon=horizon, delta=0.1))


def naive(base: Any, beta: float, features: Array, steps: list[list[tuple[Array, float, int | None]]]) -> Array:
    """Action-values (stages, states, actions) of one learner, by the sums of the source over all past steps.

    Steps are (phi, reward, next state), by stage; the next state is None if the episode ended.
    """
    d, most = base.dimension, base.stages * base.step_high
    values = np.zeros((base.stages, base.states, base.arms))
    following: Array = np.zeros(base.states)
    for stage in reversed(range(base.stages)):
        gram, response = base.penalty * np.eye(d), np.zeros(d)
        for phi, reward, state in steps[stage]:
            gram += np.outer(phi, phi)
            response += phi * (reward + (0.0 if state is None else following[state]))
        inverse = np.linalg.inv(gram)
        width = np.sqrt(np.einsum("sai,ij,saj->sa", features, inverse, features))
        values[stage] = np.minimum(features @ (inverse @ response) + beta * width, most)
        following = values[stage].max(axis=1)
    return values


@pytest.mark.parametrize("environment", [WORLD, CHAIN, RICHER], ids=["linear", "chain", "richer"])
@pytest.mark.parametrize("switching", [0.0, 1.0], ids=["every episode", "doubling"])
@pytest.mark.parametrize("dimension", [1, 3])
def test_counts_choose_what_sums_over_all_steps_do(environment: Environment, switching: float, dimension: int) -> None:
    """300 episodes of 2 rows: the same policy every time; with doubling, that of when a determinant last doubled."""
    base = resolved(LsviUcb(dimension=dimension, penalty=0.1, radius=1.5, switching=switching), environment)
    rng, rows = np.random.default_rng(1), 2
    instance, everyone = environment.draw(rows, rng), np.arange(rows)
    shown = environment.shown(instance)
    features = shown["features"][..., :dimension]
    state = base.init(given_rows([base], shown, rows), rng)
    steps: list[list[list[Any]]] = [[[] for _ in range(base.stages)] for _ in range(rows)]
    planned, kept = np.zeros((rows, base.stages)), [np.zeros(0)] * rows
    plans = 0
    for episode in range(300):
        for row in range(rows):
            logs = np.array([_log_determinant(each, base) for each in steps[row]])
            if episode == 0 or not switching or (logs > planned[row] + math.log(2)).any():
                kept[row] = naive(base, 1.5, features[row], steps[row])
                planned[row], plans = logs, plans + 1
        policy = base.policy(state, everyone)
        for row in range(rows):
            best = np.take_along_axis(kept[row], policy.action[row].astype(int)[..., None], axis=2)[..., 0]
            assert (best >= kept[row].max(axis=2) - 1e-9).all()
        play = environment.play(instance, lambda seen, policy=policy: base.act(policy, seen, rng), rng)
        told = play.observation
        for row in range(rows):
            length = int(told.alive[row].sum())
            for step in range(length):
                phi = features[row, told.state[row, step], told.action[row, step]]
                onward = told.next_state[row, step] if step < length - 1 else None
                steps[row][step].append((phi, told.reward[row, step], onward))
        base.learn(state, everyone, Feedback(told, play.action, play.reward), rng)
    assert plans == 600 if not switching else plans <= 2 * base.max_policies(300) and plans < 300


def _log_determinant(steps: list[Any], base: Any) -> float:
    gram = base.penalty * np.eye(base.dimension)
    for phi, _, _ in steps:
        gram += np.outer(phi, phi)
    return float(np.linalg.slogdet(gram)[1] - base.dimension * math.log(base.penalty))


def test_ties_go_to_the_lowest_index() -> None:
    """Before the first step a large bonus gives all actions the maximum value."""
    base = resolved(LsviUcb(radius=100.0))
    state = base.init(
        given_rows([base], WORLD.shown(WORLD.draw(3, np.random.default_rng(1))), 3), np.random.default_rng(1)
    )
    assert (base.policy(state, np.arange(3)).action == 0).all()


def test_more_features_than_matter_cost_and_fewer_lose_for_ever() -> None:
    """1,000 episodes of 24 rows of the default world: d = d* loses least, d < d* as much in the second half as before.

    Means of d = 4 and 8 differ by ten standard errors; those of d < 4 are fifty times as large.
    """
    world = NestedLinearMdp()
    found: dict[int, Array] = {}
    for d in (1, 2, 4, 8):
        base = LsviUcb(dimension=d, penalty=0.001, radius=0.38, switching=1.0)
        regret = try_out(world, base, rows=24, horizon=1000).regret
        assert regret is not None
        found[d] = regret
    end = {d: regret[:, -1].mean() for d, regret in found.items()}
    half = {d: end[d] - regret[:, len(regret[0]) // 2 - 1].mean() for d, regret in found.items()}
    assert end[4] < end[8] < end[1] / 10 and end[8] < end[2] / 10
    for d in (1, 2):
        assert half[d] == pytest.approx(end[d] / 2, rel=0.05), "linear"
    for d in (4, 8):
        assert half[d] < end[d] / 4, "it has learned"


def test_the_source_explores_where_too_small_a_radius_gets_stuck() -> None:
    """beta = d H sqrt(ln(2dNH/delta)) by default; below H sqrt(lambda) the first paying action may be kept forever."""
    base = resolved(LsviUcb(scale=0.5))
    state = base.init(
        given_rows([base], WORLD.shown(WORLD.draw(2, np.random.default_rng(1))), 2), np.random.default_rng(1)
    )
    assert resolved(LsviUcb(scale=0.5), RICHER)._beta(np.full(2, 0.5)) == pytest.approx(10 * state.beta)
    assert state.beta == pytest.approx(np.full(2, 0.5 * 4 * 4 * math.sqrt(math.log(2 * 4 * 300 * 4 / 0.1))))
    regret = {
        c: try_out(WORLD, LsviUcb(penalty=0.01, radius=0.4 * c), rows=48, horizon=600).regret for c in (0.25, 2.0)
    }
    stuck, free = regret[0.25], regret[2.0]
    assert stuck is not None and free is not None
    assert free[:, -1].max() < 100 < stuck[:, -1].max()


def test_the_bound_by_hand() -> None:
    base = resolved(LsviUcb(dimension=2, switching=1.0))
    iota = math.log(2 * 2 * 300 * 4 / 0.05)
    beta = 2 * 4 * math.sqrt(iota)
    by_hand = 2 * 4 * math.sqrt(4 * 50 * iota) + 2 * math.sqrt(2) * beta * 4 * math.sqrt(2 * 2 * 50 * math.log(1 + 150))
    assert base.bound(0.05)(50) == pytest.approx(by_hand)
    assert base.bound(0.05)(49, "shape") == pytest.approx(4 * math.sqrt(2) * 7)
    richer = resolved(LsviUcb(dimension=2, switching=1.0), RICHER)
    assert richer.bound(0.05)(50) == pytest.approx(10 * by_hand)
    for unproved in (LsviUcb(length=2.0), LsviUcb(radius=9.0), LsviUcb(scale=0.5), LsviUcb(penalty=0.1)):
        assert resolved(unproved).bound(0.05) is None


def test_switches_are_few() -> None:
    """At most d H ln(1 + N/(lambda d))/ln 2 and the first, by the determinants; some hundred here."""
    base = resolved(LsviUcb(switching=1.0), horizon=4000)
    assert base.max_policies(4000) == 1 + math.ceil(4 * 4 * math.log(1 + 4000 / 4) / math.log(2))
    assert resolved(LsviUcb()).max_policies(77) == 77
    longer = resolved(LsviUcb(switching=1.0, length=3.0), horizon=4000)
    assert longer.max_policies(4000) == 1 + math.ceil(4 * 4 * math.log(1 + 9 * 4000 / 4) / math.log(2))


@pytest.mark.parametrize(
    ("base", "problem", "said"),
    [
        (LsviUcb(), {"episodic": False}, "lsvi-ucb plays episodes; nested-linear-mdp asks for single actions"),
        (LsviUcb(), {"dimension": None}, "lsvi-ucb needs features of actions in states; nested-linear-mdp has none"),
        (LsviUcb(dimension=2), {"dimension": None}, "lsvi-ucb needs features of actions in states"),
        (LsviUcb(dimension=5), {}, "dimension must be at most 4"),
        (LsviUcb(), {"step_low": -1.0}, "needs rewards of at least 0; in nested-linear-mdp a step may pay less"),
        (LsviUcb(), {"step_high": None}, "so set step_high of lsvi-ucb"),
        (LsviUcb(states=3), {}, "lsvi-ucb plays all 6 states of nested-linear-mdp; leave states out"),
    ],
)
def test_refusals(base: LsviUcb, problem: dict[str, Any], said: str) -> None:
    told: Problem = attrs.evolve(WORLD.problem, horizon=9, delta=0.1, **problem)
    with pytest.raises(CorralError, match=said):
        base.resolve(told)


def test_a_radius_leaves_no_scale() -> None:
    with pytest.raises(CorralError, match="radius sets all of beta, so scale would have no effect; leave one out"):
        LsviUcb(radius=1.0, scale=2.0)


@pytest.mark.parametrize("wrong", [np.zeros((2, 6, 4)), np.zeros((2, 6, 3, 4)), np.full((2, 6, 2, 4), np.nan)])
def test_features_of_another_shape_are_refused(wrong: Array) -> None:
    base = resolved(LsviUcb())
    with pytest.raises(CorralError, match="features"):
        base.init(given_rows([base], {"features": wrong}, 2), np.random.default_rng(1))
