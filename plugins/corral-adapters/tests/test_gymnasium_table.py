"""Tables of Gymnasium: exact values compared with plain Python, and plays with the environments themselves."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import attrs
import gymnasium
import numpy as np
import pytest
from corral_adapters import Gymnasium, GymnasiumTable
from gymnasium.utils.seeding import np_random

from corral_core import Corral, lift, try_out
from corral_core.environments.planning import following

sys.path.insert(0, str(Path(__file__).parent))
from listed_tables import CLIFF, DRY, FORK, TAXI, bare, changed, listed, plain_value, registered


@pytest.fixture(autouse=True)
def _registered():
    yield from registered()


# --- Exact values ---------------------------------------------------------------------------------------------------


def test_what_it_publishes() -> None:
    problem = GymnasiumTable("FrozenLake-v1").problem
    assert (problem.states, problem.arms, problem.stages) == (16, 4, 100)
    assert problem.regret and problem.episodic and not problem.fixed_length
    assert (problem.step_low, problem.step_high, problem.noise, problem.low) == (0.0, 1.0, 0.5, 0.0)
    assert GymnasiumTable("FrozenLake-v1", stages=500).problem.stages == 500  # more than its own 100
    assert GymnasiumTable("FrozenLake-v1", {"max_episode_steps": 7}).problem.stages == 7
    told = GymnasiumTable("FrozenLake-v1", low=-1.0, high=3.0).problem
    assert told.range == (-1.0, 3.0)
    assert attrs.evolve(told, low=0.0, high=problem.high) == problem


@pytest.mark.parametrize(("stages", "value"), [(5, 0.0), (6, 1.0), (100, 1.0)])
def test_the_goal_of_the_lake_is_six_steps_away(stages, value) -> None:
    assert GymnasiumTable("FrozenLake-v1", DRY, stages=stages).problem.high == value


@pytest.mark.parametrize(("stages", "best"), [(12, -12.0), (13, -13.0), (60, -13.0)])
def test_the_way_along_the_cliff_takes_thirteen_steps(stages, best) -> None:
    """The worst policy falls at every step."""
    assert GymnasiumTable(CLIFF, stages=stages).problem.range == (-100.0 * stages, best)


def test_the_best_taxi_takes_the_shortest_way() -> None:
    """A breadth-first search back from the passenger's end, over steps of Gymnasium's own object."""
    taxi = GymnasiumTable(TAXI)
    env = bare(taxi)
    env.reset(seed=0)
    before, steps = {state: [] for state in range(500)}, {}
    for state, action in itertools.product(range(500), range(6)):
        env.s = state
        to, reward, terminated, *_ = env.step(action)
        assert reward == 20 if terminated else reward in (-1, -10)
        if terminated:
            steps[state] = 1
        elif reward == -1:
            before[to].append(state)
    front = list(steps)
    while front:
        front = list({back for state in front for back in before[state] if back not in steps})
        steps |= dict.fromkeys(front, max(steps.values()) + 1)
    starts = np.flatnonzero(env.initial_state_distrib)
    assert len(starts) == 300
    assert taxi.problem.stages == 200
    best = np.mean([21 - steps[state] for state in starts])  # each step costs 1, and the last pays 20
    assert taxi.problem.high == pytest.approx(best, abs=1e-9)
    assert round(best, 2) == 7.93
    each = taxi._found.model.optimal[0, 0, starts].max(axis=1)
    assert each.tolist() == [21 - steps[state] for state in starts]


@pytest.mark.parametrize(
    "environment",
    [
        GymnasiumTable("FrozenLake-v1"),
        GymnasiumTable("FrozenLake-v1", {"success_rate": 0.9, "reward_schedule": [5, -2, -0.1]}, stages=30),
        GymnasiumTable("FrozenLake8x8-v1", stages=40),
        GymnasiumTable(CLIFF, {"is_slippery": True}, stages=50),
        GymnasiumTable(TAXI, {"is_rainy": True}, stages=25),
    ],
    ids=lambda environment: f"{environment.id}-{environment.stages}",
)
def test_the_range_is_that_of_loops_over_the_table(environment) -> None:
    assert environment.problem.low == pytest.approx(plain_value(environment, min), abs=1e-9)
    assert environment.problem.high == pytest.approx(plain_value(environment), abs=1e-9)


@pytest.mark.parametrize(("id", "optimum"), [("FrozenLake-v1", 0.74), ("FrozenLake8x8-v1", 0.91)])
def test_optima_as_gymnasium_gives_them(id, optimum) -> None:
    """In comments of its registry."""
    assert round(GymnasiumTable(id).problem.high, 2) == optimum


def test_the_range_is_that_of_all_policies() -> None:
    """The fork, with each of its 64 deterministic policies for three stages."""
    fork = listed(stages=3)
    values = []
    for moves in itertools.product((0, 1), repeat=6):
        policy = np.eye(2)[np.reshape(moves, (1, 3, 2))]
        found = fork._found.model.values(3, following(policy))
        values.append((policy[0, 0] * found[0, 0]).sum(axis=1)[0])
    assert fork.problem.range == pytest.approx((min(values), max(values)), abs=1e-12)


def test_noise_and_steps_are_those_of_the_table() -> None:
    """Whatever can be earned in four stages of the fork, by following every way."""

    def earned(state, left):
        if left == 0:
            return {0.0}
        outcomes = [outcome for ways in FORK[state].values() for outcome in ways]
        return {pays + more for _, to, pays, ends in outcomes for more in ({0.0} if ends else earned(to, left - 1))}

    problem, returns = listed(stages=4).problem, earned(0, 4)
    assert problem.noise == pytest.approx((max(returns) - min(returns)) / 2, abs=1e-12)
    assert (problem.step_low, problem.step_high) == (-1.0, 2.0)
    assert not problem.fixed_length
    assert listed(stages=1, start=(0.0, 1.0), quirk="elsewhere").problem.noise == 0.75  # only from where it starts


def test_a_table_without_an_end() -> None:
    endless = {0: {0: [(1.0, 1, 0.0, False)], 1: [(1.0, 0, 0.5, False)]}, 1: {0: [(1.0, 0, 2.0, False)]}}
    endless[1][1] = [(1.0, 1, 0.0, False), (0.0, 1, 9.0, True)]  # the end that never comes counts for nothing
    problem = listed(endless, stages=4).problem
    assert problem.fixed_length
    assert problem.range == (0.0, 4.0)
    assert problem.noise == 2.0


# --- Plays ----------------------------------------------------------------------------------------------------------


def together(table, moves, seed=1, rows=6):
    """One episode of Gymnasium's objects and one of the table, with the same moves (rows, stages)."""
    played = []
    for environment in (table, Gymnasium(table.id, table.settings, stages=table.problem.stages)):
        rng = np.random.default_rng(seed)
        instance = environment.draw(rows, rng)
        played.append(environment.play(instance, lambda seen: moves[:, seen.stage[0]], rng))
    return played


