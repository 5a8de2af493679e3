"""Q-learning compared with a loop that learns during the episode."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from corral_tabular import QLearning, RiverSwim

from corral_core import CorralError, Environment, try_out
from corral_core.checks.worlds import SmallChain
from corral_core.selection.setup import given_rows

sys.path.insert(0, str(Path(__file__).parent))
from loops import Wild, episodes, same_choice


def resolved(base: QLearning, environment: Environment) -> Any:
    return base.resolve(attrs.evolve(environment.problem, horizon=60, delta=0.1))


@pytest.mark.parametrize("environment", [RiverSwim(stages=8), SmallChain(), Wild()], ids=["riverswim", "chain", "wild"])
@pytest.mark.parametrize("rate", ["mean", "stage"])
@pytest.mark.parametrize("optimistic", [False, True])
def test_it_learns_as_the_episode_goes(environment: Environment, rate: Any, optimistic: bool) -> None:
    """60 episodes of 3 rows: the loop moves Q_h before it takes step h + 1."""
    base, rows = resolved(QLearning(rate=rate, optimistic=optimistic), environment), 3
    stages, shape = base.stages, (base.states, base.arms)
    most = base.step_high if optimistic else 0.0
    start = [(stages - h) * most * np.ones(shape) for h in range(stages)]
    tables = [[each.copy() for each in (*start, np.zeros(shape))] for _ in range(rows)]
    visits = np.zeros((rows, stages, *shape))
    for policy, play, _ in episodes(base, environment, rows, 60):
        told = play.observation
        for row in range(rows):
            assert same_choice(policy.best[row], np.array(tables[row][:stages]), base.arms)
            steps = int(told.alive[row].sum())
            for h in range(steps):
                at = told.state[row, h], told.action[row, h]
                visits[row, h][at] += 1
                n = visits[row, h][at]
                alpha = 1 / n if rate == "mean" else (stages + 1) / (stages + n)
                over = h == steps - 1
                onward = 0.0 if over else tables[row][h + 1][told.next_state[row, h]].max()
                tables[row][h][at] += alpha * (told.reward[row, h] + onward - tables[row][h][at])


def test_a_rate_of_one_over_n_is_a_mean() -> None:
    """At the last stage a value is the mean of what was paid."""
    base = resolved(QLearning(epsilon=1.0), SmallChain(stages=1))
    paid: dict[tuple[int, int], list[float]] = {}
    for _, play, state in episodes(base, SmallChain(stages=1), 1, 50):  # noqa: B007 - its final value is used below
        told = play.observation
        paid.setdefault((told.state[0, 0], told.action[0, 0]), []).append(told.reward[0, 0])
    for (at, action), rewards in paid.items():
        assert state.value[0, 0, at, action] == pytest.approx(math.fsum(rewards) / len(rewards))


def test_optimism_finds_the_far_bank_and_its_absence_does_not() -> None:
    """RiverSwim of four states, 600 episodes of 16 rows: below half of what is lost on the left bank, and above 0.9."""
    river = RiverSwim(states=4)
    lost = 600 * (river.river.optimal[0, 0, 0].max() - 0.1)
    regret = [
        try_out(river, QLearning(optimistic=flag, rate="stage"), rows=16, horizon=600).regret for flag in (True, False)
    ]
    assert regret[0] is not None and regret[1] is not None
    assert regret[0][:, -1].mean() < 0.5 * lost
    assert regret[1][:, -1].mean() > 0.9 * lost


def test_optimism_must_know_what_a_step_pays() -> None:
    silent = attrs.evolve(SmallChain().problem, step_high=None, horizon=9, delta=0.1)
    with pytest.raises(CorralError, match="q-learning with optimistic needs the maximum reward of a step"):
        QLearning(optimistic=True).resolve(silent)
    assert QLearning(optimistic=True, step_high=2.0).resolve(silent).step_high == 2.0
    QLearning().resolve(silent)


def test_where_steps_only_cost_the_best_is_to_end() -> None:
    """Then an early end has the largest value: values start at 0, not below."""
    costly = attrs.evolve(Wild().problem, step_low=-3.0, step_high=-1.0, horizon=9, delta=0.1)
    base = QLearning(optimistic=True).resolve(costly)
    state = base.init(given_rows([base], {}, 2), np.random.default_rng(1))
    assert (state.value == 0).all()
