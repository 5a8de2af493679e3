"""What a meta-algorithm did with its bases: their probabilities and what it records over time, and their plays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from corral_core import Array, CorralError, Result
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
LEAST = 20  # plays per base over which a share is taken: shares of very few plays jump up and down
GAP = 0.15  # between rows, as a fraction of a row


@drawing
def probabilities_figure(result: Result, *, size: Size = BROAD) -> Figure:
    """The mean probability of each base over time; for a meta that does not draw, its share of plays."""
    if result.curve.meta is None:
        raise CorralError(f"{result.curve.name} is a base alone, so there are no probabilities to draw")
    draws, count = result.probabilities is not None, len(result.curve.bases)
    values = mean_choices(result)
    top = max(float(values.max()), 1e-9)
    said = "numbers: final probability" if draws else "numbers: the last interval"
    about = f"every row goes from 0 to {top:.3g}, dotted: 1/{count}; {said}"
    ends = [f"{value:.3f}" for value in values[-1]]
    figure, axes = _rows(
        result, values, (0.0, top), ends, size, about if draws else f"no probabilities: shares of plays; {about}"
    )
    for foot in range(count):
        axes.axhline(foot + (1 - GAP) / count / top, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_ylabel("probability of each base" if draws else "share of plays of each base")
    return figure


def mean_choices(result: Result) -> Array:
    """The mean probabilities of the bases at every checkpoint, or their shares of at least 20 plays per base."""
    values = result.chosen.mean
    return values if result.probabilities is not None else pooled(values, result.plays, LEAST * values.shape[1])


def pooled(shares: Array, plays: Array, least: int) -> Array:
    """Shares of the plays since the previous checkpoint, (checkpoints, bases), as shares of at least so many plays."""
    each = np.diff(plays, prepend=0)
    width = max(least, int(each.max()))
    group = np.minimum((plays - 1) // width, max(int(plays[-1]) // width, 1) - 1)
    total = np.zeros((int(group[-1]) + 1, shares.shape[1]))
    np.add.at(total, group, shares * each[:, None])
    found: Array = (total / np.bincount(group, weights=each)[:, None])[group]
    return found


@drawing
def recorded_figure(result: Result, name: str, *, size: Size = BROAD) -> Figure:
    """The mean over replicates of a quantity that the meta records, over time."""
    if name not in result.recorded:
        raise CorralError(f"{result.curve.name} did not record {name}")
    values = result.recorded[name].mean
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    about = f"every row goes from {number(low)} to {number(high)}; numbers: final mean"
    figure, axes = _rows(result, values, (low, high), [number(float(value)) for value in values[-1]], size, about)
    axes.set_ylabel(f"{name.replace('-', ' ')} of each base")
    return figure


def _rows(
    result: Result, values: Array, ends: tuple[float, float], finals: Sequence[str], size: Size, about: str
) -> tuple[Figure, Axes]:
    """One row per base, all on one scale between these ends, so no colour is needed; final values on the right."""
    count, (low, high) = len(result.curve.bases), ends
    labels = [wrapped_name(name, _wide(size)) for name in result.curve.bases]
    shares = _with_drops(result, finals, size)
    figure, axes = canvas((size[0], _height(size, [*labels, *shares], count, 1)))
    colour = look(result, 1)["color"]
    unit = (1 - GAP) / ((high - low) or 1.0)
    for place in range(count):
        foot = count - 1 - place
        rise = foot + (values[:, place] - low) * unit
        axes.fill_between(result.plays, foot - low * unit, rise, color=colour, alpha=0.45, lw=0)
        marker = "o" if len(result.plays) == 1 else None
        axes.plot(result.plays, rise, color=colour, linewidth=1.2, marker=marker)
        axes.axhline(foot - low * unit, color=INK, linewidth=0.6)
    axes.set_xlim(0, float(result.plays[-1]) * 1.02)
    axes.set_ylim(-0.03, count)
    axes.grid(visible=False, axis="y")
    axes.set_yticks([count - 1 - place + (1 - GAP) / 2 for place in range(count)], labels)
    axes.tick_params(axis="y", length=0)
    right = axes.secondary_yaxis("right")
    right.set_yticks([count - 1 - place + (1 - GAP) / 2 for place in range(count)], shares)
    right.tick_params(axis="y", length=0)
    right.spines["right"].set_visible(False)
    titles = [result.point.name, result.curve.name, result.point.at]
    heading(figure, titles, f"{replicates_of([result])}; {about}", size[0])
    axes.set_xlabel("plays")
    linear_axis(axes.xaxis, size[0] - _width(labels) - 1.2)
    return figure, axes


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
    chosen = result.chosen
    return bool(np.ptp(chosen.mean) < ROUNDING and not (chosen.deviation > ROUNDING).any())


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


def _with_drops(result: Result, finals: Sequence[str], size: Size) -> list[str]:
    """The final values, and below them in how many replicates the base is dropped."""
    words, space = [], " " if size[0] > BROAD[0] / 2 else "\n"
    for final, dropped in zip(finals, result.dropped[-1], strict=True):
        words.append(final + (f"\ndropped{space}in {dropped:.0%}" if dropped else ""))
    return words
