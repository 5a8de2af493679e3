"""`corral run`: play an experiment and show its results."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from corral_core.cli.failed import failed_rows, replay_command, show_failed
from corral_core.cli.only import check_only, play_only
from corral_core.errors import CorralError

if TYPE_CHECKING:
    from corral_core.experiments.experiment import Experiment
    from corral_core.experiments.point import Point
    from corral_core.runs.failed import RunFailed
    from corral_core.runs.results import Result

AHEAD = 4  # workers that start immediately; more start when the experiment is known


def register(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    experiment: Annotated[
        str,
        typer.Argument(help="A TOML file, a name from `corral list-experiments`, or the folder of an interrupted run."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the curves of every replicate; a run in it is resumed.")
    ] = None,
    replicates: Annotated[
        int | None, typer.Option(help="Number of replicates of each curve (default: the experiment's).")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(help="Number of plays of each replicate (default: the experiment's).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all randomness (default: the experiment's).")] = None,
    engine: Annotated[
        str, typer.Option(help="Where chunks run: serial, processes, or an engine from a plugin.")
    ] = "processes",
    workers: Annotated[int | None, typer.Option(help="Number of worker processes (default: one per core).")] = None,
    stall: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Kill a worker that makes no progress for so long; its chunk is retried once.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="CURVE:CHUNK",
            help="Play only this chunk, in this process, and keep nothing; in a sweep CURVE:POINT.CHUNK.",
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("--pdb", help="With --only, open the debugger where a plugin fails.")] = False,
    mixed_versions: Annotated[
        bool, typer.Option("--mixed-versions", help="Resume a run even if versions have changed since it began.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not show progress.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Play an experiment and show its results.

    If a plugin fails, the other curves are still played. The exit code is then 1, or 2 if the plugin refused something.
    """
    from corral_core.terminal import reserved_output

    how = {"engine": engine, "workers": workers, "stall": stall, "mixed_versions": mixed_versions}
    changed = {"replicates": replicates, "horizon": horizon, "seed": seed}
    _check(engine, workers)
    if only is not None:
        check_only(out, engine, stall)
    if debug and (only is None or as_json):
        raise CorralError("--pdb needs --only CURVE:CHUNK, and cannot be used with --json")
    with reserved_output(as_json):
        with _workers_ahead(engine, workers, only):
            loaded, out = _experiment(experiment, out, **changed)
            _check_stall(engine, stall)
            again = replay_command(experiment, out, changed)
            if only is not None:
                _announce_compiling(quiet or as_json)
                out, failed, results = None, *play_only(loaded, only, debug)
            else:
                if not as_json:
                    _announce(loaded)
                failed, results = _played(loaded, out, quiet, as_json, how)
        if as_json:
            _print_json(loaded, results, failed, again)
        else:
            _print_tables(loaded.points, results)
    if failed is not None:
        show_failed(loaded, failed, None if only else again)
        if out is not None:
            print(_how_to_resume(out), file=sys.stderr)
        raise typer.Exit(failed.exit_code)
    if out is not None and not as_json:
        from corral_core.runs.run import Run

        print(f"\nThe curves of every replicate are in {out}, checksum {(Run.open(out).checksum or '')[:12]}")


def _check(engine: str, workers: int | None) -> None:
    from corral_core.kernels import twins
    from corral_core.registry.names import get_registry

    if workers is not None and workers < 1:
        raise CorralError(f"--workers must be at least 1, not {workers}")
    get_registry().get("engine", engine)
    if twins.wish() == "numba":  # refused before anything is shown
        twins.bind()


def _check_stall(engine: str, stall: float | None) -> None:
    """Refuse what the engine cannot do before anything is shown. It imports numpy, so workers are started first."""
    if stall is not None:
        from corral_core.runs.runner import engine_of

        engine_of(engine, 1, stall)


def _workers_ahead(engine: str, workers: int | None, only: str | None) -> AbstractContextManager[None]:
    """Start workers, if there will be any, so that they import while this process does."""
    from corral_core.engines.machine import cores
    from corral_core.engines.workers import started_ahead

    team = workers or cores()
    return started_ahead(min(team, AHEAD) if engine == "processes" and team > 1 and only is None else 0)


def _experiment(name: str, out: Path | None, **changed: Any) -> tuple[Experiment, Path | None]:
    """What is played and where it is kept: an experiment, or the folder of an interrupted run."""
    from corral_core.experiments.experiment import Experiment, load_experiment
    from corral_core.experiments.point import parse_point
    from corral_core.experiments.source import is_registered

    if is_registered(name) or not os.path.isfile(os.path.join(name, "experiment.json")):
        if os.path.isdir(name) and not (is_registered(name) or name.endswith(".toml")):
            raise CorralError(f"the folder {name} contains no run, and no experiment has that name")
        return load_experiment(name, **changed), out
    from corral_core.runs.run import Run

    if out is not None or any(value is not None for value in changed.values()):
        raise CorralError(
            f"{name} is a run and is resumed with its own settings; leave out --out, --replicates, --horizon and --seed"
        )
    points = tuple(parse_point(point.source) for point in Run.open(Path(name)).points)
    return Experiment(points), Path(name)


