"""`corral bench`: how fast this machine plays fixed workloads, on one core."""

from __future__ import annotations

from typing import Annotated, Any

import typer

EPSILON: dict[str, Any] = {
    "name": "bench-epsilon",
    "environment": {"name": "bernoulli-arms", "means": [0.5, 0.45]},
    "bases": [{"name": "epsilon-greedy", "grid": {"c": {"geometric": [1, "2 * horizon"], "count": 18}}}],
    "compare": {"alone": "none"},
}
HORIZONS = {"epsilon": 50_000}


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    workload: Annotated[list[str] | None, typer.Argument(help="Which workloads; all of them unless said.")] = None,
    replicates: Annotated[int, typer.Option(help="Replicates that advance together.", min=1)] = 512,
    horizon: Annotated[int | None, typer.Option(help="Plays; each workload's own unless said.", min=2)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a workload, a line each.")] = False,
) -> None:
    """Time fixed workloads on one core.

    Microseconds a play and replicate, and peak memory.
    """
    import json
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    from corral_core.engines.processes import ending, submit
    from corral_core.errors import CorralError
    from corral_core.parsing import suggestion

    for name in workload or ():
        if name not in HORIZONS:
            raise CorralError(f"there is no workload {name}{suggestion(name, HORIZONS)}")
    for name in workload or HORIZONS:
        plays = horizon or HORIZONS[name]
        # A process of its own, so that the peak is the workload's.
        pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        with ending(pool):
            measured = submit(pool, measure, [(name, replicates, plays)]).pop().result()
        if as_json:
            print(json.dumps(measured), flush=True)
        else:
            print(
                f"{name}: {measured['us_per_play']:.3f} us a play and replicate, {measured['peak_mb']:.0f} MB at peak "
                f"({replicates} replicates, {plays:,} plays, mean regret {measured['mean_regret']:.1f})"
            )


def measure(workload: str, replicates: int, horizon: int) -> dict[str, Any]:
    """One workload, here."""
    import resource
    from time import perf_counter

    from corral_core.chunks import run_chunk
    from corral_core.experiment import parse

    experiment = parse(source(workload, replicates, horizon))
    begun = perf_counter()
    record = run_chunk(experiment, "corral", 0)
    seconds = perf_counter() - begun
    assert record.regret is not None
    return {
        "workload": workload,
        "us_per_play": seconds / horizon / replicates * 1e6,
        "replicates": replicates,
        "horizon": horizon,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "mean_regret": float(record.regret[:, -1].mean()),
    }


def source(workload: str, replicates: int, horizon: int) -> dict[str, Any]:
    """The workload as an experiment; its rates come from the horizon in plays, as in the C yardstick."""
    import math

    rates = {"gamma": 1 / horizon, "growth": math.exp(1 / math.log(max(horizon, 3)))}
    return {
        **EPSILON,
        "horizon": horizon,
        "replicates": replicates,
        "chunk": replicates,
        "meta": {"name": "corral", "eta": 20 / math.sqrt(horizon), **rates},
    }
