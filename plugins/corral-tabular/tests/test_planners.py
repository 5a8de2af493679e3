"""UCRL2, PSRL and epsilon-greedy planning compared with loops over what one learner has seen."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from corral_kit.tabular.tabular import Tabular
from corral_tabular import EpsilonGreedyPlanning, Psrl, RiverSwim, Ucrl2

from corral_core import Array, CorralError, Environment, Problem, try_out
from corral_core.checks.worlds import SmallChain
from corral_core.environments.finite_mdp import FiniteMdp, Model
from corral_core.selection.setup import given_rows

sys.path.insert(0, str(Path(__file__).parent))
from loops import Seen, Wild, episodes, hopeful, plan, same_choice

RIVER = RiverSwim(stages=8)
WORLDS = [RIVER, SmallChain(), Wild()]  # of episodes that never end early, and that do
NAMES = ["riverswim", "chain", "wild"]


def resolved(base: Tabular, environment: Environment) -> Any:
    return base.resolve(attrs.evolve(environment.problem, horizon=60, delta=0.1))


def frequencies(seen: Seen, base: Tabular, prior: float) -> dict[tuple[int, int], list[float]]:
    """Frequencies of the outcomes of every action in every state."""
    found = {}
    for pair in np.ndindex(base.states, base.arms):
        counts = [seen.outcomes[pair][outcome] + prior for outcome in range(base.outcomes)]  # type: ignore[index]
        counts = counts if sum(counts) else [1.0] * base.outcomes
        total = sum(counts)
        found[pair] = [count / total for count in counts]
    return found  # type: ignore[return-value]


# --- UCRL2 ------------------------------------------------------------------------------------------------------------


def ucrl2_values(base: Ucrl2, seen: Seen, scale: float = 0.1) -> Array:
    """Action-values by the formulas of the module's docstring."""
    pairs, tabularl, span = base.states * base.arms, base.version == "tabularl", base.step_high - base.step_low
    p = frequencies(seen, base, 1e-5 if tabularl else 0.0)
    time = 1 + sum(map(len, seen.rewards.values()))

    def worth(state: int, action: int, following: list[float]) -> float:
        pair = state, action
        rewards = [paid - base.step_low for paid in seen.rewards[pair]]
        arrived = sum(seen.outcomes[pair].values())
        if tabularl:
            log = math.log(2 * pairs * (seen.episodes + 2) / base.delta)
            reward = sum(rewards) / (len(rewards) + 1e-4) + scale * span * math.sqrt(4 * log / max(len(rewards), 1))
            width = scale * math.sqrt(4 * base.states * log / max(arrived, 1))
        else:
            log = math.log(2 * pairs * time / base.delta)
            reward = sum(rewards) / max(len(rewards), 1) + scale * span * math.sqrt(
                7 * log / (2 * max(len(rewards), 1))
            )
            width = scale * math.sqrt(14 * base.states * math.log(2 * base.arms * time / base.delta) / max(arrived, 1))
        value = following[: base.outcomes]
        best = hopeful(p[pair], width, value)
        if base.aliased and max(best) < 1:
            p[pair] = best  # the estimate itself, which the stage before then starts from
        return base.step_low + reward + math.fsum(chance * worth for chance, worth in zip(best, value, strict=True))

    return plan(base.stages, base.states, base.arms, worth)


@pytest.mark.parametrize("environment", WORLDS, ids=NAMES)
@pytest.mark.parametrize("base", [Ucrl2(), Ucrl2(version="tabularl"), Ucrl2(version="tabularl", aliased=True)])
def test_ucrl2_plays_what_a_loop_would(base: Ucrl2, environment: Environment) -> None:
    """120 episodes of 4 rows; the source's version keeps its policy while the visits of no pair have doubled.

    At a tenth of the widths, so that estimates matter soon and optimism sometimes stays below probability 1.
    """
    fitted, rows = resolved(attrs.evolve(base, scale=0.1), environment), 4
    seen, kept = [Seen() for _ in range(rows)], [Seen() for _ in range(rows)]
    planned = 0
    for policy, play, _ in episodes(fitted, environment, rows, 120):
        for row in range(rows):
            counts = {pair: len(rewards) for pair, rewards in seen[row].rewards.items()}
            before = {pair: len(rewards) for pair, rewards in kept[row].rewards.items()}
            new = {pair: counts[pair] - before.get(pair, 0) for pair in counts}
            if base.version == "tabularl" or any(new[pair] >= max(1, before.get(pair, 0)) for pair in new):
                kept[row] = _copy(seen[row])
                planned += 1
            assert same_choice(policy.best[row], ucrl2_values(fitted, kept[row]), fitted.arms)
            seen[row].add(play, row, fitted.stages, fitted.states)
        assert (policy.epsilon == 0).all()
    assert planned == 480 if base.version == "tabularl" else 10 < planned < 240


