"""All pictures of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import attrs
from matplotlib.figure import Figure

from corral_core import CorralError, Result, Run
from corral_core.errors import shortened
from corral_core.parsing import shown
from corral_core.runs.description import PointDescription
from corral_core.suggestions import suggestion
from corral_report.figures.bases import constant, plays_figure, probabilities_figure, recorded_figure
from corral_report.figures.rates import rates_figure
from corral_report.figures.regret import check_band, horizon_figure, regret_figure
from corral_report.progress import nothing
from corral_report.sizes import BROAD, Size

KINDS = ("regret", "probabilities", "plays", "rates")


@attrs.frozen
class Picture:
    kind: str  # or the name of a recorded quantity
    at: str  # the swept point; empty if there is none
    curve: str  # for probabilities and recorded quantities; empty for pictures of several curves
    name: str  # of the file, without its extension
    figure: Figure


def album(
    run: Run,
    *,
    kinds: Sequence[str] = (),
    quantities: Sequence[str] = (),
    curves: Sequence[str] = (),
    band: str = "deviation",
    scale: float = 1.0,
    size: Size = BROAD,
) -> Iterator[Picture]:
    """Every picture of these kinds and recorded quantities, one at a time (default: all that apply).

    Errors are raised at once, before anything is drawn.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise CorralError(f"there is no picture {shown(kind)}{suggestion(kind, KINDS)}")
    results = _chosen(run, curves)
    check_band(results, band, scale)
    _possible(kinds, results)
    recorded = list(dict.fromkeys(name for result in results for name in result.recorded))
    for name in quantities:
        if name not in recorded:
            there = f"recorded {', '.join(recorded)}" if recorded else "recorded nothing"
            raise CorralError(f"there is no recorded quantity {shown(name)}; these curves {there}")
    wanted = [*kinds, *quantities] or [*KINDS, *recorded]
    return _pictures(run, results, wanted, band, scale, size)


def sweeps_horizon(points: Sequence[PointDescription]) -> bool:
    """Whether there are several points, all with different horizons."""
    return 1 < len(points) == len({point.horizon for point in points})


def _pictures(
    run: Run, results: Sequence[Result], kinds: Sequence[str], band: str, scale: float, size: Size
) -> Iterator[Picture]:
    points = [[result for result in results if result.point is point] for point in run.points]
    points = [mine for mine in points if mine]
    swept = sweeps_horizon(run.points)
    known = all(result.regret is not None for result in results)
    for kind in kinds:
        if kind == "regret" and swept:
            figure = horizon_figure(results, band=band, scale=scale, size=size)
            yield Picture(kind, "", "", "regret", figure)
        elif kind == "rates" and swept and known:
            yield Picture(kind, "", "", "rates", rates_figure(results, size=size))
        else:
            for mine in points:
                yield from _of_point(kind, mine, run, band, scale, size)


def _of_point(kind: str, results: Sequence[Result], run: Run, band: str, scale: float, size: Size) -> Iterator[Picture]:
    point = results[0].point
    number = run.points.index(point) + 1
    place = f"-{number:0{len(str(len(run.points)))}d}-{_slug(point.at)}" if len(run.points) > 1 else ""
    metas = [result for result in results if result.curve.meta is not None]
    if kind == "regret":
        figure = regret_figure(results, band=band, scale=scale, run=run, size=size)
        yield Picture(kind, point.at, "", f"{kind}{place}", figure)
    elif kind == "rates" and all(result.regret is not None for result in results):
        yield Picture(kind, point.at, "", f"{kind}{place}", rates_figure(results, size=size))
    elif kind == "plays" and metas:
        yield Picture(kind, point.at, "", f"{kind}{place}", plays_figure(metas, size=size))
    elif kind == "probabilities":
        for name, result in _with_names(result for result in metas if not constant(result)):
            figure = probabilities_figure(result, size=size)
            yield Picture(kind, point.at, result.curve.name, f"{kind}{place}-{name}", figure)
    elif kind not in KINDS:
        for name, result in _with_names(result for result in metas if kind in result.recorded):
            figure = recorded_figure(result, kind, size=size)
            yield Picture(kind, point.at, result.curve.name, f"{kind}{place}-{name}", figure)


def _with_names(results: Iterable[Result]) -> Iterator[tuple[str, Result]]:
    """Results with names for their files, each of them different."""
    taken: set[str] = set()
    for result in results:
        name = slug = _slug(result.curve.name)
        again = 2
        while name in taken:
            name, again = f"{slug}-{again}", again + 1
        taken.add(name)
        yield name, result


def _chosen(run: Run, curves: Sequence[str]) -> list[Result]:
    results = run.results()
    if not results:
        raise nothing(run)
    names = list(dict.fromkeys(curve.name for point in run.points for curve in point.curves))
    for name in curves:
        if name not in names:
            raise CorralError(f"{run.path} has no curve {shown(name)}{suggestion(name, names)}")
    if chosen := [result for result in results if not curves or result.curve.name in curves]:
        return chosen
    raise CorralError(f"{run.path} contains nothing of {shortened(', '.join(curves))} yet; corral run resumes it")


def _possible(kinds: Sequence[str], results: Sequence[Result]) -> None:
    """Refuse a kind that was requested but would show nothing."""
    for kind in kinds:
        if kind == "rates" and all(result.regret is None for result in results):
            raise CorralError("rates need regret, which this run does not report; --kind regret shows reward instead")
        if kind in ("probabilities", "plays") and all(result.curve.meta is None for result in results):
            raise CorralError(f"{kind} are drawn for meta-algorithms, but there is none among these curves")
        if kind == "probabilities" and all(result.curve.meta is None or constant(result) for result in results):
            raise CorralError(
                "these meta-algorithms always choose all bases with the same probability, so there is nothing to draw"
            )


def _slug(name: str) -> str:
    """The name as part of a file name."""
    return re.sub(r"[^a-z0-9.=]+", "-", name.lower().replace(" = ", "=")).strip("-.")[:60] or "curve"
