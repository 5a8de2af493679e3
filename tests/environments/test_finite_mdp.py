"""A finite MDP plays its table, and the mean regret of episodes is the value that the policy lacks."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from corral_core.environments.finite_mdp import FiniteMdp, Model
from corral_core.environments.planning import following
from corral_core.errors import CorralError
from corral_core.protocols.problem import Problem
from corral_core.rows import Array, Rows

STATES, ACTIONS, STAGES = 4, 3, 5


class Instance(Rows):
    model: Model


@attrs.frozen
class Maze(FiniteMdp):
    """One model per row, or one for all rows."""

    name = "maze"
    worlds: tuple[Model, ...] = ()

    @property
    def problem(self) -> Problem:
        return Problem(self.name, arms=ACTIONS, episodic=True, states=STATES, stages=STAGES, low=0.0, high=5.0)

    def model(self, instance):
        return self.worlds[0] if len(self.worlds) == 1 else instance.model


def maze(seed: int, stages: int = STAGES) -> Model:
    """Outcomes that end the episode and outcomes that do not, and a first state that is drawn."""
    rng = np.random.default_rng(seed)
    probability = rng.dirichlet(np.ones(3), size=(1, stages, STATES, ACTIONS))
    to = rng.integers(STATES, size=probability.shape)
    ends = rng.random(probability.shape) < 0.15
    reward = rng.random(probability.shape)
    start = rng.dirichlet(np.ones(STATES), size=1)
    return Model.of(probability, reward, STAGES, following=to, ends=ends, start=start)


def started(model: Model) -> Array:
    return np.diff(model.start, prepend=0.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("stages", [1, STAGES], ids=["all stages alike", "each stage its own"])
@pytest.mark.parametrize("worlds", [1, 3], ids=["one world", "a world a row"])
def test_mean_regret_is_the_optimum_less_the_value_of_the_policy(stages: int, worlds: int) -> None:
    """Exactly valued; 40,000 episodes, 4.5 standard errors: each fails by chance in 1e-5."""
    models = [maze(seed, stages) for seed in range(worlds)]
    rng = np.random.default_rng(7)
    policy = rng.dirichlet(np.ones(ACTIONS), size=(1, STAGES, STATES))
    rows = 40_000 * worlds
    environment = Maze(tuple(models))
    instance = Instance(Model.concatenate(models).take(np.arange(rows) % worlds))

    def act(observation):
        chances = np.cumsum(policy[0, observation.stage[0], observation.state], axis=1)
        return (chances[:, :-1] <= rng.random((rows, 1))).sum(axis=1)

    play = environment.play(instance, act, rng)
    assert play.regret is not None and (play.regret >= 0).all()
    for world, model in enumerate(models):
        first = started(model)[0]
        best = first @ model.optimal[0, 0].max(axis=1)
        mine = first @ (policy[0, 0] * model.values(STAGES, following(policy))[0, 0]).sum(axis=1)
        regret, reward = play.regret[world::worlds], play.reward[world::worlds]
        for found, exact in ((regret, best - mine), (reward, mine)):
            assert abs(found.mean() - exact) < 4.5 * found.std() / np.sqrt(len(found))


def test_steps_lead_where_the_table_says() -> None:
    """Frequencies of the outcomes of one pair, 40,000 draws: 4.5 standard errors, 1e-5 each."""
    model, rows = maze(3), 40_000
    rng = np.random.default_rng(8)
    state, action = np.full(rows, 2), np.full(rows, 1)
    to, reward, ends, gap = model.step(3, state, action, rng.random(rows))
    for outcome in range(3):
        at = (0, 3, 2, 1, outcome)
        mine = (to == model.following[at]) & (reward == model.reward[at]) & (ends == model.ends[at])  # type: ignore[index]
        p = model.probability[at]
        assert abs(mine.mean() - p) < 4.5 * np.sqrt(p * (1 - p) / rows)
    values = model.optimal[0, 3, 2]
    assert gap == pytest.approx(np.full(rows, values.max() - values[1]))


@pytest.mark.parametrize("chances", [[0.1] * 10, [*[0.1] * 10, 0.0, 0.0], [0.0, 1.0], [1 / 3] * 3])
def test_what_cannot_happen_never_does(chances: list[float]) -> None:
    """Rounding may leave the sum below one, and a uniform number above it: not even then."""
    last = max(outcome for outcome, chance in enumerate(chances) if chance > 0)
    first = min(outcome for outcome, chance in enumerate(chances) if chance > 0)
    shape = (1, 1, len(chances), 1, len(chances))
    start = np.array([chances])
    model = Model.of(np.broadcast_to(start, shape), np.zeros((1, 1, len(chances), 1, 1)), 1, start=start)
    state = np.zeros(2, dtype=int)
    edges = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert model.step(0, state, state, edges)[0].tolist() == [first, last]
    assert model.first(edges).tolist() == [first, last]


def test_the_first_state_is_drawn_and_is_zero_unless_said() -> None:
    """20,000 draws, 4.5 standard errors: 1e-5 each."""
    model, rows = maze(4), 20_000
    uniform = np.random.default_rng(9).random(rows)
    share = np.bincount(model.first(uniform), minlength=STATES) / rows
    p = started(model)[0]
    assert (np.abs(share - p) < 4.5 * np.sqrt(p * (1 - p) / rows)).all()
    assert (model.replace(start=None).first(uniform) == 0).all()


class Double(Maze):
    """A step of its own: it pays twice as much and costs twice the regret."""

    def step(self, instance, stage, state, action, rng):
        following, reward, ends, gap = super().step(instance, stage, state, action, rng)
        return following, 2 * reward, ends, 2 * gap


class Late(Maze):
    """A start of its own: the last state."""

    def start(self, instance, rng):
        return super().start(instance, rng) * 0 + STATES - 1


@attrs.frozen
class Slow(Maze):
    """A model whose steps are its own: they all stay where they are."""

    def model(self, instance):
        return Still(*(getattr(self.worlds[0], name) for name in Model.names))


class Still(Model):
    def step(self, stage, state, action, uniform):
        _, reward, ends, gap = super().step(stage, state, action, uniform)
        return state, reward, np.zeros_like(ends), gap


@pytest.mark.parametrize("rows", [1, 2, 500])
@pytest.mark.parametrize("kind", [Maze, Double, Late, Slow])
def test_an_episode_is_made_of_steps(kind: type[Maze], rows: int) -> None:
    """Rewards and regret of an episode are those of its steps in the table, also if a subclass has steps of its own."""
    model = maze(5)
    environment, rng = kind((model,)), np.random.default_rng(rows)
    acts = rng.integers(ACTIONS, size=(rows, STAGES))
    play = environment.play(environment.draw(rows, rng), lambda seen: acts[:, seen.stage[0]], rng)
    told, times = play.observation, 2 if kind is Double else 1
    regret = np.zeros(rows)
    for row, step in np.argwhere(told.alive):
        state, action = told.state[row, step], told.action[row, step]
        at = (0, step, state, action)
        assert action == acts[row, step]
        assert told.reward[row, step] in times * model.reward[at]
        if kind is Slow:
            assert told.next_state[row, step] == state
        else:
            assert told.next_state[row, step] in model.following[at]  # type: ignore[index]
        regret[row] += times * (model.optimal[0, step, state].max() - model.optimal[at])
    assert play.regret == pytest.approx(regret)
    assert play.reward == pytest.approx(told.reward.sum(axis=1))
    assert (told.alive.sum(axis=1) < STAGES).any() == (kind is not Slow) or rows < 500
    assert (told.state[:, 0] == STATES - 1).all() or kind is not Late


def test_a_model_of_stages_that_are_alike_never_ends_without_ends() -> None:
    """The tables of authors may be views, and rewards whole numbers."""
    chances = np.broadcast_to(np.full(STATES, 1 / STATES), (1, 1, STATES, ACTIONS, STATES))
    reward = np.broadcast_to(np.arange(ACTIONS)[:, None], (1, 1, STATES, ACTIONS, 1))
    world, rng = Maze((Model.of(chances, reward, STAGES),)), np.random.default_rng(1)
    play = world.play(world.draw(4, rng), lambda seen: np.full(4, 2), rng)
    assert play.observation.alive.shape == (4, STAGES) and play.observation.alive.all()
    assert (play.reward == 2 * STAGES).all() and (play.regret == 0).all()  # type: ignore[union-attr]
    assert world.step(world.draw(4, rng), 0, np.zeros(4, int), np.zeros(4, int), rng)[2].tolist() == [False] * 4


GOOD = {
    "probability": np.full((1, 1, 2, 1, 2), 0.5),
    "reward": np.zeros((1, 1, 2, 1, 1)),
    "stages": 3,
    "following": np.zeros((1, 1, 2, 1, 2), dtype=int),
    "ends": np.zeros((1, 1, 2, 1, 2), dtype=bool),
    "start": np.array([[0.5, 0.5]]),
}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"probability": np.full((1, 2, 1, 2), 0.5)}, "probability must have the axes"),
        ({"probability": np.full((1, 1, 2, 1, 2), 0.4)}, "probability must be at least 0 and sum to 1"),
        ({"probability": np.array([[[[[1.5, -0.5]], [[0.5, 0.5]]]]])}, "probability must be at least 0"),
        ({"probability": np.full((1, 1, 2, 1, 2), np.nan)}, "probability must be at least 0"),
        ({"probability": np.full((1, 2, 2, 1, 2), 0.5)}, "must have 1 or 3 stages, not 2"),
        ({"stages": 0}, "a model of 0 stages"),
        ({"reward": np.zeros((1, 1, 2, 1))}, r"reward must have the shape \(1, 1, 2, 1, 2\) or \(1, 1, 2, 1, 1\)"),
        ({"reward": np.full((1, 1, 2, 1, 1), np.nan)}, "rewards must be finite"),
        ({"following": np.zeros((1, 1, 2, 1, 2))}, "following must be states, integers from 0 to 1"),
        ({"following": np.full((1, 1, 2, 1, 2), 2)}, "following must be states, integers from 0 to 1"),
        ({"ends": np.zeros((1, 1, 2, 1, 2))}, "ends must be an array of booleans"),
        ({"start": np.array([[0.5, 0.4]])}, "start must be at least 0 and sum to 1"),
        ({"start": np.array([0.5, 0.5])}, r"start must have the shape \(1, 2\), not \(2,\)"),
        ({"following": None, "probability": np.full((1, 1, 2, 1, 1), 1.0), "ends": None}, "need `following`"),
    ],
)
def test_what_cannot_be_a_model_is_refused(wrong: dict[str, Any], said: str) -> None:
    Model.of(**GOOD)  # type: ignore[arg-type]
    with pytest.raises(CorralError, match=said):
        Model.of(**{**GOOD, **wrong})


def test_a_model_of_other_sizes_than_the_problem_is_named() -> None:
    world = Maze((maze(1).replace(optimal=np.zeros((1, 4, STATES, ACTIONS))),))
    rng = np.random.default_rng(1)
    with pytest.raises(CorralError, match=r"maze: the model has \{'stages': 4, 'states': 4, 'arms': 3\}; problem must"):
        world.play(world.draw(2, rng), lambda seen: np.zeros(2, dtype=int), rng)
