"""Common part of bases for finite MDPs: sizes that must be the problem's, and episodes as flat arrays."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from corral_kit.tabular.tabular import Tabular

from corral_core import CorralError, Problem, Trajectory
from corral_core.checks.worlds import SmallChain

PROBLEM = Problem("a place", arms=2, episodic=True, states=4, stages=5)


@attrs.frozen
class Any(Tabular):
    """Does nothing."""

    name = "any"

    def init(self, given, rng): ...
    def policy(self, state, rows): ...
    def act(self, policy, observation, rng): ...
    def learn(self, state, rows, feedback, rng): ...


def episodes(lengths: list[int]) -> Trajectory:
    """As `EpisodicMdp.play` leaves them: as many columns as the longest took, and states that stay where they end."""
    rng, steps = np.random.default_rng(1), max(lengths)
    shape = (len(lengths), steps)
    alive = np.arange(steps) < np.array(lengths)[:, None]
    drawn = [rng.integers(4, size=shape), rng.integers(2, size=shape), rng.random(shape), rng.integers(4, size=shape)]
    return Trajectory(*drawn, alive)


@pytest.mark.parametrize("lengths", [[5, 5, 5], [3, 5, 1], [2, 1, 2], []])
def test_steps_are_those_of_a_loop(lengths: list[int]) -> None:
    base = Any().resolve(PROBLEM)
    assert (base.outcomes, base.fixed_length) == (5, False)
    told = episodes(lengths) if lengths else episodes([3]).take(np.zeros(0, dtype=int))
    rows = np.array([7, 2, 4])[: len(lengths)]
    found = base.steps(rows, told)
    wanted = []
    for row, length in enumerate(lengths):
        for step in range(length):
            over = step == length - 1 and step < 4
            outcome = 4 if over else told.next_state[row, step]
            taken = (told.state[row, step], told.action[row, step], told.reward[row, step])
            wanted.append((rows[row], step, *taken, outcome, step == 4))
    fields = (found.learner, found.stage, found.state, found.action, found.reward, found.outcome, found.last)
    assert list(zip(*fields, strict=True)) == wanted


def test_an_episode_of_known_length_has_no_end_to_learn() -> None:
    base = Any().resolve(attrs.evolve(PROBLEM, fixed_length=True))
    assert base.outcomes == 4
    assert (base.steps(np.arange(2), episodes([5, 5])).outcome < 4).all()
    with pytest.raises(CorralError, match="any expects every episode to take all its 5 stages, but one ended after 3"):
        base.steps(np.arange(2), episodes([5, 3]))


@pytest.mark.parametrize("name", ["arms", "states", "stages"])
def test_all_of_a_size_or_none(name: str) -> None:
    there = getattr(PROBLEM, name)
    assert getattr(attrs.evolve(Any(), **{name: there}).resolve(PROBLEM), name) == there
    with pytest.raises(CorralError, match=f"any plays all {there} {name} of a place; leave {name} out"):
        attrs.evolve(Any(), **{name: there - 1}).resolve(PROBLEM)
    with pytest.raises(CorralError, match=f"{name} must be at most {there}, as many as a place has"):
        attrs.evolve(Any(), **{name: there + 1}).resolve(PROBLEM)


def test_what_is_unknown_is_named() -> None:
    with pytest.raises(CorralError, match="any needs a finite set of states; a place has none"):
        Any().resolve(attrs.evolve(PROBLEM, states=None))
    with pytest.raises(CorralError, match="any plays episodes; bandit asks for single actions"):
        Any().resolve(Problem("bandit", arms=2))
    assert Any().resolve(SmallChain().problem).outcomes == 4
