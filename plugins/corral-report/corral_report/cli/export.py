"""`corral export`: a run as tables that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    run: Annotated[Path, typer.Argument(help="A folder that `corral run --out` wrote.")],
    out: Annotated[Path | None, typer.Option(help="Write here; into the folder tables of the run unless said.")] = None,
    form: Annotated[
        list[str] | None,
        typer.Option("--format", help="csv or parquet; may be given twice. All that can be written unless said."),
    ] = None,
    points: Annotated[int | None, typer.Option(help="Points of each curve; 1 keeps the last. All unless said.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object.")] = False,
) -> None:
    """Write every replicate's curves as CSV and Parquet tables."""
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
        say("There is no Parquet: pyarrow is not installed (pip install pyarrow).")
    for file in written:
        say(f"{file.path}: {file.rows:,} row{'s' * (file.rows != 1)}")
