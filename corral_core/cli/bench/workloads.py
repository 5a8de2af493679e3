"""Fixed workloads that show how fast a machine plays, on one core each.

    epsilon    eighteen epsilon-greedy bases on two Bernoulli arms: what many small bases cost
    arms       UCB and LinUCB on fifty linear arms: the paper's first figure
    dimension  LinUCB alone with 64 features and 50 arms, and the matrix products that it cannot avoid
    live       one row that is asked and told: two bases, eight bases, two LinUCB on 50 arms with 10 features
    episodes   PSRL and UCRL2 on RiverSwim: what episodes cost
    mixed      eighteen LinUCB of 1 to 18 dimensions, six blocks of kin: what a grid over dimensions costs

In all but `dimension` a meta-algorithm plays, in all but `live` with smoothed bases. The rates of the first two come
from the horizon in plays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs

from corral_core.cli.bench.live import play_live
from corral_core.cli.bench.products import play_dimension


@attrs.frozen
class Workload:
    """What is timed, the default size, and the bases that it needs."""

    play: Callable[[str, int, int], dict[str, Any]]
    rows: int
    horizon: int
    bases: tuple[str, ...]
    has_one_row: bool = False


def experiment(workload: str, rows: int, horizon: int) -> dict[str, Any]:
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
        "episodes": {
            "environment": {"name": "corral-tabular:riverswim"},
            "bases": [{"name": "corral-tabular:psrl"}, {"name": "corral-tabular:ucrl2"}],
            "meta": {"name": "corral"},
        },
        "mixed": {
            "environment": {"name": "corral-linucb:linear-arms", "arms": 20, "dimension": 18},
            "bases": [{"name": "corral-linucb:linucb", "dimension": dimension} for dimension in range(1, 19)],
            "meta": {"name": "corral"},
        },
    }
    return {
        "name": f"bench-{workload}",
        **sources[workload],
        "compare": {"alone": "none"},
        "horizon": horizon,
        "replicates": rows,
        "chunk_size": rows,
    }


def play_experiment(workload: str, rows: int, horizon: int) -> dict[str, Any]:
    """Play one chunk of the workload's experiment in this process."""
    from time import perf_counter

    from corral_core.cli.bench.calls import of_chunk, play_shortly
    from corral_core.engines.chunks import run_chunk
    from corral_core.experiments.point import parse_point

    point = parse_point(experiment(workload, rows, horizon))
    play_shortly(point)
    begun = perf_counter()
    record = run_chunk(point, "corral", 0)
    seconds = perf_counter() - begun
    assert record.regret is not None
    return {
        "us_per_play": seconds / horizon / rows * 1e6,
        "calls_per_play": of_chunk(point),
        "mean_regret": float(record.regret[:, -1].mean()),
    }


UCB, GREEDY, LINUCB = "corral-mab:ucb", "corral-mab:epsilon-greedy", "corral-linucb:linucb"
WORKLOADS = {
    "epsilon": Workload(play_experiment, 512, 50_000, (GREEDY,)),
    "arms": Workload(play_experiment, 512, 10_000, (UCB, LINUCB)),
    "dimension": Workload(play_dimension, 64, 500, (LINUCB,)),
    "live": Workload(play_live, 1, 4_000, (UCB, GREEDY, LINUCB), has_one_row=True),
    "episodes": Workload(play_experiment, 10, 400, ("corral-tabular:psrl", "corral-tabular:ucrl2")),
    "mixed": Workload(play_experiment, 48, 2_000, (LINUCB,)),
}


def measure(workload: str, rows: int, horizon: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure one workload in this process; `say` hears that kernels are compiled."""
    import resource

    import corral_core.selection.selection  # noqa: F401 - its kernels
    from corral_core.kernels import twins
    from corral_core.kernels.compiling import announcement
    from corral_core.registry.names import get_registry

    for base in WORKLOADS[workload].bases:
        get_registry().load("base", base)
    if sentence := announcement():
        say(sentence)
    twins.bind()
    found = WORKLOADS[workload].play(workload, rows, horizon)
    return {
        "workload": workload,
        "us_per_play": found.pop("us_per_play"),
        "calls_per_play": found.pop("calls_per_play"),
        "replicates": rows,
        "horizon": horizon,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "kernels": twins.described(),
        **found,
    }
