"""What a meta-algorithm did with its bases: their probabilities over time, and how often each was played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from corral_core import CorralError, Result
from corral_core.terminal import number
from corral_report.figures.regret import replicates_of
from corral_report.figures.style import (
    HATCHES,
    INK,
    canvas,
    drawing,
    heading,
    legend,
    linear_axis,
    look,
    wrapped_name,
)
from corral_report.sizes import BROAD, Size

ROW = 0.32  # minimum height of a base, in inches
ROUNDING = 1e-6  # error allowed in probabilities
GAP = 0.15  # between rows, as a fraction of a row


@drawing
def probabilities_figure(result: Result, *, size: Size = BROAD) -> Figure:
    """The mean probability of each base over time: one row per base, all on one scale, so no colour is needed."""
    if result.curve.meta is None:
        raise CorralError(f"{result.curve.name} is a base alone, so there are no probabilities to draw")
    probabilities = result.probabilities.mean
    count = len(result.curve.bases)
    top = max(float(probabilities.max()), 1e-9)
    at = result.point.at
    labels = [wrapped_name(name, _wide(size)) for name in result.curve.bases]
    shares = _shares(result, size)
    figure, axes = canvas((size[0], _height(size, [*labels, *shares], count, 1)))
    colour = look(result, 1)["color"]
    for place in range(count):
        foot = count - 1 - place
        rise = probabilities[:, place] / top * (1 - GAP)
        axes.fill_between(result.plays, foot, foot + rise, color=colour, alpha=0.45, lw=0)
        marker = "o" if len(result.plays) == 1 else None
        axes.plot(result.plays, foot + rise, color=colour, linewidth=1.2, marker=marker)
        axes.axhline(foot, color=INK, linewidth=0.6)
        axes.axhline(foot + (1 - GAP) / count / top, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_xlim(0, float(result.plays[-1]) * 1.02)
    axes.set_ylim(-0.03, count)
    axes.grid(visible=False, axis="y")
    axes.set_yticks([count - 1 - place + (1 - GAP) / 2 for place in range(count)], labels)
    axes.tick_params(axis="y", length=0)
    ends = axes.secondary_yaxis("right")
    ends.set_yticks([count - 1 - place + (1 - GAP) / 2 for place in range(count)], shares)
    ends.tick_params(axis="y", length=0)
    ends.spines["right"].set_visible(False)
    heading(
        figure,
        [result.point.name, result.curve.name, at],
        f"{replicates_of([result])}; every row goes from 0 to {top:.3g}, dotted: 1/{count}; numbers: final probability",
        size[0],
    )
    axes.set_xlabel("plays")
    axes.set_ylabel("probability of each base")
    linear_axis(axes.xaxis, size[0] - _width(labels) - 1.2)
    return figure


@drawing
def plays_figure(results: Sequence[Result], *, size: Size = BROAD) -> Figure:
    """Final mean plays of each base, one bar per meta-algorithm of one point."""
    metas = [result for result in results if result.curve.meta is not None]
    if not metas:
        raise CorralError("there is no meta-algorithm among these curves, so there are no plays of bases to draw")
    bases = list(dict.fromkeys(name for result in metas for name in result.curve.bases))
    at = metas[0].point.at
    labels = [wrapped_name(name, _wide(size)) for name in bases]
    figure, axes = canvas((size[0], _height(size, labels, len(bases), len(metas))))
    thick, handles = 0.84 / len(metas), []
    most = max(float(result.plays_of[-1].max()) for result in metas)
    for place, result in enumerate(metas):
        # An SVG gives hatches the opacity of what they are drawn on, so they are drawn separately.
        colour = look(result, 1)["color"]
        fill: dict[str, Any] = {"facecolor": colour, "alpha": 0.35}
        hatch: dict[str, Any] = {"facecolor": "none", "edgecolor": colour, "hatch": HATCHES[place % len(HATCHES)]}
        plays = result.plays_of[-1]
        levels = np.array([bases.index(name) for name in result.curve.bases]) + (place + 0.5) * thick - 0.42
        for style in (fill, hatch):
            axes.barh(levels, plays, height=thick * 0.92, zorder=2, **style)
        for level, value, dropped in zip(levels, plays, result.dropped[-1], strict=True):
            words = number(float(value)) + (f", dropped in {dropped:.0%}" if dropped else "")
            axes.annotate(words, (value, level), (3, 0), textcoords="offset points", va="center", fontsize=7.5)
        handles.append((Patch(**fill), Patch(**hatch)))
    axes.set_xlim(0, max(most, 1e-9))
    axes.set_ylim(len(bases) - 0.5, -0.5)
    axes.set_yticks(range(len(bases)), labels)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    alone = metas[0].curve.name if len(metas) == 1 else ""
    axes.set_xlabel("plays of each base, mean")
    names = [wrapped_name(result.curve.name) for result in metas]
    room = legend(figure, handles, names) if len(metas) > 1 else size[0]
    heading(figure, [metas[0].point.name, alone, at], replicates_of(metas), room)
    linear_axis(axes.xaxis, room - _width(labels) - 1.2)
    return figure


def constant(result: Result) -> bool:
    """Whether all bases were equally likely at all times, so that there is nothing to see."""
    probabilities = result.probabilities
    return bool(np.ptp(probabilities.mean) < ROUNDING and not (probabilities.deviation > ROUNDING).any())


def _height(size: Size, labels: Sequence[str], rows: int, bars: int) -> float:
    """The height of the figure: as given, or more if the rows need it."""
    row = max(ROW, 0.16 * bars, 0.15 * max(label.count("\n") + 1 for label in labels) + 0.06)
    return max(size[1], row * rows + 1.3)


def _wide(size: Size) -> int:
    """Maximum number of characters in a line of a row's label."""
    return int(np.clip(4.5 * size[0], 14, 30))


def _width(labels: Sequence[str]) -> float:
    """Approximate width of the labels in inches."""
    return 0.075 * max(len(line) for label in labels for line in label.split("\n"))


def _shares(result: Result, size: Size) -> list[str]:
    words, space = [], " " if size[0] > BROAD[0] / 2 else "\n"
    for share, dropped in zip(result.probabilities.mean[-1], result.dropped[-1], strict=True):
        words.append(f"{share:.3f}" + (f"\ndropped{space}in {dropped:.0%}" if dropped else ""))
    return words
