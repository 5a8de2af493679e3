"""From runs to one page: the question, the results, the settings, and how to play the run again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import attrs
from matplotlib.figure import Figure

from corral_core import CorralError, Result, Run
from corral_core.analysis.statistics import exponent
from corral_core.runs.description import CurveDescription, PointDescription
from corral_core.terminal import plays
from corral_report import figures
from corral_report.figures import sweeps_horizon
from corral_report.page import Page, code
from corral_report.progress import check_begun
from corral_report.repeat import repetition
from corral_report.sizes import BROAD, NARROW
from corral_report.words import ABSENT, interval, known, reach, settings_in_words, swept, with_error


@attrs.frozen(eq=False)
class ShownPoint:
    """The results of one point of a run."""

    point: PointDescription
    results: tuple[Result, ...]

    @property
    def metas(self) -> list[Result]:
        """The curves that choose among several bases."""
        return [result for result in self.results if result.curve.meta is not None and len(result.curve.bases) > 1]

    def find(self, name: str) -> Result | None:
        """The result of the curve of this name, or None."""
        return next((result for result in self.results if result.curve.name == name), None)


@attrs.frozen(eq=False)
class Shown:
    """A run with a name that is unique on the page."""

    name: str
    run: Run
    points: tuple[ShownPoint, ...]

    @property
    def results(self) -> list[Result]:
        return [result for point in self.points for result in point.results]


def report(runs: Sequence[Run]) -> Page:
    """The page of one run, or of several in sequence, with the curves that they share side by side."""
    if not runs:
        raise CorralError("a report needs at least one run")
    for run in runs:
        check_begun(run)
    shown = [Shown(name, run, _points(run)) for name, run in zip(_names(runs), runs, strict=True)]
    if len(shown) == 1:
        only = shown[0]
        page = Page(only.name, only.run.points[0].question, contents=len(only.points) > 1)
        _run(page, only)
        return page
    page = Page(f"{len(shown)} runs: {', '.join(each.name for each in shown)}", contents=True)
    _side_by_side(page, shown)
    for each in shown:
        with page.section(each.name):
            if each.run.points[0].question:
                page.paragraph(each.run.points[0].question)
            _run(page, each)
    return page


def _points(run: Run) -> tuple[ShownPoint, ...]:
    results = run.results()
    return tuple(
        ShownPoint(point, tuple(result for result in results if result.point is point)) for point in run.points
    )


def _names(runs: Sequence[Run]) -> list[str]:
    """Names of the experiments; if names are equal, with their folders, and if folders are equal too, with numbers."""
    names = [run.points[0].name for run in runs]
    names = [
        f"{name} ({run.path.resolve().name})" if names.count(name) > 1 else name
        for name, run in zip(names, runs, strict=True)
    ]
    return [
        f"{name} #{names[: place + 1].count(name)}" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def _run(page: Page, shown: Shown) -> None:
    missing = list(_missing(shown.points))
    if missing:
        page.note("This run is incomplete; this page shows what exists so far. ", "; ".join(missing), ".")
    if len(shown.points) == 1:
        with page.section("Results"):
            _results(page, shown.points[0], rates=True)
    else:
        with page.section(f"Over {swept(shown.run.points[0])[0]}"):
            _over_points(page, shown)
        for point in shown.points:
            with page.section(f"At {point.point.at}"):
                _results(page, point, rates=not sweeps_horizon(shown.run.points))
    with page.section("Settings"):
        page.definitions(settings_in_words(shown.run.points))
    with page.section("To play it again"):
        _again(page, shown, complete=not missing)


def _missing(points: Sequence[ShownPoint]) -> Iterator[str]:
    """One phrase per curve that lacks replicates."""
    for point in points:
        for curve in point.point.curves:
            found = point.find(curve.name)
            count = found.replicates if found else 0
            if count < point.point.replicates:
                where = f" at {point.point.at}" if point.point.at else ""
                yield f"{curve.name}{where} has {count:,} of {point.point.replicates:,} replicates"


# --- One point --------------------------------------------------------------------------------------------------------


def _results(page: Page, point: ShownPoint, rates: bool) -> None:
    if not point.results:
        page.paragraph("There are no results yet.")
        return
    what = _what(point.results)
    after = f"after {plays(point.point.horizon)}"
    rows = [
        [
            result.curve.name,
            known(interval(result).estimate),
            reach(interval(result)),
            known(float(result.measured.deviation[-1])),
            f"{result.replicates:,}",
            _theory(result.curve),
        ]
        for result in point.results
    ]
    page.table(
        ["curve", f"mean {what}", "95% interval", "standard deviation", "replicates", "theory"],
        rows,
        f"Mean {what} {after}, with Student's t interval over replicates. Theory: the exponents of T in the bounds; "
        "a meta has one for each base that may turn out to be the best.",
    )
    _pictures(page, point, what, after, rates)
    if point.metas:
        labels = dict.fromkeys(label for result in point.metas for label in result.curve.bases)
        page.table(
            ["base", *(result.curve.name for result in point.metas)],
            [[label, *(_plays_of(result, label) for result in point.metas)] for label in labels],
            f"Mean plays of each base {after}.",
        )
    for name in dict.fromkeys(name for result in point.metas for name in result.recorded):
        recording = [result for result in point.metas if name in result.recorded]
        labels = dict.fromkeys(label for result in recording for label in result.curve.bases)
        page.table(
            ["base", *(result.curve.name for result in recording)],
            [[label, *(_recorded_of(result, name, label) for result in recording)] for label in labels],
            f"{name.replace('-', ' ').capitalize()} of each base {after}: mean and standard deviation over replicates.",
        )


def _pictures(page: Page, point: ShownPoint, what: str, after: str, rates: bool) -> None:
    results, metas = list(point.results), point.metas
    ends = "; ".join(f"{each.curve.name} {known(interval(each).estimate)}" for each in results)
    _draw(
        page,
        partial(figures.regret_figure, results, band="error"),
        f"Mean {what} over time.",
        f"Mean {what} against plays, one line per curve. Mean {what} {after}: {ends}.",
    )
    if rates and all(result.regret is not None for result in results):
        _draw(
            page,
            partial(figures.rates_figure, results),
            "The same with both axes logarithmic: a power of the plays is a straight line.",
            "The slopes of the curves, next to those of theory.",
        )
    for result in metas:
        if figures.constant(result):
            continue
        draws = result.probabilities is not None
        _draw(
            page,
            partial(figures.probabilities_figure, result),
            f"Mean probability with which {result.curve.name} chooses each base, over time."
            if draws
            else f"Mean share of plays that {result.curve.name}, which does not draw, gives each base, over time.",
            f"{f'Mean probabilities {after}' if draws else 'Shares of the last plays'}: {_shares(result)}.",
        )
    for result in metas:
        for name, moments in result.recorded.items():
            words = name.replace("-", " ")
            pairs = zip(result.curve.bases, moments.mean[-1], strict=True)
            _draw(
                page,
                partial(figures.recorded_figure, result, name),
                f"{words.capitalize()} of each base, as {result.curve.name} records them: "
                "the mean over replicates, over time.",
                f"Mean {words} {after}: {'; '.join(f'{label} {known(float(mean))}' for label, mean in pairs)}.",
            )
    if metas:
        _draw(
            page,
            partial(figures.plays_figure, metas),
            "Mean plays of each base.",
            "The numbers are in the next table.",
        )


def _draw(page: Page, draw: Callable[..., Figure], caption: str, description: str) -> None:
    """Add a picture in both sizes."""
    broad, narrow = (figures.svg(draw(size=size)) for size in (BROAD, NARROW))
    page.figure(broad, caption, description, narrow)


def _shares(result: Result) -> str:
    pairs = zip(result.curve.bases, figures.mean_choices(result)[-1], strict=True)
    return "; ".join(f"{label} {share:.3f}" for label, share in pairs)


def _recorded_of(result: Result, name: str, label: str) -> str:
    """The final mean of a recorded quantity of a base, and its standard deviation if there are several replicates."""
    if label not in result.curve.bases:
        return ABSENT
    place, moments = result.curve.bases.index(label), result.recorded[name]
    spread = float(moments.deviation[-1, place])
    return known(float(moments.mean[-1, place])) + ("" if math.isnan(spread) else f" ({known(spread)})")


def _plays_of(result: Result, label: str) -> str:
    if label not in result.curve.bases:
        return ABSENT
    place = result.curve.bases.index(label)
    dropped = float(result.dropped[-1, place])
    return known(float(result.plays_of[-1, place])) + (f" (dropped in {dropped:.0%})" if dropped else "")


# --- Several points, several runs -------------------------------------------------------------------------------------


def _over_points(page: Page, shown: Shown) -> None:
    """Add every curve over the swept axis; if the horizon is swept, also how fast regret grows."""
    results = shown.results
    parameter, _ = swept(shown.run.points[0])
    names = list(dict.fromkeys(result.curve.name for result in results))
    page.table(
        [f"{parameter} =", *(swept(point.point)[1] for point in shown.points)],
        [[name, *(with_error(point.find(name)) for point in shown.points)] for name in names],
        f"Mean {_what(results)} ± half the width of its 95% interval.",
    )
    if not sweeps_horizon(shown.run.points):
        return
    _draw(
        page,
        partial(figures.horizon_figure, results, band="error"),
        f"Final mean {_what(results)} against the horizon.",
        "The numbers are in the table above.",
    )
    if all(result.regret is not None for result in results):
        _draw(
            page,
            partial(figures.rates_figure, results),
            "The same with both axes logarithmic: a power of the horizon T is a straight line.",
            "The slopes of the lines are in the next table.",
        )
        page.table(
            ["curve", "exponent", "95% interval", "theory"],
            [[name, *_growth([result for result in results if result.curve.name == name])] for name in names],
            "The exponent with which regret grows with the horizon T (the slope of the line), and in theory.",
        )


def _growth(results: Sequence[Result]) -> list[str]:
    theory = _theory(results[-1].curve)
    try:
        slope = exponent([result.point.horizon for result in results], [result.final for result in results])
    except CorralError:  # a single horizon, or a mean that is not above zero
        return [ABSENT, ABSENT, theory]
    between = ABSENT if math.isnan(slope.low) else f"{slope.low:.2f} to {slope.high:.2f}"
    return [f"{slope.estimate:.2f}".replace("-", "−"), between.replace("-", "−"), theory]


def _side_by_side(page: Page, shown: Sequence[Shown]) -> None:
    """Add a table of the curves that at least two of the runs have."""
    columns = [(each, point) for each in shown for point in each.points]
    present = [{result.curve.name for result in each.results} for each in shown]
    names = [
        name
        for name in dict.fromkeys(result.curve.name for each in shown for result in each.results)
        if sum(name in there for there in present) > 1
    ]
    if not names:
        return
    what = _what([result for each in shown for result in each.results])
    with page.section("Side by side"):
        page.table(
            ["curve", *(f"{each.name} {point.point.at}".strip() for each, point in columns)],
            [
                ["plays", *(f"{point.point.horizon:,}" for _, point in columns)],
                *([name, *(with_error(point.find(name)) for _, point in columns)] for name in names),
            ],
            f"Mean {what} ± half the width of its 95% interval, for curves that several runs have.",
        )


# --- To play it again -------------------------------------------------------------------------------------------------


def _again(page: Page, shown: Shown, complete: bool) -> None:
    again = repetition(shown.run.points)
    if again.registered:
        page.paragraph("A plugin provides the experiment:")
    elif len(again.files) == 1:
        page.paragraph("Save the experiment below as ", code(next(iter(again.files))), ", then:")
    else:
        page.paragraph("Save each of the experiments below under its file name, then:")
    page.code("\n".join(again.commands))
    for name, text in again.files.items():
        page.details(f"The experiment, with everything resolved: {name}", text)
    mixed = _versions(page, shown.run)
    checksum = shown.run.checksum
    if complete and checksum:
        page.paragraph(
            "Chunks of several versions are mixed here, so another run may differ in the last bits. "
            if mixed
            else "With these versions, a machine of this kind computes the same chunks bit by bit. ",
            "The checksum of this run, as ",
            code("sha256sum SHA256SUMS"),
            " in its folder prints it:",
        )
        page.code(checksum)
    else:
        page.paragraph("A checksum is available once the run is complete.")
    seconds = sum(result.seconds for result in shown.results)
    page.paragraph(f"The chunks took {known(seconds)} seconds in total.")


def _versions(page: Page, run: Run) -> bool:
    """Add the versions that began the run and those that resumed it; returns whether any others resumed it."""
    begun, *later = [dict(each) for each in dict.fromkeys(tuple(each.items()) for each in run.all_versions)]
    names = dict.fromkeys(name for each in (begun, *later) for name in each)
    page.table(
        ["what", "begun with" if later else "version", *(["resumed with"] * len(later))],
        [[name, *(each.get(name, ABSENT) for each in (begun, *later))] for name in names],
        "Versions that began the run, and versions that resumed it." if later else "Versions that began the run.",
        numbers=False,
    )
    return bool(later)


# --- Numbers ----------------------------------------------------------------------------------------------------------


def _what(results: Sequence[Result]) -> str:
    known = {result.regret is not None for result in results}
    if len(known) > 1:
        return "regret (reward if regret is unknown)"
    return "regret" if True in known else "reward"


def _theory(curve: CurveDescription) -> str:
    return ", ".join(f"{each:g}" for each in curve.exponents) or ABSENT
