"""`corral bench`: how fast this machine plays fixed workloads, on one core."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer


def register(app: typer.Typer) -> None:
    app.command("bench")(bench)


def bench(
    workload: Annotated[list[str] | None, typer.Argument(help="Workloads to time (default: all).")] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows", "--replicates", help="Number of rows that advance together (default: the workload's).", min=1
        ),
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Number of plays (default: the workload's).", min=2)] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare with an earlier run, in percent; FILE has what --json printed."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per workload, one per line.")] = False,
) -> None:
    """Time fixed workloads on one core.

    - epsilon: eighteen small bases on two arms.
    - arms: UCB and LinUCB, the paper's first figure.
    - dimension: LinUCB with 64 features, and the matrix products it cannot avoid.
    - live: one row that is asked and told, with two bases, eight bases and two LinUCB.
    - episodes: PSRL and UCRL2 on RiverSwim.
    - mixed: eighteen LinUCB of 1 to 18 dimensions.

    Shows microseconds per play and row, calls per play, peak memory, and which kernels played. Calls are those of
    functions and methods written in C, numpy's above all, by one play of all rows together. They are counted by
    Python's profiler in a short run that is not timed. Operators, numpy's universal functions and compiled kernels are
    not counted.
    """
    import json
    import sys

    from corral_core.cli.bench.earlier import Earlier
    from corral_core.cli.bench.workloads import WORKLOADS
    from corral_core.errors import CorralError
    from corral_core.kernels.twins import wish
    from corral_core.suggestions import suggestion

    wish()
    for name in workload or ():
        if name not in WORKLOADS:
            raise CorralError(f"there is no workload {name}{suggestion(name, WORKLOADS)}")
        if WORKLOADS[name].has_one_row and rows not in (None, 1):
            raise CorralError(f"{name} plays one row; leave out --rows")
    earlier = Earlier(against) if against else None
    said: set[str] = set()
    for name in _playable(workload):
        size = WORKLOADS[name]
        amount = (1 if size.has_one_row else rows or size.rows), horizon or size.horizon
        for found in _measured(name, *amount):
            if isinstance(found, str):
                if found not in said and (sys.stderr.isatty() or not as_json):
                    typer.echo(found, err=True)
                said.add(found)
                continue
            if earlier and (sentence := earlier.missing(found)):
                typer.echo(sentence, err=True)
            shown = earlier.compared(found) if earlier else found
            print(json.dumps(shown) if as_json else _text(shown), flush=True)


def _playable(wanted: list[str] | None) -> Iterator[str]:
    """The workloads whose bases are installed; one that was asked for by name must be."""
    from corral_core.cli.bench.workloads import WORKLOADS
    from corral_core.errors import CorralError
    from corral_core.registry.names import get_registry

    for name in wanted or WORKLOADS:
        try:
            for base in WORKLOADS[name].bases:
                get_registry().get("base", base)
        except CorralError as absent:
            if wanted:
                raise
            typer.echo(f"{name} is left out: {absent}", err=True)
        else:
            yield name


def _measured(name: str, rows: int, horizon: int) -> Iterator[Any]:
    """What a workload says before it plays, and its measurement, from a process of its own: so the peak is its own."""
    from corral_core.cli.bench.workloads import measure
    from corral_core.engines.workers import Died, Worker
    from corral_core.errors import CorralError

    worker = Worker()
    try:
        yield from worker.call(measure, name, rows, horizon)
    except Died as died:
        raise CorralError(f"the process that played {name} {died}") from None
    finally:
        worker.kill()


def _text(measured: dict[str, Any]) -> str:
    """The measurement as a line of text; one more per case if there are several."""
    rows = measured["replicates"]
    notes = [f"{rows} row{'s' * (rows != 1)}", f"{measured['horizon']:,} plays"]
    if "mean_regret" in measured:
        notes.append(f"mean regret {measured['mean_regret']:.1f}")
    if "times_products" in measured:
        notes.append(f"{measured['times_products']:.2f} times its bare matrix products")
    notes.append(measured["kernels"])
    size = f"{measured['peak_mb']:.0f} MB at peak ({', '.join(notes)})"
    if "cases" not in measured:
        return f"{measured['workload']}: {_numbers(measured, 'per play and row')}, {size}"
    cases = [f"  {case['case']}: {_numbers(case, 'per ask and tell')}" for case in measured["cases"]]
    return "\n".join([f"{measured['workload']}: {size}", *cases])


def _numbers(measured: dict[str, Any], what: str) -> str:
    """Microseconds and calls, each with its change if an earlier run is compared."""
    since = {name: f" ({change:+.1f}%)" for name, change in (measured.get("against") or {}).items()}
    return (
        f"{measured['us_per_play']:.3f} us {what}{since.get('us_per_play', '')}, "
        f"{measured['calls_per_play']:.1f} calls per play{since.get('calls_per_play', '')}"
    )
