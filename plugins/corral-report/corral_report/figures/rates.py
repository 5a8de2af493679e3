"""How fast regret grows, next to what theory promises: slopes on two logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from corral_core import Array, CorralError, Result
from corral_core.analysis.statistics import slope_weights
from corral_report.figures.regret import by_name, replicates_of
from corral_report.figures.style import (
    INK,
    LOW,
    canvas,
    drawing,
    heading,
    legend,
    logarithmic_axis,
    look,
    wrapped_name,
)
from corral_report.sizes import BROAD, Size

LATER = 0.1  # within one curve, the slope is fitted from this fraction of the horizon on


class Fit(NamedTuple):
    """constant * plays^slope."""

    slope: float
    constant: float


def fit(plays: Array, means: Array) -> Fit | None:
    """Least squares on logarithms: ln(mean) = ln(constant) + slope ln(plays).

    Means that are not positive are left out; None if fewer than two different plays remain.
    """
    plays, means = np.asarray(plays, dtype=np.float64), np.asarray(means, dtype=np.float64)
    usable = (plays > 0) & (means > 0) & np.isfinite(means)
    if len(np.unique(plays[usable])) < 2:
        return None
    x, y = np.log(plays[usable]), np.log(means[usable])
    slope = float(slope_weights(x) @ y)
    return Fit(slope, float(np.exp(y.mean() - slope * x.mean())))


@drawing
def rates_figure(results: Sequence[Result], *, size: Size = BROAD) -> Figure:
    """Regret against plays for the curves of one point, or final regret against horizons, with fitted slopes."""
    if not results:
        raise CorralError("there is no curve to draw")
    if any(result.regret is None for result in results):
        raise CorralError("rates need regret, which this run does not report")
    sweep = len({result.point.horizon for result in results}) > 1
    at = "" if sweep else results[0].point.at
    figure, axes = canvas(size)
    handles, names, ends = [], [], []
    thin = ""
    for name, mine in by_name(results).items():
        plays, means = _curve(mine, sweep)
        later = np.ones(len(plays), dtype=bool) if sweep else plays >= LATER * plays[-1]
        found = fit(plays[later], means[later])
        shown = np.where(means > 0, means, np.nan)
        style = look(mine[0], len(plays))
        [line] = axes.plot(plays, shown, **({**style, "markevery": 1} if sweep else style))
        exponents = mine[-1].curve.exponents
        if found is not None and mine[0].curve.meta is not None:
            span = plays[later][[0, -1]].astype(np.float64)
            middle = np.exp(np.log(span).mean())
            fitted = found.constant * span**found.slope
            axes.plot(span, fitted, color=INK, linewidth=0.9, zorder=5)
            thin = "; thin, for metas: fits; thin dotted: theory's"
            for exponent in dict.fromkeys((*exponents[:1], *exponents[-1:])):
                promised = found.constant * middle**found.slope * (span / middle) ** exponent
                axes.plot(span, promised, color=style["color"], linestyle=":", linewidth=1.1, zorder=2)
        handles.append(line)
        names.append(f"{wrapped_name(name)}:\n{_slopes(found, exponents)}")
        ends.append(float(means[-1]))
    order = np.argsort(-np.array(ends), kind="stable")
    axes.set_xlabel("horizon (plays, logarithmic)" if sweep else "plays (logarithmic)")
    space = " " if size[1] > LOW else "\n"
    axes.set_ylabel(f"{'final ' * sweep}regret{space}(summed, logarithmic)")
    axes.set_xscale("log")
    axes.set_yscale("log")
    _ranges(figure, results, sweep)
    room = legend(figure, [handles[place] for place in order], [names[place] for place in order])
    part = "final regret at each horizon" if sweep else f"plays from {LATER:.0%} of the horizon"
    caption = f"{replicates_of(results)}; slopes fitted to {part}{thin}"
    heading(figure, [results[0].point.name, at], caption, room)
    return figure


def _curve(mine: Sequence[Result], sweep: bool) -> tuple[Array, Array]:
    moments = [result.measured for result in mine]
    if sweep:
        return np.array([result.point.horizon for result in mine]), np.array([each.mean[-1] for each in moments])
    return mine[0].plays, moments[0].mean


def _slopes(found: Fit | None, exponents: Sequence[float]) -> str:
    fitted = "too few points for a slope" if found is None else f"slope {found.slope:.2f}"
    if not exponents:
        return f"{fitted}, no rate in theory"
    theory = " to ".join(dict.fromkeys(f"{exponents[end]:.2f}" for end in (0, -1)))
    return f"{fitted}, theory {theory}"


def _ranges(figure: Figure, results: Sequence[Result], sweep: bool) -> None:
    [axes] = figure.axes
    curves = [_curve(mine, sweep) for mine in by_name(results).values()]
    positive = np.concatenate([means[means > 0] for _, means in curves])
    if not len(positive):
        positive = np.ones(1)
    first = min(float(plays[0]) for plays, _ in curves)
    last = max(float(plays[-1]) for plays, _ in curves)
    low, high = float(positive.min()), float(positive.max())
    if first == last:
        first, last = first / 2, last * 2
    if low == high:
        low, high = low / 2, high * 2
    axes.set_xlim(first / 1.1, last * 1.1)
    axes.set_ylim(low / 1.2, high * 1.2)
    logarithmic_axis(axes.xaxis, first / 1.1, last * 1.1)
    logarithmic_axis(axes.yaxis, low / 1.2, high * 1.2)
