"""RiverSwim is TabulaRL's, number by number."""

from __future__ import annotations

import numpy as np
import pytest
from corral_tabular import RiverSwim

from corral_core import Array
from corral_core.environments.planning import following


def value(river: RiverSwim, policy: Array) -> float:
    """The value from state 0 of a policy with these probabilities of actions in all states."""
    policy = np.broadcast_to(policy, (1, river.stages, river.states, 2))
    found = river.river.values(river.stages, following(policy))
    return float((policy * found)[0, 0, 0].sum())


def test_reference_values() -> None:
    """To the digits that are known."""
    river = RiverSwim()
    assert river.river.optimal[0, 0, 0].max() == pytest.approx(3.3973, abs=5e-5)
    assert value(river, np.array([0.5, 0.5])) == pytest.approx(0.0438, abs=5e-5)
    assert value(river, np.array([1.0, 0.0])) == pytest.approx(0.1, abs=1e-12)
    assert value(river, np.array([0.0, 1.0])) == pytest.approx(3.3966, abs=5e-5)
    assert RiverSwim(stages=10).river.optimal[0, 0, 0].max() == pytest.approx(0.3524, abs=5e-5)
    assert RiverSwim(stages=50).river.optimal[0, 0, 0].max() == pytest.approx(16.07, abs=5e-3)


def test_every_number() -> None:
    model = RiverSwim().river
    left, right = model.probability[0, 0, :, 0], model.probability[0, 0, :, 1]
    assert (left == np.eye(6)[[0, 0, 1, 2, 3, 4]]).all()
    assert right.tolist() == [
        [0.4, 0.6, 0, 0, 0, 0],
        [0.05, 0.6, 0.35, 0, 0, 0],
        [0, 0.05, 0.6, 0.35, 0, 0],
        [0, 0, 0.05, 0.6, 0.35, 0],
        [0, 0, 0, 0.05, 0.6, 0.35],
        [0, 0, 0, 0, 0.4, 0.6],
    ]
    assert model.reward[0, 0, :, :, 0].tolist() == [[0.005, 0], *[[0, 0]] * 4, [0, 1]]


@pytest.mark.parametrize("states", [2, 3, 9])
def test_other_lengths_of_the_river(states: int) -> None:
    river = RiverSwim(states=states)
    assert np.abs(river.river.probability.sum(axis=-1) - 1).max() < 1e-15
    assert (river.problem.states, river.problem.range) == (states, (0.0, 20.0))
    assert RiverSwim(states=states, high=3.4).problem.range == (0.0, 3.4)


@pytest.mark.parametrize("sizes", [{"states": 1}, {"states": -1}, {"stages": 0}, {"high": 0.0}, {"high": -1.0}])
def test_no_river_is_refused(sizes: dict[str, float]) -> None:
    (name,) = sizes
    with pytest.raises(ValueError, match=f"'{name}' must be"):
        RiverSwim(**sizes)  # type: ignore[arg-type]


def test_mean_regret_is_the_lost_value() -> None:
    """A uniform walk, 40,000 episodes: V* - V^pi exactly evaluated, 4.5 standard errors, 1e-5 each."""
    river, rng, rows = RiverSwim(), np.random.default_rng(1), 40_000
    play = river.play(river.draw(rows, rng), lambda seen: rng.integers(2, size=rows), rng)
    best, mine = river.river.optimal[0, 0, 0].max(), value(river, np.array([0.5, 0.5]))
    assert play.regret is not None
    for found, exact in ((play.regret, best - mine), (play.reward, mine)):
        assert abs(found.mean() - exact) < 4.5 * found.std() / np.sqrt(rows)
