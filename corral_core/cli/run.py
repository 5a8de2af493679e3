"""`corral run`: play an experiment and say what came of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from corral_core.experiments.experiment import Experiment
    from corral_core.runs.results import Result

AHEAD = 4  # workers that start at once; more start when the experiment is known


def register(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    experiment: Annotated[
        str, typer.Argument(help="A TOML file, a name from `corral list-experiments`, or the folder of a run to go on.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Keep every replicate's curves in this folder, or go on with what is there.")
    ] = None,
    replicates: Annotated[int | None, typer.Option(help="Replicates of every curve.")] = None,
    horizon: Annotated[int | None, typer.Option(help="Plays of every replicate.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all randomness.")] = None,
    engine: Annotated[str, typer.Option(help="Where chunks run: serial, processes, or a plugin's.")] = "processes",
    workers: Annotated[int | None, typer.Option(help="Worker processes; as many as cores unless said.")] = None,
    mixed_versions: Annotated[
        bool, typer.Option("--mixed-versions", help="Go on with a run that other versions began.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Play an experiment and show what it cost."""
    from corral_core.engines.workers import cores, started_ahead
    from corral_core.errors import CorralError
    from corral_core.registry.names import get_registry

    if workers is not None and workers < 1:
        raise CorralError(f"--workers must be at least 1, not {workers}")
    get_registry().get("engine", engine)
    team = workers or cores()
    with started_ahead(min(team, AHEAD) if engine == "processes" and team > 1 else 0):
        points, out = _points(experiment, out, replicates=replicates, horizon=horizon, seed=seed)
        if not as_json:
            _announce(points)
        results = _played(points, out, engine, workers, quiet, as_json, mixed_versions)
    if as_json:
        _print_json(points, results)
    else:
        _print_tables(points, results)
        if out is not None:
            from corral_core.runs.folder import Run

            print(f"\nThe curves of every replicate are in {out}, checksum {(Run.open(out).checksum or '')[:12]}")


def _points(experiment: str, out: Path | None, **changed: int | None) -> tuple[list[Experiment], Path | None]:
    """What is to be played, and where it is kept: an experiment, or the folder of one that was begun."""
    from corral_core.errors import CorralError
    from corral_core.experiments.experiment import load, parse
    from corral_core.experiments.source import is_registered

    if is_registered(experiment) or not os.path.isfile(os.path.join(experiment, "experiment.json")):
        return load(experiment, **changed), out
    from corral_core.runs.folder import Run

    if out is not None or any(value is not None for value in changed.values()):
        raise CorralError(f"{experiment} is a run that was begun: it goes on as it is, without --out or other settings")
    return [parse(setting.source) for setting in Run.open(Path(experiment)).settings], Path(experiment)


def _played(
    points: list[Experiment],
    out: Path | None,
    engine: str,
    workers: int | None,
    quiet: bool,
    as_json: bool,
    mixed_versions: bool,
) -> list[Result]:
    from corral_core.cli.progress.watching import watcher
    from corral_core.errors import Interrupted
    from corral_core.runs.runner import play

    watch = watcher(points, quiet=quiet, as_json=as_json)
    try:
        return play(points, engine=engine, workers=workers, out=out, watch=watch, mixed_versions=mixed_versions)
    except KeyboardInterrupt:
        raise Interrupted(_how_to_go_on(out)) from None


def _how_to_go_on(out: Path | None) -> str:
    from corral_core.runs.folder import Run

    if out is None:
        return "Nothing was kept; with --out FOLDER a run can go on later."
    if not (out / "experiment.json").exists():
        return "Nothing had begun."
    run = Run.open(out)
    return f"{len(run.finished())} of {len(run.tasks)} chunks are kept. Go on with: {run.command}"


def _announce(points: list[Experiment]) -> None:
    from corral_core.terminal import counted, plays, say

    first = points[0]
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


def _print_json(points: list[Experiment], results: list[Result]) -> None:
    import json

    summary = {
        "name": points[0].name,
        "seed": points[0].seed,
        "curves": [result.summary() for result in results],
    }
    print(json.dumps(summary, indent=2, allow_nan=False))


def _print_tables(points: list[Experiment], results: list[Result]) -> None:
    for index, point in enumerate(points):
        if index:
            print()
        if point.at:
            print(point.at)
        mine = [result for result in results if result.setting.at == point.at]
        _print_regret(mine)
        _print_plays(mine)
    if len(points) > 1:
        print()
        _print_all_points(points, results)


def _print_regret(results: list[Result]) -> None:
    from corral_core.cli.listing import show_table

    rows = [[result.line.name, *_mean_and_error(result), f"{result.seconds:.1f} s"] for result in results]
    show_table(["curve", f"mean {_measured(results)}", "std. error", "time"], rows, numbers=True)


def _print_all_points(points: list[Experiment], results: list[Result]) -> None:
    """Every curve at every point of a sweep, in one table."""
    from corral_core.cli.listing import show_table

    cells = {
        (result.line.name, result.setting.at): " ± ".join(filter(None, _mean_and_error(result))) for result in results
    }
    names = dict.fromkeys(name for name, _ in cells)
    header = ["curve", *(point.at.partition(" = ")[2] for point in points)]
    print(f"mean {_measured(results)} ± std. error, by {points[0].at.partition(' = ')[0]}")
    show_table(header, [[name, *(cells.get((name, point.at), "") for point in points)] for name in names], numbers=True)


def _measured(results: list[Result]) -> str:
    return "reward" if any(result.regret is None for result in results) else "regret"


def _mean_and_error(result: Result) -> tuple[str, str]:
    """The standard error is empty where there is only one replicate."""
    from corral_core.terminal import number

    measured = result.measured
    return number(measured.mean[-1]), number(measured.error[-1]) if result.replicates > 1 else ""


def _print_plays(results: list[Result]) -> None:
    """How often each meta played each base."""
    from corral_core.cli.listing import show_table
    from corral_core.terminal import number

    chosen = [result for result in results if result.line.meta is not None and len(result.line.bases) > 1]
    if not chosen:
        return
    header = ["plays of", *(result.line.name for result in chosen)]
    rows = []
    for index, label in enumerate(chosen[0].line.bases):
        cells = []
        for result in chosen:
            share = result.plays_of[-1, index]
            dropped = result.dropped[-1, index]
            cells.append(number(share) + (f" (dropped in {dropped:.0%})" if dropped else ""))
        rows.append([label, *cells])
    print()
    show_table(header, rows, numbers=True)
