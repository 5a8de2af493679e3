"""`corral reproduce`: play the experiments of a paper and judge its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("reproduce")(reproduce)


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(metavar="EXPERIMENT", help="Names or TOML files of experiments with claims (default: all)."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer replicates and shorter sweeps (the default).")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="The paper's number of replicates if it states one, and longer sweeps.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the runs and the report (default: reproduction-quick or reproduction-full)."),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Number of worker processes (default: one per core).")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not show progress.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Play experiments and judge their claims.

    A claim is what the paper says about the experiment.
    """
    import sys

    from corral_core import CorralError
    from corral_core.cli.progress.watcher import watcher
    from corral_core.errors import Interrupted
    from corral_core.runs.files import usable
    from corral_core.terminal import reserved_output, say, show_json, show_table
    from corral_report.reproduce import plan, untried
    from corral_report.reproduce import reproduce as played
    from corral_report.reproduce_report import check_targets, counted, says, to_json, write

    if quick and full:
        raise CorralError("--quick and --full exclude each other; leave one out")
    if workers is not None and workers < 1:
        raise CorralError(f"--workers must be at least 1, not {workers}")
    quick = not full
    with reserved_output(as_json):
        planned = plan(experiments or [], quick)
    out = out or Path("reproduction-quick" if quick else "reproduction-full")
    with usable(out):
        out.mkdir(parents=True, exist_ok=True)
    check_targets(out)

    def tell(sentence: str) -> None:
        if not quiet:
            print(sentence, file=sys.stderr, flush=True)

    # In a pipe, one line per experiment and claim is enough.
    alone = quiet or not sys.stderr.isatty()
    try:
        with reserved_output(as_json):
            found = played(
                planned,
                out,
                workers=workers,
                tell=tell,
                watching=lambda experiment: watcher(experiment, quiet=alone, as_json=as_json),
            )
    except KeyboardInterrupt:
        raise Interrupted(f"Run the same command again to resume what is in {out}") from None
    left = untried(planned)
    page, markdown = write(found, left, out, quick=quick)
    if as_json:
        show_json(to_json(found, left, quick))
    else:
        rows = [
            (each.claim.of, each.verdict, one.planned.experiment.name, says(each.claim))
            for one in found
            for each in one.judgements
        ]
        show_table(("item", "verdict", "experiment", "summary"), rows)
        say(counted(found))
        say(f"The report is in {page}, and as Markdown in {markdown}")
    failed = [each.failed for each in found if each.failed is not None]
    for each in failed:
        print(f"Failed: {each}", file=sys.stderr)
    if failed:
        raise typer.Exit(min(each.exit_code for each in failed))
