"""Elements of finite spaces and their numbers, one to one."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from corral_adapters import Gymnasium
from corral_adapters.environments.spaces import finite
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Tuple

from corral_core import lift, try_out

SPACES = {
    "discrete": (Discrete(5), 5),
    "from minus two": (Discrete(5, start=-2), 5),
    "multi": (MultiDiscrete([3, 4]), 12),
    "multi of two axes": (MultiDiscrete(np.array([[2, 3], [3, 2]])), 36),
    "binary": (MultiBinary(3), 8),
    "tuple": (Tuple((Discrete(3, start=1), MultiDiscrete([2, 2]), Tuple((Discrete(2), MultiBinary(1))))), 48),
}


@pytest.mark.parametrize(("space", "count"), SPACES.values(), ids=SPACES)
def test_numbers_and_elements_are_one_to_one(space: Any, count: int) -> None:
    numbered = finite(space)
    assert numbered is not None
    assert numbered.size == count
    for each in range(count):
        found = numbered.element(each)
        assert space.contains(found)
        assert numbered.number(found) == each
    space.seed(1)
    for _ in range(20):
        assert 0 <= numbered.number(space.sample()) < count


def test_other_spaces_are_not_finite() -> None:
    assert finite(Box(0, 1)) is None
    assert finite(Tuple((Discrete(2), Box(0, 1)))) is None


class Cautious:
    """Sticks at once."""

    def act(self, context: Any, rng: Any) -> int:
        return 0

    def learn(self, context: Any, action: Any, reward: float) -> None:
        pass


def test_blackjack_is_played() -> None:
    """Its observations are a Tuple of three. Hands played here and by a bare loop have the same mean.

    Of 4,000 hands each, with returns in [-1, 1]: the means are more than 6 sqrt(2/4000) apart with probability 1e-9.
    """
    table = Gymnasium("Blackjack-v1", stages=10, low=-1.0, high=1.0)
    assert table.problem.states == 32 * 11 * 2
    record = try_out(table, lift(lambda problem: Cautious(), "cautious", episodic=True), rows=20, horizon=200)
    env, total = gymnasium.make("Blackjack-v1"), 0.0
    for seed in range(4000):
        env.reset(seed=seed)
        total += float(env.step(0)[1])
    assert abs(record.reward[:, -1].sum() - total) / 4000 < 6 * (2 / 4000) ** 0.5
