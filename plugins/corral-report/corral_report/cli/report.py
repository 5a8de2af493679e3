"""`corral report`: runs as one HTML page that you can send to anyone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("report")(report)


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders that `corral run --out` wrote.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
) -> None:
    """Write runs as one HTML page.

    Pictures, tables, settings, and how to play them again.
    """
    from corral_core import Run
    from corral_core.terminal import say
    from corral_report.page import check_target
    from corral_report.progress import incomplete
    from corral_report.report import report as made

    check_target(out)
    found = [Run.open(run) for run in runs]
    made(found).write(out)
    for missing in filter(None, map(incomplete, found)):
        say(missing)
    print(f"The report is in {out}")