@pytest.mark.parametrize(
    "base", [Ucrl2(), Ucrl2(version="tabularl"), EpsilonGreedyPlanning()], ids=lambda base: base.name
)
def test_all_of_the_best_may_be_drawn(base: Tabular) -> None:
    """Before anything is seen all actions are alike."""
    fitted = resolved(base, Wild())
    policy, _, _ = next(episodes(fitted, Wild(), 2, 1))
    assert np.unpackbits(policy.best, axis=-1, count=3).all()


@pytest.mark.parametrize("version", ["jaksch", "tabularl"])
def test_ucrl2_tries_every_action_wherever_rewards_lie(version: Any) -> None:
    """Two arms that pay 10 and 11: what is known to pay 10 is less than what may pay 11."""
    world = Arms()
    regret = try_out(world, Ucrl2(version=version, delta=0.05), rows=16, horizon=3000).regret
    assert regret is not None
    assert (regret[:, -1] < 600).all() and (regret[:, -1] > 0).all()


@attrs.frozen
class Arms(FiniteMdp):
    """One state, one step."""

    name = "arms"

    @property
    def problem(self) -> Problem:
        size = {"arms": 2, "states": 1, "stages": 1}
        return Problem(self.name, **size, episodic=True, step_low=10.0, step_high=11.0, noise=1.0, low=10.0, high=11.0)

    def model(self, instance: Any) -> Model:
        return Model.of(np.ones((1, 1, 1, 2, 1)), np.array([10.0, 11.0]).reshape(1, 1, 1, 2, 1), 1)


def _copy(seen: Seen) -> Seen:
    found = Seen()
    found.episodes = seen.episodes
    for pair, rewards in seen.rewards.items():
        found.rewards[pair] = list(rewards)
        found.outcomes[pair] = seen.outcomes[pair].copy()
    return found


def test_ucrl2_claims_what_the_source_does() -> None:
    """34 H S sqrt(A t ln(t/delta)) at t = H s, by hand; and no bound if nothing is proved."""
    base = resolved(Ucrl2(), RiverSwim())
    assert base.bound(0.05)(100) == pytest.approx(34 * 20 * 6 * math.sqrt(2 * 2000 * math.log(2000 / 0.05)))
    assert base.bound(0.05)(9, "shape") == pytest.approx(20 * math.sqrt(12) * 3)
    wide = resolved(Ucrl2(scale=2.0, step_low=-1.0), RiverSwim())
    assert wide.bound(0.05)(100) == pytest.approx(4 * base.bound(0.05)(100))
    for unproved in (Ucrl2(version="tabularl"), Ucrl2(scale=0.5)):
        assert resolved(unproved, RiverSwim()).bound(0.05) is None
    for without in (Psrl(), EpsilonGreedyPlanning()):
        assert resolved(without, RiverSwim()).bound(0.05) is None


def test_delta_is_tabularls_or_the_experiments() -> None:
    assert resolved(Ucrl2(), RIVER).delta == 0.1
    assert resolved(Ucrl2(version="tabularl"), RIVER).delta == 0.05
    assert resolved(Ucrl2(version="tabularl", delta=0.2), RIVER).delta == 0.2


def test_a_defect_belongs_to_its_version() -> None:
    with pytest.raises(CorralError, match='aliased is a defect of version "tabularl"'):
        Ucrl2(aliased=True)


# --- PSRL -------------------------------------------------------------------------------------------------------------


class Means:
    """A generator of which every draw is its mean: PSRL then plans in the mean of its posterior."""

    def standard_gamma(self, shape: Array) -> Array:
        return np.array(shape, dtype=float)

    def standard_normal(self, size: Any) -> Array:
        return np.zeros(size)


