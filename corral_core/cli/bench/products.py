"""The workload `dimension`: LinUCB in many dimensions, beside the matrix products that it cannot avoid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corral_core.rows import Array

ARMS, FEATURES, CONTEXTS = 50, 64, 8
COUNTED = 20  # plays


def play_dimension(workload: str, rows: int, horizon: int) -> dict[str, Any]:
    """Time LinUCB and the bare products X V^-1, X theta, V^-1 x and u u^T of as many rows, in turns."""
    from time import perf_counter

    from corral_core.cli.bench.calls import per_play

    alone = Alone(rows, horizon)
    alone.play()
    seconds = bare = 0.0
    for _ in range(horizon):
        begun = perf_counter()
        alone.play()
        played = perf_counter()
        alone.products()
        seconds += played - begun
        bare += perf_counter() - played
    return {
        "us_per_play": seconds / horizon / rows * 1e6,
        "calls_per_play": per_play(alone.play, COUNTED),
        "products_us_per_play": bare / horizon / rows * 1e6,
        "times_products": seconds / bare,
    }


class Alone:
    """LinUCB without a meta-algorithm, on contexts and rewards that were drawn before."""

    def __init__(self, rows: int, horizon: int) -> None:
        import numpy as np

        from corral_core.players.plain import plain
        from corral_core.protocols.problem import Observation, Problem
        from corral_core.registry.names import get_registry
        from corral_core.selection.setup import given_rows

        self.rng = np.random.default_rng(1)
        problem = Problem(arms=ARMS, dimension=FEATURES, changing=True, noise=0.3, low=-1, high=1, delta=1 / horizon)
        base = get_registry().load("base", "corral-linucb:linucb")().resolve(problem)
        self.player = plain(base).start(given_rows([base], {}, rows), self.rng)
        self.rows = np.arange(rows)
        contexts = self.rng.standard_normal((CONTEXTS, rows, ARMS, FEATURES)) / math.sqrt(FEATURES)
        self.theta = self.rng.standard_normal((rows, FEATURES)) / math.sqrt(FEATURES)
        means = np.matmul(contexts, self.theta[:, :, None])[..., 0]
        self.rewards = means + 0.3 * self.rng.standard_normal(means.shape)
        self.observations = [Observation(features=each) for each in contexts]
        self.inverse = np.tile(np.eye(FEATURES), (rows, 1, 1))
        self.played = 0

    def play(self) -> None:
        """Act, and learn from the reward."""
        from corral_core.protocols.problem import Feedback

        turn = self.played % CONTEXTS
        policy = self.player.next_policy(0, self.rows, self.rng)
        action: Array = self.player.act(policy, self.observations[turn], self.rng)
        reward = self.rewards[turn, self.rows, action]
        self.player.learn(0, self.rows, Feedback(self.observations[turn], action, reward), self.rng)
        self.played += 1

    def products(self) -> None:
        """The matrix products of one play."""
        import numpy as np

        features = self.observations[self.played % CONTEXTS].features
        assert features is not None
        np.matmul(features, self.inverse)
        np.matmul(features, self.theta[:, :, None])
        u = np.matmul(self.inverse, features[:, 0, :, None])
        np.matmul(u, u.transpose(0, 2, 1))
