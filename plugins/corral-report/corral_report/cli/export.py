"""`corral export`: the curves of a run as tables for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    run: Annotated[Path, typer.Argument(help="A folder that `corral run --out` wrote.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the tables (default: RUN/tables).")] = None,
    form: Annotated[
        list[str] | None,
        typer.Option(
            "--format", help="csv or parquet (repeatable; default: csv, and parquet if pyarrow is installed)."
        ),
    ] = None,
    points: Annotated[
        int | None, typer.Option(help="Checkpoints to keep per curve; 1 keeps the last (default: all).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write the curves of a run as tables.

    One row per replicate and checkpoint, as CSV, and as Parquet if pyarrow is installed.
    """
    import json

    from corral_core import Run
    from corral_core.terminal import say
    from corral_report.export import export as write
    from corral_report.progress import incomplete

    opened = Run.open(run)
    written = write(opened, run / "tables" if out is None else out, formats=form, points=points)
    if as_json:
        files = [{"path": str(file.path), "rows": file.rows} for file in written]
        counts = {"chunks": len(opened.finished()), "chunks_of_all": len(opened.tasks)}
        print(json.dumps({"files": files, **counts}, indent=2))
        return
    if missing := incomplete(opened):
        say(missing)
    if form is None and not any(file.path.suffix == ".parquet" for file in written):
        say("No Parquet files were written: pyarrow is not installed (pip install pyarrow).")
    for file in written:
        say(f"{file.path}: {file.rows:,} row{'s' * (file.rows != 1)}")
