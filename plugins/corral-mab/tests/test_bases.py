"""Each base against a plain loop, or against what its source promises."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from corral_mab import BernoulliArms, EpsilonGreedy, Exp3, Exp3Ix, GaussianArms, Rate, Ucb, Ucb1, UniformPlay

from corral_core import CorralError, Feedback, Observation, Problem, try_out
from corral_core.protocols.problem import NOTHING
from corral_core.selection.setup import given_rows

PROBLEM = Problem(arms=4, noise=0.5, low=0.0, high=1.0, horizon=1000, delta=0.01)


def ucb_index(n: int, mean: float, s: int) -> float:
    if n == 0:
        return math.inf
    return mean + 0.5 * math.sqrt((1 + n) / n**2 * (1 + 2 * math.log(4 * math.sqrt(1 + n) / 0.01)))


def ucb1_index(n: int, mean: float, s: int) -> float:
    return math.inf if n == 0 else mean + 0.5 * math.sqrt(2 * math.log(s - 1) / n)


@pytest.mark.parametrize(("base", "index"), [(Ucb(), ucb_index), (Ucb1(), ucb1_index)], ids=["ucb", "ucb1"])
def test_indices_against_a_loop(base, index) -> None:
    """300 plays of five rows: the arm played is the largest index of a plain loop."""
    rng = np.random.default_rng(1)
    base, rows = base.resolve(PROBLEM), np.arange(5)
    state = base.init(given_rows([base], {}, 5), rng)
    pulls, total = np.zeros((5, 4), dtype=int), np.zeros((5, 4))
    for s in range(1, 301):
        arm = base.act(base.policy(state, rows), NOTHING, rng)
        for row in rows:
            means = [total[row, k] / pulls[row, k] if pulls[row, k] else 0 for k in range(4)]
            values = [index(pulls[row, k], means[k], s) for k in range(4)]
            assert values[arm[row]] == pytest.approx(max(values), rel=1e-12)
        reward = rng.random(5)
        base.learn(state, rows, Feedback(NOTHING, arm, reward), rng)
        pulls[rows, arm] += 1
        total[rows, arm] += reward


def test_epsilon_greedy_explores_at_rate_c_over_s() -> None:
    """At s = 40 with c = 10 a quarter of the rows explores, uniformly; 4.5 standard errors, 1e-5."""
    rng, rows = np.random.default_rng(2), np.arange(40_000)
    base = EpsilonGreedy(c=10.0).resolve(PROBLEM)
    state = base.init(given_rows([base], {}, len(rows)), rng)
    state.means.mean[:] = [0.1, 0.9, 0.2, 0.3]
    state.greedy[:] = 1
    state.played[:] = 39
    arms = np.bincount(base.act(base.policy(state, rows), NOTHING, rng), minlength=4) / len(rows)
    expected = np.array([0.0625, 0.8125, 0.0625, 0.0625])
    assert (np.abs(arms - expected) < 4.5 * np.sqrt(expected * (1 - expected) / len(rows))).all()


def test_epsilon_greedy_tries_every_arm_once_and_breaks_ties_low() -> None:
    rng, rows = np.random.default_rng(3), np.arange(2)
    base = EpsilonGreedy(c=1e-9).resolve(PROBLEM)
    state = base.init(given_rows([base], {}, 2), rng)
    played = []
    for _ in range(6):
        arm = base.act(base.policy(state, rows), NOTHING, rng)
        played.append(int(arm[0]))
        base.learn(state, rows, Feedback(NOTHING, arm, np.ones(2)), rng)
    assert played == [0, 1, 2, 3, 0, 0]


@pytest.mark.parametrize("base", [Exp3(), Exp3Ix()], ids=lambda base: base.name)
def test_exp3_against_a_loop(base) -> None:
    rng = np.random.default_rng(4)
    base, rows = base.resolve(PROBLEM), np.arange(3)
    state = base.init(given_rows([base], {}, 3), rng)
    loss = [[0.0] * 4 for _ in rows]
    for s in range(1, 200):
        eta = math.sqrt(math.log(4) / (4 * s))
        policy = base.policy(state, rows)
        for row in rows:
            weights = [math.exp(-eta * (value - min(loss[row]))) for value in loss[row]]
            assert policy.probability[row] == pytest.approx(np.array(weights) / sum(weights), rel=1e-6)
        decision = base.act(policy, NOTHING, rng)
        reward = rng.random(3)
        base.learn(state, rows, Feedback(NOTHING, decision, reward), rng)
        for row in rows:
            arm = decision.action[row]
            explored = base.implicit * eta
            loss[row][arm] += (1 - reward[row]) / (decision.probability[row] + explored)
        assert state.loss == pytest.approx(np.array(loss), rel=1e-9)


def test_exp3_draws_what_it_says() -> None:
    """Frequencies of 40,000 draws within 4.5 standard errors of the policy: 1e-5."""
    rng = np.random.default_rng(5)
    base = Exp3().resolve(PROBLEM)
    state = base.init(given_rows([base], {}, 40_000), rng)
    state.loss[:] = [0.0, 1.0, 2.0, 8.0]
    policy = base.policy(state, np.arange(40_000))
    decision = base.act(policy, NOTHING, rng)
    expected = policy.probability[0]
    found = np.bincount(decision.action, minlength=4) / 40_000
    assert (np.abs(found - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 40_000)).all()
    assert decision.probability == pytest.approx(expected[decision.action], rel=1e-6)


@pytest.mark.parametrize("base", [Ucb(), Ucb1(), EpsilonGreedy(c=20.0), Exp3(), Exp3Ix()], ids=lambda base: base.name)
def test_learns_where_it_is_adapted(base) -> None:
    """Well below uniform play, and below its own bound in every row, on four Bernoulli arms.

    The means are at most 120 with standard errors below 3, a hundred of them from a third of uniform play's 1,200; a
    row breaks its bound with probability at most 1/4000.
    """
    environment = BernoulliArms(means=(0.2, 0.4, 0.6, 0.8))
    regret = try_out(environment, [base], rows=64, horizon=4000).regret[:, -1]
    uniform = 0.3 * 4000
    assert regret.mean() < uniform / 3
    problem = attrs.evolve(environment.problem, horizon=4000, delta=1 / 4000)
    assert (regret < base.resolve(problem).bound(1 / 4000)(4000)).all()


@pytest.mark.parametrize(("c", "reference"), [(1719.0, 188), (6661.0, 502), (50_802.0, 1250)])
def test_reference_numbers_of_the_two_arm_figure(c: float, reference: float) -> None:
    """Published means of 50 runs of 50,000 plays at .5/.45, for rates that explore enough never to lock in.

    (Below c = 1000 a rare run locks in on the wrong arm and the mean of 50 has a heavy tail.) 4.5 standard errors of
    the difference of two such means, and the rounding of the reference one: fails by chance in 1e-5 each.
    """
    regret = try_out(BernoulliArms(means=(0.5, 0.45)), [EpsilonGreedy(c=c)], rows=50, horizon=50_000).regret[:, -1]
    error = regret.std(ddof=1) / math.sqrt(50)
    assert abs(regret.mean() - reference) < 4.5 * math.sqrt(2) * error + 0.5


def test_gaussian_arms() -> None:
    """Reward has the mean and spread it says (4.5 and 6 standard errors: fails in 1e-5), regret is the gap."""
    environment, rng = GaussianArms(arms=3, low=-2.0, high=5.0, noise=0.7), np.random.default_rng(6)
    instance = environment.draw(50_000, rng)
    assert instance.mean.min() >= -2
    assert instance.mean.max() <= 5
    action = rng.integers(0, 3, 50_000)
    reward, regret = environment.pay(instance, NOTHING, action, rng)
    chosen = instance.mean[np.arange(50_000), action]
    assert regret == pytest.approx(instance.mean.max(axis=1) - chosen)
    noise = reward - chosen
    assert abs(noise.mean()) < 4.5 * 0.7 / math.sqrt(50_000)
    assert noise.std() == pytest.approx(0.7, rel=0.02)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"means": ()}, "at least one value"),
        ({"means": (0.5, 1.5)}, r"1\.5 lies outside"),
        ({"low": 0.5, "high": 0.5}, "less than high"),
        ({"low": -1.0}, "probabilities"),
    ],
)
def test_arms_refuse_what_cannot_be(values, sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        BernoulliArms(**values)


def test_bases_say_what_they_miss() -> None:
    with pytest.raises(CorralError, match="ucb needs a finite set of arms; a ball has none"):
        Ucb().resolve(attrs.evolve(PROBLEM, arms=None, environment="a ball"))
    with pytest.raises(CorralError, match="rate needs every arm at every play; the shop masks some"):
        Rate().resolve(attrs.evolve(PROBLEM, masked=True, environment="the shop"))
    with pytest.raises(CorralError, match="exp3 cannot forget an arm; the shop replaces arms by new ones"):
        Exp3().resolve(attrs.evolve(PROBLEM, renewable=True, environment="the shop"))
    for coming in ({"masked": True}, {"renewable": True}):
        with pytest.raises(CorralError, match="ucb: leave arms out; the shop masks some or replaces them"):
            Ucb(arms=3).resolve(attrs.evolve(PROBLEM, environment="the shop", **coming))


@pytest.mark.parametrize(
    ("base", "sentence"),
    [
        (Ucb(arms=9), "ucb: arms must be at most 4, as many as the problem has, not 9"),
        (Rate(good=7), r"good and bad must be arms 0 to 3, not 7 and 1"),
    ],
    ids=["ucb", "rate"],
)
def test_bases_name_no_arm_that_is_not_there(base, sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        base.resolve(PROBLEM)


def test_uniform_play_draws_evenly_from_the_arms_that_are_there() -> None:
    """40,000 draws without a mask and with one of each kind: within 4.5 standard errors, 1e-4 in all."""
    rng, rows = np.random.default_rng(9), 40_000
    base = UniformPlay().resolve(PROBLEM)
    policy = base.policy(base.init(given_rows([base], {}, rows), rng), np.arange(rows))
    for mask in ([1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 1, 1], [0, 0, 1, 0]):
        there = np.array(mask, dtype=bool)
        shown = NOTHING if there.all() else Observation(mask=np.tile(there, (rows, 1)))
        share = np.bincount(base.act(policy, shown, rng), minlength=4) / rows
        expected = there / there.sum()
        assert (np.abs(share - expected) <= 4.5 * np.sqrt(expected * (1 - expected) / rows)).all()
