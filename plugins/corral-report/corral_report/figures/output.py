"""Figures as files and as text; the same figure gives the same bytes."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from corral_core import CorralError
from corral_core.parsing import shown
from corral_core.runs import files
from corral_core.suggestions import suggestion
from corral_report.figures.style import INK, fixed_style

# Files contain nothing that changes from day to day or from version to version.
METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMATS = tuple(METADATA)


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the extension sets the format: .png, .svg or .pdf."""
    kind = path.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise CorralError(f"{path} cannot be drawn: there is no format {shown(kind)}{suggestion(kind, FORMATS)}")
    written = _bytes(figure, kind)
    with files.usable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, written)


def svg(figure: Figure) -> str:
    """The picture as SVG for `Page.figure`: transparent, with the page's `currentColor` for text and axes."""
    text = _bytes(figure, "svg", facecolor="none").decode()
    return re.sub(r"<[^>]*>", lambda tag: tag[0].replace(INK, "currentColor"), text)


def _bytes(figure: Figure, kind: str, **options: Any) -> bytes:
    written = io.BytesIO()
    with fixed_style():
        figure.savefig(written, format=kind, metadata=METADATA[kind], **options)
    return written.getvalue()