def _played(
    experiment: Experiment, out: Path | None, quiet: bool, as_json: bool, how: dict[str, Any]
) -> tuple[RunFailed | None, list[Result]]:
    """What went wrong, if anything, and the results of the complete curves."""
    from corral_core.cli.progress.watcher import watcher
    from corral_core.errors import Interrupted
    from corral_core.runs.failed import RunFailed
    from corral_core.runs.runner import run_experiment

    watch = watcher(experiment, quiet=quiet, as_json=as_json)
    try:
        return None, run_experiment(experiment, out=out, watch=watch, **how)
    except RunFailed as failed:
        return failed, failed.results
    except KeyboardInterrupt:
        raise Interrupted(_how_to_resume(out)) from None


def _announce_compiling(silent: bool) -> None:
    from corral_core.cli.progress.watcher import announce_compiling

    announce_compiling(shown=not silent)


def _how_to_resume(out: Path | None) -> str:
    from corral_core.runs.run import Run

    if out is None:
        return "Nothing was kept; with --out FOLDER you can resume a run later."
    if not (out / "experiment.json").exists():
        return "The run had not started."
    run = Run.open(out)
    return f"{len(run.finished())} of {len(run.tasks)} chunks are kept. Resume with: {run.command}"


def _announce(experiment: Experiment) -> None:
    from corral_core.terminal import counted, plays, say

    points, first = experiment.points, experiment.points[0]
    if first.question:
        say(first.question)
    over = f" at {len(points)} points" if len(points) > 1 else ""
    longest = max(point.horizon for point in points)
    upto = "" if all(point.horizon == longest for point in points) else "up to "
    replicates, curves = counted(first.replicates, "replicate"), counted(len(first.curves), "curve")
    say(f"{first.name}: {upto}{plays(longest)}, {replicates}, {curves}{over}, seed {first.seed}")
    for point in points:
        for curve in point.curves:
            for sentence in point.choices(curve):
                say(f"{curve.name}{', ' + point.at if point.at else ''}: {sentence}", "  ", "    ")
    print()


def _print_json(experiment: Experiment, results: list[Result], failed: RunFailed | None, again: Sequence[str]) -> None:
    from corral_core.terminal import show_json

    summary = {
        "name": experiment.name,
        "seed": experiment.seed,
        "curves": [result.summary() for result in results],
    }
    show_json(summary if failed is None else {**summary, "failed": failed_rows(experiment, failed, again)})


def _print_tables(points: Sequence[Point], results: list[Result]) -> None:
    points = [point for point in points if any(result.point.at == point.at for result in results)]
    for index, point in enumerate(points):
        if index:
            print()
        if point.at:
            print(point.at)
        mine = [result for result in results if result.point.at == point.at]
        _print_regret(mine)
        _print_plays(mine)
    if len(points) > 1:
        print()
        _print_all_points(points, results)


def _print_regret(results: list[Result]) -> None:
    from corral_core.terminal import show_table

    rows = [[result.curve.name, *_mean_and_error(result), f"{result.seconds:.1f} s"] for result in results]
    show_table(["curve", f"mean {_measured(results)}", "std. error", "time"], rows, numbers=True)


def _print_all_points(points: Sequence[Point], results: list[Result]) -> None:
    """Every curve at every point of a sweep, in one table."""
    from corral_core.terminal import show_table

    cells = {
        (result.curve.name, result.point.at): " ± ".join(filter(None, _mean_and_error(result))) for result in results
    }
    names = dict.fromkeys(name for name, _ in cells)
    header = ["curve", *(point.at.partition(" = ")[2] for point in points)]
    print(f"mean {_measured(results)} ± std. error, by {points[0].at.partition(' = ')[0]}")
    show_table(header, [[name, *(cells.get((name, point.at), "") for point in points)] for name in names], numbers=True)


def _measured(results: list[Result]) -> str:
    return "reward" if any(result.regret is None for result in results) else "regret"


def _mean_and_error(result: Result) -> tuple[str, str]:
    """The mean and its standard error, which is empty if there is only one replicate."""
    from corral_core.terminal import number

    measured = result.measured
    return number(measured.mean[-1]), number(measured.error[-1]) if result.replicates > 1 else ""


def _print_plays(results: list[Result]) -> None:
    """How often each meta played each base."""
    from corral_core.terminal import number, show_table

    chosen = [result for result in results if result.curve.meta is not None and len(result.curve.bases) > 1]
    if not chosen:
        return
    header = ["plays of", *(result.curve.name for result in chosen)]
    rows = []
    for index, label in enumerate(chosen[0].curve.bases):
        cells = []
        for result in chosen:
            share = result.plays_of[-1, index]
            dropped = result.dropped[-1, index]
            cells.append(number(share) + (f" (dropped in {dropped:.0%})" if dropped else ""))
        rows.append([label, *cells])
    print()
    show_table(header, rows, numbers=True)