@pytest.mark.parametrize(
    "table",
    [GymnasiumTable("FrozenLake-v1", DRY, stages=15), GymnasiumTable(CLIFF, stages=40)],
    ids=lambda table: table.id,
)
@pytest.mark.usefixtures("untouched")
def test_without_chance_it_plays_step_by_step_as_the_environment_itself(table) -> None:
    moves = np.random.default_rng(2).integers(4, size=(50, 6, 40))
    moves[0, 0, :13] = [0, *[1] * 11, 2]  # along the cliff, to its end
    moves[0, 1, :6] = [1, 1, 2, 1, 2, 2]  # over the ice, to the goal
    ended = 0
    for each in moves:
        mine, other = together(table, each)
        alive = other.observation.alive
        assert (mine.observation.alive == alive).all()
        for name in ("state", "action", "reward", "next_state"):
            assert (getattr(mine.observation, name)[alive] == getattr(other.observation, name)[alive]).all(), name
        assert (mine.reward == other.reward).all()
        ended += int((alive.sum(axis=1) < table.stages).sum())
    assert ended > 0


@pytest.mark.parametrize(
    "table",
    [
        GymnasiumTable("FrozenLake-v1", stages=30),
        GymnasiumTable("FrozenLake-v1", {"success_rate": 0.8}, stages=30),
        GymnasiumTable(CLIFF, {"is_slippery": True}, stages=30),
        GymnasiumTable(TAXI),
        GymnasiumTable(TAXI, {"is_rainy": True}, stages=100),
    ],
    ids=lambda table: f"{table.id}-{table.stages}",
)
def test_with_the_same_uniform_numbers_it_plays_step_by_step_as_the_environment_itself(table) -> None:
    """Gymnasium takes the first outcome whose cumulative probability is above a uniform number, and so does a model."""
    model, draws = table._found.model, np.random.default_rng(3)
    env = gymnasium.make(table.id, max_episode_steps=table.problem.stages, **table.settings)
    for seed in range(40):
        luck = np_random(seed)[0]
        state, over, stage = env.reset(seed=seed)[0], False, 0
        assert model.first(np.array([luck.random()])) == state
        luck = _in_step(env)
        while not over:
            action = int(draws.integers(env.action_space.n))
            uniform = np.array([luck.random()])
            to, reward, ends, _ = model.step(stage, np.array([state]), np.array([action]), uniform)
            state, paid, terminated, truncated, _ = env.step(action)
            assert (to[0], reward[0], ends[0]) == (state, paid, terminated)
            over, stage = terminated or truncated, stage + 1


