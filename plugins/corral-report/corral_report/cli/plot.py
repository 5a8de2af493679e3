"""`corral plot`: pictures of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corral_report.sizes import BROAD, LEAST, MOST


def register(app: typer.Typer) -> None:
    app.command("plot")(plot)


def plot(
    run: Annotated[Path, typer.Argument(help="A folder that `corral run --out` wrote.")],
    kind: Annotated[
        list[str] | None,
        typer.Option(help="regret, probabilities, plays or rates (repeatable; default: all that apply)."),
    ] = None,
    what: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A quantity that meta-algorithms recorded (repeatable; default: all)."),
    ] = None,
    curve: Annotated[list[str] | None, typer.Option(help="Only this curve (repeatable).")] = None,
    band: Annotated[
        str, typer.Option(help="What to shade around the means: deviation, error, quantiles or none.")
    ] = "deviation",
    scale: Annotated[float, typer.Option(help="Factor for the width of the band (deviation or error).")] = 1.0,
    out: Annotated[Path | None, typer.Option(help="Folder for the pictures (default: RUN/plots).")] = None,
    format_: Annotated[
        list[str] | None, typer.Option("--format", help="png, svg or pdf (repeatable; default: png).")
    ] = None,
    width: Annotated[float, typer.Option(help="Width in inches.")] = BROAD[0],
    height: Annotated[
        float, typer.Option(help="Height in inches; pictures grow if headings, names or rows need more.")
    ] = BROAD[1],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Draw pictures of a run.

    Its regret, what its meta-algorithms did with their bases, and what they recorded.
    """
    import json

    from corral_core import CorralError, Run
    from corral_core.parsing import shown
    from corral_core.suggestions import suggestion
    from corral_core.terminal import say, show_table
    from corral_report.figures import FORMATS, album, save
    from corral_report.progress import incomplete

    formats = list(dict.fromkeys(format_ or ["png"]))
    for each in formats:
        if each not in FORMATS:
            raise CorralError(f"there is no format {shown(each)}{suggestion(each, FORMATS)}")
    if not (LEAST[0] <= width <= MOST and LEAST[1] <= height <= MOST):
        raise CorralError(
            f"--width must be {LEAST[0]:g} to {MOST:g} inches and --height {LEAST[1]:g} to {MOST:g}, "
            f"not {width:g} and {height:g}"
        )
    found = Run.open(run)
    kinds = list(dict.fromkeys(kind or ()))
    quantities = list(dict.fromkeys(what or ()))
    size = (width, height)
    drawn = album(found, kinds=kinds, quantities=quantities, curves=curve or (), band=band, scale=scale, size=size)
    folder = run / "plots" if out is None else out
    _prepare(folder)
    pictures = []
    for picture in drawn:
        for each in formats:
            path = folder / f"{picture.name}.{each}"
            save(picture.figure, path)
            pictures.append({"kind": picture.kind, "at": picture.at, "curve": picture.curve, "file": str(path)})
    if as_json:
        counts = {"chunks": len(found.finished()), "chunks_of_all": len(found.tasks)}
        print(json.dumps({"pictures": pictures, **counts}, indent=2))
        return
    if missing := incomplete(found):
        say(missing)
    show_table(("picture", "file"), [(picture["kind"], picture["file"]) for picture in pictures])


def _prepare(folder: Path) -> None:
    """Create the folder or refuse it, before any work is done."""
    import os

    from corral_core import CorralError
    from corral_core.runs.files import usable

    with usable(folder):
        if folder.exists() and not folder.is_dir():
            raise CorralError(f"{folder} is a file; --out takes a folder")
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise CorralError(f"{folder} is not writable; choose another --out")
