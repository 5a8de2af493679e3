"""Figures as files and as text; the same figure gives the same bytes."""

from __future__ import annotations

import hashlib
import html
import io
import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from corral_core import files
from corral_core.errors import CorralError
from corral_core.parsing import suggestion
from corral_report.figures.style import INK, fixed_style

# Nothing that changes from day to day or from version to version is written into files.
METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMATS = tuple(METADATA)


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the end of the name says how: .png, .svg or .pdf."""
    kind = path.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise CorralError(f"{path} cannot be drawn: there is no format {kind!r}{suggestion(kind, FORMATS)}")
    written = _bytes(figure, kind)
    with files.usable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path, written)


def svg(figure: Figure) -> str:
    """An `<svg>` element for a page, among others: its ids are its own, its background is that of the page.

    Text and axes have the page's `currentColor`, so that they can be read on light and on dark.
    """
    text = _bytes(figure, "svg", facecolor="none").decode()
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    prefix = "f" + hashlib.sha256(text.encode()).hexdigest()[:10]

    def own(tag: re.Match[str]) -> str:
        found = re.sub(r'\bid="', f'id="{prefix}-', tag[0])
        found = re.sub(r'href="#', f'href="#{prefix}-', found)
        return found.replace("url(#", f"url(#{prefix}-").replace(INK, "currentColor")

    text = re.sub(r"<[^>]*>", own, text)
    told = html.escape(str(figure.get_label()))
    return text.replace("<svg ", f'<svg role="img" aria-label="{told}" ', 1)


def _bytes(figure: Figure, kind: str, **options: Any) -> bytes:
    written = io.BytesIO()
    with fixed_style():
        figure.savefig(written, format=kind, metadata=METADATA[kind], **options)
    return written.getvalue()