def _in_step(env):
    """A generator that will draw what the environment draws."""
    luck = np.random.default_rng()
    luck.bit_generator.state = env.unwrapped.np_random.bit_generator.state
    return luck


def test_visits_and_returns_are_those_of_the_environment_itself() -> None:
    """A walk at random over the ice, 3000 episodes of each: 17 means that differ by 6 standard errors with 4e-8."""
    table, rows = GymnasiumTable("FrozenLake-v1", stages=30), 3000
    moves = np.random.default_rng(4).integers(4, size=(2, rows, 30))
    counts = []
    for seed, environment in enumerate((table, Gymnasium("FrozenLake-v1", stages=30))):
        rng = np.random.default_rng(seed)
        chosen = moves[seed]
        play = environment.play(environment.draw(rows, rng), lambda seen, chosen=chosen: chosen[:, seen.stage[0]], rng)
        seen = play.observation
        visits = [((seen.next_state == state) & seen.alive).sum(axis=1) for state in range(16)]
        counts.append(np.stack([*visits, play.reward], axis=1))
    one, other = counts
    error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / rows)
    assert (one.mean(axis=0)[:15] > 0).all(), "every tile is reached"
    assert (abs(one.mean(axis=0) - other.mean(axis=0)) <= 6 * error).all()


@pytest.mark.parametrize(
    "table",
    [
        GymnasiumTable("FrozenLake-v1", {"success_rate": 0.7}, stages=40),
        GymnasiumTable(CLIFF, {"is_slippery": True}, stages=20),
        GymnasiumTable(TAXI, stages=20),
    ],
    ids=lambda table: table.id,
)
def test_mean_regret_is_what_the_best_policy_has_more(table) -> None:
    """A policy drawn at random, for every stage and state: both means are within 5 standard errors, but for 1e-6."""
    rows, problem, model = 20_000, table.problem, table._found.model
    policy = np.random.default_rng(5).dirichlet(np.ones(problem.arms), size=(1, problem.stages, problem.states))
    values = model.values(problem.stages, following(policy))[0, 0]
    start = bare(table).initial_state_distrib
    value = float(start @ (policy[0, 0] * values).sum(axis=1))
    rng, draws = np.random.default_rng(6), np.random.default_rng(7)

    def act(seen):
        order = policy[0, seen.stage, seen.state].cumsum(axis=1)
        return (order[:, :-1] <= draws.random((rows, 1))).sum(axis=1)

    play = table.play(table.draw(rows, rng), act, rng)
    first = model.optimal[0, 0, play.observation.state[:, 0]].max(axis=1)  # best from where an episode started
    for seen, mean in ((play.reward, value), (play.regret, problem.high - value), (first, problem.high)):
        assert abs(seen.mean() - mean) <= 5 * seen.std() / np.sqrt(rows) + 1e-9
    assert problem.high - value > 0.1


