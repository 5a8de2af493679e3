"""Fixed workloads that show how fast a machine plays, on one core each.

    epsilon    eighteen epsilon-greedy bases on two Bernoulli arms: what many small bases cost
    arms       UCB and LinUCB on fifty linear arms: the paper's first figure
    dimension  LinUCB alone with 64 features and 50 arms, and the matrix products that it cannot avoid

In the first two a meta-algorithm plays smoothed bases; its rates come from the horizon in plays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from corral_core.rows import Array


@attrs.frozen
class Workload:
    """What is timed, the default size, and the bases that it needs."""

    measure: Callable[[str, int, int], dict[str, Any]]
    replicates: int
    horizon: int
    bases: tuple[str, ...]


def experiment(workload: str, replicates: int, horizon: int) -> dict[str, Any]:
    """The experiment of a workload, as a source."""
    rates = {"gamma": 1 / horizon, "growth": math.exp(1 / math.log(max(horizon, 3)))}
    grid = {"geometric": [1, "2 * horizon"], "count": 18}
    sources: dict[str, dict[str, Any]] = {
        "epsilon": {
            "environment": {"name": "corral-mab:bernoulli-arms", "means": [0.5, 0.45]},
            "bases": [{"name": "corral-mab:epsilon-greedy", "grid": {"c": grid}}],
            "meta": {"name": "corral", "eta": 20 / math.sqrt(horizon), **rates},
        },
        "arms": {
            "environment": {"name": "corral-linucb:linear-arms", "arms": 50, "dimension": 2},
            "bases": [{"name": "corral-mab:ucb"}, {"name": "corral-linucb:linucb", "norm": 1.5}],
            "meta": {"name": "corral", "eta": 1 / math.sqrt(horizon), **rates},
            "delta": 0.01,
        },
    }
    return {
        "name": f"bench-{workload}",
        **sources[workload],
        "compare": {"alone": "none"},
        "horizon": horizon,
        "replicates": replicates,
        "chunk_size": replicates,
    }


def play_experiment(workload: str, replicates: int, horizon: int) -> dict[str, Any]:
    """Play one chunk of the workload's experiment in this process."""
    from time import perf_counter

    from corral_core.engines.chunks import run_chunk
    from corral_core.experiments.point import parse_point

    point = parse_point(experiment(workload, replicates, horizon))
    begun = perf_counter()
    record = run_chunk(point, "corral", 0)
    seconds = perf_counter() - begun
    assert record.regret is not None
    return _measured(workload, replicates, horizon, seconds) | {"mean_regret": float(record.regret[:, -1].mean())}


ARMS, FEATURES, CONTEXTS = 50, 64, 8


def play_dimension(workload: str, replicates: int, horizon: int) -> dict[str, Any]:
    """Time LinUCB and the bare products X V^-1, X theta, V^-1 x and u u^T of as many rows, in turns."""
    from time import perf_counter

    import numpy as np

    from corral_core.players.plain import plain
    from corral_core.protocols.problem import Feedback, Observation, Problem
    from corral_core.registry.names import get_registry
    from corral_core.selection.setup import given_rows

    rng = np.random.default_rng(1)
    problem = Problem(arms=ARMS, dimension=FEATURES, changing=True, noise=0.3, low=-1, high=1, delta=1 / horizon)
    base = get_registry().load("base", "corral-linucb:linucb")().resolve(problem)
    player = plain(base).start(given_rows([base], {}, replicates), rng)
    rows = np.arange(replicates)
    contexts = rng.standard_normal((CONTEXTS, replicates, ARMS, FEATURES)) / math.sqrt(FEATURES)
    theta = rng.standard_normal((replicates, FEATURES)) / math.sqrt(FEATURES)
    inverse = np.tile(np.eye(FEATURES), (replicates, 1, 1))
    seconds = bare = 0.0
    for play in range(horizon):
        observation = Observation(features=contexts[play % CONTEXTS])
        noise = 0.3 * rng.standard_normal(replicates)
        begun = perf_counter()
        policy = player.next_policy(0, rows, rng)
        action = player.act(policy, observation, rng)
        acted = perf_counter()
        x: Array = contexts[play % CONTEXTS][rows, action]
        reward = (x * theta).sum(axis=1) + noise
        resumed = perf_counter()
        player.learn(0, rows, Feedback(observation, action, reward), rng)
        learned = perf_counter()
        _products(contexts[play % CONTEXTS], theta, inverse, x)
        seconds += acted - begun + learned - resumed
        bare += perf_counter() - learned
    return _measured(workload, replicates, horizon, seconds) | {
        "products_us_per_play": bare / horizon / replicates * 1e6,
        "times_products": seconds / bare,
    }


def _products(features: Array, theta: Array, inverse: Array, x: Array) -> None:
    import numpy as np

    np.matmul(features, inverse)
    np.matmul(features, theta[:, :, None])
    u = np.matmul(inverse, x[:, :, None])
    np.matmul(u, u.transpose(0, 2, 1))


def _measured(workload: str, replicates: int, horizon: int, seconds: float) -> dict[str, Any]:
    import resource

    return {
        "workload": workload,
        "us_per_play": seconds / horizon / replicates * 1e6,
        "replicates": replicates,
        "horizon": horizon,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


WORKLOADS = {
    "epsilon": Workload(play_experiment, 512, 50_000, ("corral-mab:epsilon-greedy",)),
    "arms": Workload(play_experiment, 512, 10_000, ("corral-mab:ucb", "corral-linucb:linucb")),
    "dimension": Workload(play_dimension, 64, 500, ("corral-linucb:linucb",)),
}


def measure(workload: str, replicates: int, horizon: int, say: object = None) -> dict[str, Any]:
    """Measure one workload in this process; `say` is not used."""
    return WORKLOADS[workload].measure(workload, replicates, horizon)
