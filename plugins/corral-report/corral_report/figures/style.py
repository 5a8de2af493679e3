"""The look of every picture: one fixed style, independent of the user's matplotlibrc.

Colours are those of Okabe and Ito, "Color Universal Design", 2008, without yellow and black. Curves also differ in
their dashes and markers, with cycles of 6, 5 and 11, so that the first 330 curves of a picture all look different.
"""

from __future__ import annotations

import functools
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from corral_core import Array, Result
from corral_report.sizes import Size

P = ParamSpec("P")

ROOM = 3.2  # minimum width in inches that a legend leaves for the axes and their labels
LOW = 3.8  # inches; a lower figure has no room for a long label on one line
LINE = 0.16  # height of a line of a heading in inches
USUAL = 2  # lines of a heading that fit without enlarging the figure
INK = "#1b1b1d"  # not quite black, so that it differs from other colours in an SVG
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# No dotted lines: those are for theory.
DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (3, 1.5)), (0, (6, 2, 1, 2)), (0, (9, 2, 1, 2, 1, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo")
WIDE, LONGEST = 34, 102  # maximum characters of one line of a name, and of a whole name
STYLE: dict[str, Any] = {
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": False,
    "grid.color": INK,
    "grid.alpha": 0.12,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 3.6,
    "legend.labelspacing": 0.35,
    "hatch.linewidth": 0.7,
    "lines.dash_capstyle": "butt",
    "svg.fonttype": "none",
    "svg.hashsalt": "corral",
    "pdf.fonttype": 42,
    "savefig.dpi": 150,
}


@contextmanager
def fixed_style() -> Iterator[None]:
    """Use matplotlib's defaults and ours, and restore the previous settings afterwards."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        # A character that the font lacks shows as a box; in an SVG the reader's own fonts may have it.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        matplotlib.rcdefaults()
        parameters: Any = matplotlib.rcParams
        parameters.update(STYLE)
        yield


def drawing(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorator of functions that draw. The layout is solved once, because solving it again moves the last bits."""

    @functools.wraps(draw)
    def drawn(*arguments: P.args, **options: P.kwargs) -> Figure:
        with fixed_style():
            figure = draw(*arguments, **options)
            figure.draw_without_rendering()
            figure.set_layout_engine(None)
            return figure

    return drawn


def canvas(size: Size) -> tuple[Figure, Axes]:
    """A figure with one axes."""
    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def clean(text: str) -> str:
    """Text without line breaks and unprintable characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split()) or "(no name)"


def wrapped_name(name: str, wide: int = WIDE) -> str:
    """A name on a few lines, broken after spaces, commas, hyphens and so on; the middle of a long one is cut out."""
    name = clean(name)
    if len(name) > LONGEST:
        half = LONGEST // 2 - 1
        name = f"{name[:half]}…{name[-half:]}"
    lines = [""]
    for part in _parts(name, wide):
        if lines[-1] and len(lines[-1] + part.rstrip()) > wide:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def _parts(name: str, wide: int) -> Iterator[str]:
    """The parts that may start a new line; a part that is too long is broken after =, or anywhere."""
    for part in re.findall(rf"[^ ,(/_-]+[ ,(/_-]{{0,2}}|[ ,(/_-]{{1,{wide}}}", name):
        yield from [part] if len(part.rstrip()) <= wide else re.findall(rf"[^=]{{1,{wide - 1}}}=?|=", part)


def with_number(name: str, value: str) -> str:
    """A name on a few lines and its number, which is never broken."""
    found = wrapped_name(name)
    fits = len(found.rpartition("\n")[2]) + len(value) + 2 <= WIDE
    return f"{found}:{' ' if fits else chr(10)}{value}"


def look(result: Result, points: int) -> dict[str, Any]:
    """Line and marker of a curve: the same in all pictures of a run. Metas are thicker than bases alone."""
    place = [curve.name for curve in result.point.curves].index(result.curve.name)
    meta = result.curve.meta is not None
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": DASHES[place % len(DASHES)],
        "marker": MARKERS[place % len(MARKERS)],
        "linewidth": 2.6 if meta else 1.3,
        "markersize": 6 if meta else 4.5,
        "markevery": 1 if points <= 8 else (0.025 * (place % 5), 0.125),  # as fractions of the diagonal of the axes
        "zorder": 4 if meta else 3,
    }


def thousands(value: float, _: object = None) -> str:
    """A number on an axis, with separators between thousands; in millions from ten million on."""
    if abs(value) >= 1e7:
        return f"{value / 1e6:,.6g}M"
    return f"{0.0 if abs(value) < 1e-12 else value:,.7g}"


def linear_axis(axis: Any, length: float, apart: float = 0.75, whole: bool = True) -> None:
    """Ticks at round numbers, at least `apart` inches from each other; whole numbers for plays."""
    axis.set_major_locator(
        MaxNLocator(nbins=int(np.clip(length / apart, 1, 7)), steps=[1, 2, 2.5, 5, 10], integer=whole)
    )
    axis.set_major_formatter(FuncFormatter(thousands))


def logarithmic_axis(axis: Any, low: float, high: float) -> None:
    """Ticks at powers of ten, at 1, 3 or 1, 2, 5 times them, or at round numbers: the first with three ticks."""
    if low == high:
        low, high = low / 2, high * 2
    exponents = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5)):
        ticks = [step * 10.0**exponent for exponent in exponents for step in steps]
        ticks = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
        if len(ticks) >= 3:
            break
    else:
        ticks = [float(tick) for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high]
    while len(ticks) > 8:
        ticks = ticks[::2]
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(thousands))


def heading(figure: Figure, of: Sequence[str], caption: str, room: float) -> None:
    """Write the experiment, its curve or swept point, and the caption, on lines that fit `room` inches.

    The figure grows if there are more lines than usual.
    """
    wide = max(int((room - 0.2) * 13), 20)
    lines = textwrap.wrap(clean(", ".join(filter(None, of))), wide) + textwrap.wrap(
        caption, wide, break_on_hyphens=False
    )
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + LINE * max(len(lines) - USUAL, 0))
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=9)


def legend(figure: Figure, handles: Sequence[Any], names: Sequence[str]) -> float:
    """Write names next to the axes, or below them if there is too little room; the figure grows until they fit.

    Returns the width in inches that remains for the axes and their labels.
    """
    width, height = figure.get_size_inches()
    # Matplotlib would leave out a name that begins with an underscore, so names are set afterwards.
    beside = figure.legend(handles, ["-"] * len(handles), loc="outside right upper")
    _write(beside, names)
    needs = _inches(figure, beside)
    if width - needs[0] >= max(0.55 * width, ROOM):
        figure.set_size_inches(width, max(height, needs[1] + 0.3))
        return float(width - needs[0])
    beside.remove()
    columns = max(1, min(int((width - 0.2) / (needs[0] + 0.15)), len(handles)))
    below = figure.legend(handles, ["-"] * len(handles), loc="outside lower left", ncols=columns)
    _write(below, names)
    figure.set_size_inches(width, height + _inches(figure, below)[1])
    return float(width)


def _write(found: Any, names: Sequence[str]) -> None:
    for text, name in zip(found.get_texts(), names, strict=True):
        text.set_text(name)


def _inches(figure: Figure, artist: Artist) -> Array:
    canvas: Any = figure.canvas
    extent = artist.get_window_extent(canvas.get_renderer())
    return np.asarray([extent.width, extent.height]) / figure.dpi
