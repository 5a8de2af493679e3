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
