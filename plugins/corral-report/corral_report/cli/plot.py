"""`corral plot`: pictures of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("plot")(plot)


def plot(
    run: Annotated[Path, typer.Argument(help="The folder of a run.")],
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="regret, probabilities, plays or rates; several may be given. All that make sense unless said."
        ),
    ] = None,
    curve: Annotated[list[str] | None, typer.Option(help="Only this curve; several may be given.")] = None,
    band: Annotated[
        str, typer.Option(help="Shade deviation, error, quantiles or none around the means.")
    ] = "deviation",
    scale: Annotated[float, typer.Option(help="Factor on the band of deviation or error.")] = 1.0,
    out: Annotated[Path | None, typer.Option(help="Folder for the pictures; RUN/plots unless said.")] = None,
    format_: Annotated[
        list[str] | None, typer.Option("--format", help="png, svg or pdf; several may be given.")
    ] = None,
    width: Annotated[float, typer.Option(help="Width in inches.")] = 7.5,
    height: Annotated[float, typer.Option(help="Height in inches; names and rows that need more get it.")] = 4.2,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of the pictures.")] = False,
) -> None:
    """Draw the regret of a run, and what its meta-algorithms did with their bases."""
    from corral_core.cli.listing import show_json, show_table
    from corral_core.cli.text import say
    from corral_core.errors import CorralError
    from corral_core.parsing import suggestion
    from corral_core.store import Run
    from corral_report.figures import FORMATS, album, save

    formats = list(dict.fromkeys(format_ or ["png"]))
    for each in formats:
        if each not in FORMATS:
            raise CorralError(f"there is no format {each!r}{suggestion(each, FORMATS)}")
    if not (3 <= width <= 40 and 2.5 <= height <= 40):
        raise CorralError(f"--width must be 3 to 40 inches and --height 2.5 to 40, not {width:g} and {height:g}")
    found = Run.open(run)
    there, wanted = len(found.finished()), len(found.tasks)
    folder = run / "plots" if out is None else out
    pictures = []
    kinds = list(dict.fromkeys(kind or ()))
    for picture in album(found, kinds=kinds, curves=curve or (), band=band, scale=scale, size=(width, height)):
        for each in formats:
            path = folder / f"{picture.name}.{each}"
            save(picture.figure, path)
            pictures.append({"kind": picture.kind, "at": picture.at, "curve": picture.curve, "file": str(path)})
    if as_json:
        show_json(pictures)
        return
    if there < wanted:
        say(f"{run} is not complete: {there} of {wanted} chunks are there, and only those are drawn.")
    show_table(("picture", "file"), [(picture["kind"], picture["file"]) for picture in pictures])
