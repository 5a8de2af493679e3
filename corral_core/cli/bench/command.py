"""`corral bench`: how fast this machine plays fixed workloads, on one core."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    workload: Annotated[list[str] | None, typer.Argument(help="Workloads to time (default: all).")] = None,
    replicates: Annotated[
        int | None, typer.Option(help="Number of replicates that advance together (default: the workload's).", min=1)
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Number of plays (default: the workload's).", min=2)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per workload, one per line.")] = False,
) -> None:
    """Time fixed workloads on one core.

    Shows microseconds per play and replicate, and peak memory, for epsilon (eighteen small bases), arms (UCB and
    LinUCB, the paper's first figure) and dimension (LinUCB with 64 features, and the matrix products it cannot avoid).
    """
    import json

    from corral_core.cli.bench.workloads import WORKLOADS, measure
    from corral_core.engines.workers import Died, Worker
    from corral_core.errors import CorralError
    from corral_core.registry.names import get_registry
    from corral_core.suggestions import suggestion

    for name in workload or ():
        if name not in WORKLOADS:
            raise CorralError(f"there is no workload {name}{suggestion(name, WORKLOADS)}")
    for name in workload or WORKLOADS:
        try:
            for base in WORKLOADS[name].bases:
                get_registry().get("base", base)
        except CorralError as absent:
            if workload:
                raise
            typer.echo(f"{name} is left out: {absent}", err=True)
            continue
        amount = replicates or WORKLOADS[name].replicates, horizon or WORKLOADS[name].horizon
        # In a process of its own, so that the peak memory is the workload's.
        worker = Worker()
        try:
            (measured,) = worker.call(measure, name, *amount)
        except Died as died:
            raise CorralError(f"the process that played {name} {died}") from None
        finally:
            worker.kill()
        print(json.dumps(measured) if as_json else _line(measured), flush=True)


def _line(measured: dict[str, Any]) -> str:
    """The measurement as a line of text."""
    notes = [f"{measured['replicates']} replicates", f"{measured['horizon']:,} plays"]
    if "mean_regret" in measured:
        notes.append(f"mean regret {measured['mean_regret']:.1f}")
    if "times_products" in measured:
        notes.append(f"{measured['times_products']:.2f} times its bare matrix products")
    return (
        f"{measured['workload']}: {measured['us_per_play']:.3f} us per play and replicate, "
        f"{measured['peak_mb']:.0f} MB at peak ({', '.join(notes)})"
    )
