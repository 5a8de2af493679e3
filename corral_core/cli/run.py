"""`corral run`: play an experiment and say what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from corral_core.experiment import Experiment
    from corral_core.results import Result


def register(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    experiment: Annotated[str, typer.Argument(help="A TOML file, or a name from `corral list-experiments`.")],
    out: Annotated[Path | None, typer.Option(help="Keep every replicate's curves in this folder.")] = None,
    replicates: Annotated[int | None, typer.Option(help="Replicates of every curve.")] = None,
    horizon: Annotated[int | None, typer.Option(help="Plays of every replicate.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all randomness.")] = None,
    engine: Annotated[str, typer.Option(help="Where chunks run: serial, processes, or a plugin's.")] = "processes",
    workers: Annotated[int | None, typer.Option(help="Worker processes; as many as cores unless said.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Play an experiment: progress while it runs, a table of regret at the end."""
    from corral_core.errors import CorralError
    from corral_core.experiment import load
    from corral_core.runner import play

    if workers is not None and workers < 1:
        raise CorralError(f"--workers must be at least 1, not {workers}")
    points = load(experiment, replicates=replicates, horizon=horizon, seed=seed)
    if not as_json:
        _announce(points)
    results = play(points, engine=engine, workers=workers, out=out, show=not as_json)
    if as_json:
        _print_json(points, results)
    else:
        _print_tables(points, results)
        if out is not None:
            print(f"The curves of every replicate are in {out}")


def _announce(points: list[Experiment]) -> None:
    from corral_core.cli.text import plays
    from corral_core.experiment import choices

    first = points[0]
    if first.question:
        print(first.question)
    over = f" at {len(points)} points" if len(points) > 1 else ""
    print(
        f"{first.name}: {plays(first.horizon)}, {first.replicates} replicates, {len(first.curves)} curves{over}, "
        f"seed {first.seed}"
    )
    for point in points:
        for curve, chosen in choices(point).items():
            for sentence in chosen:
                print(f"  {curve}{', ' + point.at if point.at else ''}: {sentence}")


def _print_json(points: list[Experiment], results: list[Result]) -> None:
    import json

    summary = {
        "name": points[0].name,
        "seed": points[0].seed,
        "curves": [result.summary() for result in results],
    }
    print(json.dumps(summary, indent=2, allow_nan=False))


def _print_tables(points: list[Experiment], results: list[Result]) -> None:
    from corral_core.cli.text import number

    summaries = [result.summary() for result in results]
    known = all(summary["mean_regret"] is not None for summary in summaries)
    swept = any(summary["at"] for summary in summaries)
    rows = []
    for summary in summaries:
        value = summary["mean_regret"] if known else summary["mean_reward"]
        error = "" if summary["standard_error"] is None else number(summary["standard_error"])
        row = [summary["name"], number(value), error, f"{summary['seconds']:.1f} s"]
        rows.append([summary["at"], *row] if swept else row)
    header = ["curve", "mean regret" if known else "mean reward", "std. error", "time"]
    _table(["at", *header] if swept else header, rows)
    if not swept:
        _print_plays(results)


def _print_plays(results: list[Result]) -> None:
    """How often each meta played each base, and with which probability it ended."""
    from corral_core.cli.text import number

    chosen = [result for result in results if result.curve.meta is not None and len(result.curve.bases) > 1]
    if not chosen:
        return
    header = ["plays of", *(result.curve.name for result in chosen)]
    rows = []
    for index, label in enumerate(chosen[0].curve.labels):
        cells = []
        for result in chosen:
            share = result.record.plays[:, -1, index].mean()
            dropped = result.record.dropped[:, -1, index].mean()
            gone = f", dropped in {dropped:.0%}" if dropped else ""
            cells.append(f"{number(share)} (p={result.record.probabilities[:, -1, index].mean():.2f}{gone})")
        rows.append([label, *cells])
    print()
    _table(header, rows)


def _table(header: list[str], rows: list[list[Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = 10_000
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for number, title in enumerate(header):
        left = number == 0 or title == "curve"
        table.add_column(title, justify="left" if left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)