def test_the_best_policy_has_no_regret() -> None:
    lake = GymnasiumTable("FrozenLake-v1")
    model, rng = lake._found.model, np.random.default_rng(8)

    def best(seen):
        return model.optimal[0, seen.stage, seen.state].argmax(axis=1)

    play = lake.play(lake.draw(4000, rng), best, rng)
    assert (play.regret == 0).all()
    assert abs(play.reward.mean() - lake.problem.high) <= 5 * play.reward.std() / np.sqrt(4000)  # but for 6e-7


def test_what_has_no_probability_is_never_drawn() -> None:
    """The largest uniform number there is, where sums of probabilities fall short of one."""
    tenths = [(0.1, 1, 1.0, False)] * 10
    assert np.cumsum([0.1] * 10)[-1] < 1
    table = changed(0, 0, [*tenths, (0.0, 0, 7.0, True)])
    model, last = listed(table)._found.model, np.full(4, np.nextafter(1, 0))
    at = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    to, reward, ends, _ = model.step(0, *at, last)
    assert to.tolist() == [1, 1, 1, 0]
    assert reward.tolist() == [1.0, 2.0, 1.0, -0.5]
    assert ends.tolist() == [False, True, True, False]
    taxi = GymnasiumTable(TAXI)
    start = bare(taxi).initial_state_distrib
    assert np.cumsum(start)[-1] < 1
    assert start[499] == 0
    assert start[taxi._found.model.first(last)].all()


def test_probabilities_that_nearly_sum_to_one() -> None:
    nearly = listed(changed(0, 0, [(0.3333333, 0, 3.0, False)] * 3), stages=1)
    assert nearly.problem.high == pytest.approx(3.0, abs=1e-12)


def test_the_table_is_read_once(monkeypatch) -> None:
    """From two objects, to refuse a table that differs each time; regardless of the number of rows and plays."""
    made, make = [], gymnasium.make
    monkeypatch.setattr(gymnasium, "make", lambda *given, **settings: made.append(given) or make(*given, **settings))
    lake = GymnasiumTable("FrozenLake-v1", stages=5)
    rng = np.random.default_rng(9)
    instance = lake.draw(100, rng)
    for _ in range(5):
        lake.play(instance, lambda seen: np.zeros(100, dtype=int), rng)
    assert lake.problem is lake.problem
    assert len(made) == 2


def test_nothing_to_decide() -> None:
    """All policies return the same: there is nothing to regret, and a meta plays on."""
    lake = GymnasiumTable("FrozenLake-v1", DRY, stages=5)
    assert (lake.problem.range, lake.problem.noise) == ((0.0, 0.0), 0.0)

    class Fixed:
        def act(self, context, rng):
            return 1

        def learn(self, context, action, reward):
            pass

    bases = [lift(lambda problem: Fixed(), name, episodic=True) for name in ("one", "two")]
    record = try_out(lake, bases, Corral(), rows=3, horizon=20)
    assert (record.regret == 0).all()
    assert np.isfinite(record.probabilities).all()
    thirds = [(1 / 3, 0, 0.1, False), (1 / 3, 0, 0.3, False), (1 / 3, 1, 0.7, False)]
    ways = {0: thirds, 1: thirds[::-1]}
    low, high = listed({0: ways, 1: ways}, stages=9).problem.range
    assert low == high  # and not a span of rounding errors
