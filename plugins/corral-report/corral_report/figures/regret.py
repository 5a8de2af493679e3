"""Regret against plays, and final regret against the horizon; reward if regret is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from corral_core import Array, CorralError, Result, Run
from corral_core.parsing import shown
from corral_core.runs.standard_errors import Moments
from corral_core.suggestions import suggestion
from corral_core.terminal import number
from corral_report.figures.style import (
    LOW,
    canvas,
    drawing,
    heading,
    legend,
    linear_axis,
    look,
    with_number,
)
from corral_report.sizes import BROAD, Size

BANDS = ("deviation", "error", "quantiles", "none")
QUANTILES = (0.1, 0.9)
NORMAL = 1.96  # a normal variable is within so many standard deviations of its mean with probability 0.95

MANY = 8  # with more curves than this, only those of metas are shaded

Edges = tuple[Array, Array]


@drawing
def regret_figure(
    results: Sequence[Result],
    *,
    band: str = "deviation",
    scale: float = 1.0,
    run: Run | None = None,
    size: Size = BROAD,
) -> Figure:
    """Mean regret against plays, for the curves of one point. The band of quantiles needs `run`."""
    check_band(results, band, scale)
    known = all(result.regret is not None for result in results)
    figure, axes = canvas(size)
    drawn = {}
    for result in results:
        moments = quantity(result, known)
        [line] = axes.plot(result.plays, moments.mean, **look(result, len(result.plays)))
        edges = band_edges(result, band, scale, run, known) if _shaded(result, results) else None
        if edges is not None:
            _shade(axes, result.plays, moments.mean, edges, line)
        drawn[result.curve.name] = line, float(moments.mean[-1])
    axes.set_xlim(0, max(float(result.plays[-1]) for result in results) * 1.01)
    _finish(figure, axes, drawn, results, known, band, scale)
    return figure


@drawing
def horizon_figure(
    results: Sequence[Result],
    *,
    band: str = "deviation",
    scale: float = 1.0,
    size: Size = BROAD,
) -> Figure:
    """Mean final regret against the horizon, for the curves of all points of a sweep of the horizon."""
    check_band(results, band, scale)
    known = all(result.regret is not None for result in results)
    figure, axes = canvas(size)
    drawn = {}
    for name, mine in by_name(results).items():
        horizons = np.array([result.point.horizon for result in mine])
        means = np.array([quantity(result, known).mean[-1] for result in mine])
        [line] = axes.plot(horizons, means, **{**look(mine[0], len(mine)), "markevery": 1})
        found = [_final_edges(result, band, scale, known) if _shaded(result, results) else None for result in mine]
        if edges := [each for each in found if each is not None]:
            kept = np.array([each is not None for each in found])
            low, high = np.array(edges).T
            _shade(axes, horizons[kept], means[kept], (low, high), line)
        drawn[name] = line, float(means[-1])
    axes.set_xlim(0, max(result.point.horizon for result in results) * 1.04)
    _finish(figure, axes, drawn, results, known, band, scale, horizon=True)
    return figure


def band_edges(
    result: Result, band: str, scale: float = 1.0, run: Run | None = None, known: bool = True
) -> Edges | None:
    """Lower and upper edge over time, (checkpoints,) each; None if there is no band, as for a single replicate."""
    if band == "none" or result.replicates < 2:
        return None
    if band == "quantiles":
        if run is None:
            raise CorralError("a band of quantiles needs the run, because it reads every replicate")
        regret = known and result.regret is not None
        chunks = [record.regret if regret else record.reward for record in run.records(result)]
        low, high = np.quantile(np.concatenate([chunk for chunk in chunks if chunk is not None]), QUANTILES, axis=0)
        return low, high
    moments = quantity(result, known)
    half = scale * (moments.deviation if band == "deviation" else NORMAL * moments.error)
    return moments.mean - half, moments.mean + half


def _final_edges(result: Result, band: str, scale: float, known: bool) -> tuple[float, float] | None:
    if band == "quantiles":
        if result.replicates < 2:
            return None
        low, high = np.quantile(result.final, QUANTILES)
        return float(low), float(high)
    edges = band_edges(result, band, scale, None, known)
    return None if edges is None else (float(edges[0][-1]), float(edges[1][-1]))


def quantity(result: Result, known: bool) -> Moments:
    """The regret if it is known for all curves of a picture, otherwise the reward."""
    return result.regret if known and result.regret is not None else result.reward


def by_name(results: Sequence[Result]) -> Mapping[str, list[Result]]:
    """The results of each curve, sorted by horizon."""
    found: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: result.point.horizon):
        found.setdefault(result.curve.name, []).append(result)
    return found


def check_band(results: Sequence[Result], band: str, scale: float) -> None:
    """Refuse results, bands and scales that cannot be drawn."""
    if not results:
        raise CorralError("there is no curve to draw")
    if band not in BANDS:
        raise CorralError(f"there is no band {shown(band)}{suggestion(band, BANDS)}")
    if not (np.isfinite(scale) and scale > 0):
        raise CorralError(f"the scale of a band must be positive and finite, not {scale}")
    if scale != 1 and band in ("quantiles", "none"):
        raise CorralError(f"a scale is allowed with the bands deviation and error, not with {band}")


def replicates_of(results: Sequence[Result]) -> str:
    """The number of replicates behind the means, in words."""
    fewest, most = (extreme(result.replicates for result in results) for extreme in (min, max))
    if most == 1:
        return "One replicate"
    return f"Means of {fewest:,} to {most:,} replicates" if fewest < most else f"Means of {most:,} replicates"


def _meaning(band: str, scale: float) -> str:
    if band == "quantiles":
        return "10% to 90% quantiles of the replicates"
    if band == "deviation":
        return f"mean ± {scale:.3g} standard deviation{'s' * (scale != 1)}"
    interval = " (about a 95% interval)" if scale == 1 else ""
    return f"mean ± {NORMAL * scale:.3g} standard errors{interval}"


def _shaded(result: Result, results: Sequence[Result]) -> bool:
    """Whether the curve has a band; too many bands would hide each other."""
    return not _only_metas(results) or result.curve.meta is not None


def _only_metas(results: Sequence[Result]) -> bool:
    return len(by_name(results)) > MANY and any(result.curve.meta is not None for result in results)


def _shade(axes: Axes, plays: Array, means: Array, edges: Edges, line: Line2D) -> None:
    low, high = edges
    colour, below = line.get_color(), line.get_zorder() - 2
    if len(plays) == 1:
        axes.errorbar(plays, means, np.array([means - low, high - means]), color=colour, capsize=4, zorder=below)
    else:
        axes.fill_between(plays, low, high, color=colour, alpha=0.16, lw=0, zorder=below)


def _finish(
    figure: Figure,
    axes: Axes,
    drawn: Mapping[str, tuple[Line2D, float]],
    results: Sequence[Result],
    known: bool,
    band: str,
    scale: float,
    horizon: bool = False,
) -> None:
    axes.set_xlabel("horizon (plays)" if horizon else "plays")
    final = "final " if horizon else ""
    space = " " if figure.get_figheight() > LOW else "\n"
    axes.set_ylabel(f"{final}{'regret' if known else 'reward'} (summed,{space}in units of reward)")
    # The legend lists curves by their final value, the highest first.
    names = sorted(drawn, key=lambda name: -drawn[name][1])
    room = legend(
        figure,
        [drawn[name][0] for name in names],
        [with_number(name, number(drawn[name][1])) for name in names],
    )
    caption = replicates_of(results)
    if band != "none" and any(result.replicates > 1 for result in results):
        caption += f"; shaded{' for metas' * _only_metas(results)}: {_meaning(band, scale)}"
    point = results[0].point
    heading(figure, [point.name, "" if horizon else point.at], caption, room)
    linear_axis(axes.xaxis, room - 0.9)
    linear_axis(axes.yaxis, 3, 0.5, whole=False)