@pytest.mark.parametrize("environment", WORLDS, ids=NAMES)
def test_psrl_plans_in_its_posterior(environment: Environment) -> None:
    """In the mean of the Dirichlet and of the Gaussian posterior, by loops; 30 episodes of 4 rows."""
    fitted, rows = resolved(Psrl(prior_outcomes=0.5, prior_precision=2.0, reward_noise=0.5), environment), 4
    seen, everyone, luck = [Seen() for _ in range(rows)], np.arange(rows), np.random.default_rng(3)
    instance = environment.draw(rows, luck)
    mean: Any = Means()
    state = fitted.init(given_rows([fitted], {}, rows), mean)
    for _ in range(30):
        policy = fitted.policy(state, everyone)
        for row in range(rows):
            p = frequencies(seen[row], fitted, 0.5)

            def worth(state: int, action: int, following: list[float], p: Any = p, seen: Seen = seen[row]) -> float:
                rewards = seen.rewards[state, action]
                reward = sum(rewards) / 0.25 / (2 + len(rewards) / 0.25)
                return reward + sum(a * b for a, b in zip(p[state, action], following, strict=False))

            values = plan(fitted.stages, fitted.states, fitted.arms, worth)
            chosen = np.take_along_axis(values, policy.action[row].astype(int)[..., None], axis=2)[..., 0]
            assert (chosen >= values.max(axis=2) - 1e-9).all()
        acts = luck.integers(fitted.arms, size=(rows, fitted.stages))
        play = environment.play(instance, lambda seen, acts=acts: acts[:, seen.stage[0]], luck)
        for row in range(rows):
            seen[row].add(play, row, fitted.stages, fitted.states)
        fitted.learn(state, everyone, _told(play), mean)


def _told(play: Any) -> Any:
    from corral_core import Feedback

    return Feedback(play.observation, play.action, play.reward)


def test_psrl_draws_from_the_prior_before_it_has_seen_anything() -> None:
    """Both actions are alike then: right at the last stage with probability 1/2; 4,000 rows, 4.5 standard errors."""
    fitted = resolved(Psrl(), RIVER)
    state = fitted.init(given_rows([fitted], {}, 4000), np.random.default_rng(4))
    share = (state.policy.action[:, -1, 2] == 1).mean()
    assert abs(share - 0.5) < 4.5 * 0.5 / math.sqrt(4000)


# --- Epsilon-greedy planning ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", WORLDS, ids=NAMES)
def test_epsilon_greedy_planning_plays_what_a_loop_would(environment: Environment) -> None:
    """40 episodes of 4 rows."""
    fitted, rows = resolved(EpsilonGreedyPlanning(epsilon=0.2), environment), 4
    seen = [Seen() for _ in range(rows)]
    for policy, play, _ in episodes(fitted, environment, rows, 40):
        assert (policy.epsilon == 0.2).all()
        for row in range(rows):
            p = frequencies(seen[row], fitted, 1e-4)

            def worth(state: int, action: int, following: list[float], p: Any = p, seen: Seen = seen[row]) -> float:
                rewards = seen.rewards[state, action]
                onward = sum(a * b for a, b in zip(p[state, action], following, strict=False))
                return sum(rewards) / (len(rewards) + 1e-4) + onward

            values = plan(fitted.stages, fitted.states, fitted.arms, worth)
            assert same_choice(policy.best[row], values, fitted.arms)
            seen[row].add(play, row, fitted.stages, fitted.states)


# --- Reference numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "least", "most"),
    [
        (Psrl(), 184, 282),
        (Ucrl2(version="tabularl"), 1554, 1598),
        (Ucrl2(version="tabularl", aliased=True), 3321, 3413),
        (EpsilonGreedyPlanning(), 3302, 3307),
    ],
    ids=["psrl", "ucrl2", "aliased", "epsilon-greedy"],
)
def test_regret_after_a_thousand_episodes(base: Tabular, least: float, most: float) -> None:
    """Compare with four runs of another implementation of TabulaRL's rules, whose minimum and maximum are known.

    Their midpoint is used as the mean of the four, and the spread of a run is that of 16 runs here, or that of the
    four if it is larger. 6 standard errors of the difference, at 15 degrees of freedom: about 2e-5 each.
    """
    regret = try_out(RiverSwim(), base, rows=16, horizon=1000).regret
    assert regret is not None
    spread = max(regret[:, -1].std(ddof=1), (most - least) / 2.06)  # the mean range of four normal numbers
    error = spread * math.sqrt(1 / 16 + 1 / 4)
    assert abs(regret[:, -1].mean() - (least + most) / 2) < 6 * error
