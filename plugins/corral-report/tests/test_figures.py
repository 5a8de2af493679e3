"""Pictures: what is drawn is what was computed, and it can be read."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import matplotlib
import numpy as np
import pytest
from corral_report import figures
from corral_report.figures.style import fixed_style, look
from corral_report.page import Page
from corral_report.sizes import BROAD, LEAST
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from corral_core import Array, CorralError, Result
from corral_core.runs.description import CurveDescription, PointDescription
from corral_core.runs.results import Fold
from corral_core.runs.standard_errors import Moments
from corral_core.simulation.record import Record, checkpoints

LONG = "a-rather-long-name(with_some=1, parameters=22) that goes on until it has eighty-5 signs"
ODD = ["_$x_1^2$ \\alpha", '100% & <b>\'"</b> {é ε} ]]> --> id="a"', "\n\t \x00", "名前", LONG, LONG + "!", "$"]


def _record(plays: Array, bases: int, replicates: int, level: float, regret: bool, rng: np.random.Generator) -> Record:
    """Regret about level * plays^0.6; the first base is played ever more."""
    sums = level * plays**0.6 * rng.uniform(0.5, 1.5, (replicates, 1))
    weights = np.ones((replicates, len(plays), bases))
    weights[:, :, 0] += np.sqrt(plays)
    probabilities = weights / weights.sum(axis=2, keepdims=True)
    return Record(
        reward=plays - sums,
        regret=sums if regret else None,
        probabilities=probabilities.astype(np.float32),
        plays=np.rint(probabilities * plays[:, None]).astype(np.int32),
        restarts=np.zeros(weights.shape, dtype=np.int32),
        dropped=np.zeros(weights.shape, dtype=bool),
    )


def made(
    names: Sequence[str] = ("corral", "ucb"),
    *,
    metas: int = 1,
    bases: int = 2,
    horizon: int = 1000,
    replicates: int = 12,
    chunks: int = 3,
    regret: bool = True,
    at: str = "",
    base_names: Sequence[str] = (),
    dropped: bool = False,
    experiment: str = "made",
) -> tuple[list[Result], Any]:
    """Results of one point, made of numbers with a fixed seed, and what reads their records."""
    rng = np.random.default_rng(5)
    labels = tuple(base_names) or tuple(f"epsilon-greedy(c={10**place:g})" for place in range(bases))
    curves = tuple(
        CurveDescription(
            name, labels if place < metas else (name,), "corral" if place < metas else None, "plain", (), (0.5, 0.75)
        )
        for place, name in enumerate(names)
    )
    point = PointDescription(experiment, "", at, horizon, replicates * chunks, 1, replicates, curves, {})
    records, results = {}, []
    for place, curve in enumerate(curves):
        fold = Fold(point, curve)
        records[curve.name] = [
            _record(checkpoints(horizon), len(curve.bases), replicates, 2.0 + place, regret, rng) for _ in range(chunks)
        ]
        for record in records[curve.name]:
            record.dropped[::2, -1, 1:] = dropped
            fold.add(record, 0.1)
        results.append(fold.result())
    return results, SimpleNamespace(records=lambda result: iter(records[result.curve.name]))


def swept(names: Sequence[str] = ("corral", "ucb"), **options: Any) -> list[Result]:
    horizons = (500, 1000, 2000, 4000)
    return [
        result
        for horizon in horizons
        for result in made(names, horizon=horizon, at=f"horizon = {horizon}", **options)[0]
    ]


MANY = [f"curve number {number} of (twenty)" for number in range(20)]
SHAPES: dict[str, dict[str, Any]] = {
    "two curves": {},
    "twenty curves": {"names": MANY, "metas": 3, "bases": 18},
    "one replicate": {"replicates": 1, "chunks": 1},
    "one play": {"horizon": 1},
    "two plays": {"horizon": 2},
    "no regret": {"regret": False},
    "swept": {"at": "environment.gap = 0.1"},
    "odd names": {"names": ODD, "metas": 3, "base_names": ODD},
    "dropped bases": {"names": ("corral", "exp3p", "ucb"), "metas": 2, "bases": 5, "dropped": True},
    "millions of plays": {"horizon": 1_500_000_000},
    "long names": {
        "experiment": "unknown-dimension-and-misspecification-rates",
        "at": "environment.gap = 0.1",
        "base_names": [f"lower-bound-unknown-rate-base(exponent={exponent}, reveals=True)" for exponent in (0.5, 0.9)],
    },
}
NARROW = ("twenty curves", "no regret", "odd names", "dropped bases", "millions of plays", "long names")


def drawn(shape: dict[str, Any], size: tuple[float, float]) -> Iterator[Figure]:
    results, run = made(**shape)
    yield figures.regret_figure(results, band="quantiles", run=run, size=size)
    yield figures.probabilities_figure(results[0], size=size)
    yield figures.plays_figure(results, size=size)
    if results[0].regret is not None:
        yield figures.rates_figure(results, size=size)


def texts(figure: Figure) -> list[tuple[str, Any]]:
    """Every text that shows, with its box in pixels."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    [axes] = figure.axes
    parts = [axes.xaxis.label, axes.yaxis.label, figure._suptitle, *axes.texts]
    for each in (axes, *axes.child_axes):
        for axis in (each.xaxis, each.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if low <= tick.get_loc() <= high:
                    parts += [tick.label1, tick.label2]
    for legend in figure.legends:
        parts += legend.get_texts()
    shown = [part for part in parts if part.get_visible() and part.get_text().strip()]
    with fixed_style():
        return [(part.get_text(), part.get_window_extent(renderer)) for part in shown]


def assert_readable(figure: Figure) -> None:
    """No two texts overlap, none leaves the picture, and the legend does not cover the axes."""
    boxes = texts(figure)
    inside = figure.bbox.padded(1)
    for text, box in boxes:
        assert inside.x0 <= box.x0 and box.x1 <= inside.x1, text
        assert inside.y0 <= box.y0 and box.y1 <= inside.y1, text
    for (text, box), (other, second) in itertools.combinations(boxes, 2):
        apart = box.x1 <= second.x0 + 1 or second.x1 <= box.x0 + 1 or box.y1 <= second.y0 + 1 or second.y1 <= box.y0 + 1
        assert apart, (text, other)
    [axes] = figure.axes
    for legend in figure.legends:
        assert not legend.get_window_extent().overlaps(axes.bbox)
    assert axes.bbox.width > 0.3 * figure.bbox.width and axes.bbox.height > 100


@pytest.mark.parametrize(("shape", "size"), [*((name, BROAD) for name in SHAPES), *((name, LEAST) for name in NARROW)])
def test_every_picture_of_every_shape_can_be_read(shape: str, size: tuple[float, float]) -> None:
    for figure in drawn(SHAPES[shape], size):
        assert_readable(figure)


@pytest.mark.parametrize(
    ("names", "size"), [(("corral", "ucb"), BROAD), (MANY, LEAST), (ODD, BROAD)], ids=["two", "twenty", "odd"]
)
def test_pictures_of_a_sweep_of_the_horizon_can_be_read(names: Sequence[str], size: tuple[float, float]) -> None:
    results = swept(names)
    assert_readable(figures.horizon_figure(results, size=size))
    assert_readable(figures.rates_figure(results, size=size))


def test_the_smallest_pictures_cut_no_names() -> None:
    for figure in drawn(SHAPES["long names"], LEAST):
        lines = " ".join(text for text, _ in texts(figure)).split()
        assert "…" not in words(figure) and not {"misspecificati", "on-rates,"} & set(lines)
    assert "misspecification-rates," in lines and "0.9," in words(figures.plays_figure(made(**SHAPES["long names"])[0]))


def test_a_sweep_of_single_replicates_has_no_band() -> None:
    figure = figures.horizon_figure(swept(replicates=1, chunks=1))
    assert not bands(figure) and "shaded" not in words(figure)


def test_the_check_of_overlaps_sees_one() -> None:
    figure = figures.regret_figure(made()[0])
    assert_readable(figure)
    figure.legends[0].get_texts()[0].set_text("first\nsecond\nthird")
    figure.axes[0].text(0.5, 0.5, "here", transform=figure.axes[0].transAxes)
    figure.axes[0].text(0.5, 0.5, "there", transform=figure.axes[0].transAxes)
    with pytest.raises(AssertionError):
        assert_readable(figure)


def bands(figure: Figure) -> list[Array]:
    """The corners of every shaded area."""
    found = [each for each in figure.axes[0].collections if isinstance(each, PolyCollection)]
    return [np.asarray(each.get_paths()[0].vertices) for each in found]


def edges(corners: Array, plays: Array) -> tuple[Array, Array]:
    """Lower and upper edge of a shaded area: it goes along one and comes back along the other."""
    pairs = [np.unique(corners[corners[:, 0] == each, 1])[[0, -1]] for each in plays]
    low, high = np.array(pairs).T
    return low, high


@pytest.mark.parametrize(
    ("band", "scale"), [("deviation", 1.0), ("deviation", 0.3), ("error", 1.0), ("quantiles", 1.0)]
)
def test_the_edges_of_a_band_are_those_of_all_replicates(band: str, scale: float) -> None:
    results, run = made()
    figure = figures.regret_figure(results, band=band, scale=scale, run=run)
    assert len(bands(figure)) == len(results)
    for result, corners in zip(results, bands(figure), strict=True):
        every = np.concatenate([record.regret for record in run.records(result)])
        mean, spread = every.mean(axis=0), every.std(axis=0, ddof=1)
        half = scale * (spread if band == "deviation" else 1.96 * spread / np.sqrt(len(every)))
        expected = np.quantile(every, [0.1, 0.9], axis=0) if band == "quantiles" else (mean - half, mean + half)
        np.testing.assert_allclose(edges(corners, result.plays), expected, rtol=1e-9)
        [line] = [each for each in figure.axes[0].lines if each.get_color() == look(result, 200)["color"]]
        np.testing.assert_allclose(line.get_ydata(), mean, rtol=1e-9)


@pytest.mark.parametrize("band", ["deviation", "quantiles"])
def test_the_band_over_horizons_is_that_of_the_final_values(band: str) -> None:
    results = swept()
    [_, corners] = bands(figures.horizon_figure(results, band=band))
    mine = [result for result in results if result.curve.name == "ucb"]
    finals = np.array([result.final for result in mine])
    middle, spread = finals.mean(axis=1), finals.std(axis=1, ddof=1)
    expected = (middle - spread, middle + spread) if band == "deviation" else np.quantile(finals, [0.1, 0.9], axis=1)
    horizons = np.array([result.point.horizon for result in mine])
    np.testing.assert_allclose(edges(corners, horizons), expected, rtol=1e-9)


def words(figure: Figure) -> str:
    return " ".join(" ".join(text for text, _ in texts(figure)).split())


def test_pictures_say_what_they_show() -> None:
    results, run = made(at="gap = 0.1")
    said = words(figures.regret_figure(results, scale=0.3))
    for part in ("gap = 0.1", "Means of 36 replicates", "mean ± 0.3 standard deviations", "1,000", "plays"):
        assert part in said
    assert "regret (summed, in units of reward)" in said
    assert "mean ± 1.96 standard errors (about a 95% interval)" in words(figures.regret_figure(results, band="error"))
    assert "10% to 90% quantiles" in words(figures.regret_figure(results, band="quantiles", run=run))
    assert "shaded" not in words(figures.regret_figure(results, band="none"))
    single = words(figures.regret_figure(made(replicates=1, chunks=1)[0]))
    assert "One replicate" in single and "shaded" not in single
    assert "reward (summed, in units of reward)" in words(figures.regret_figure(made(regret=False)[0]))
    assert "final regret (summed, in units of reward) " in words(figures.horizon_figure(swept())) + " "
    said = words(figures.probabilities_figure(results[0]))
    assert "dotted: 1/2" in said and f"{results[0].probabilities.mean[-1, 0]:.3f}" in said
    assert "epsilon-greedy(c=10)" in words(figures.plays_figure(results))
    results, _ = made(dropped=True)
    for figure in (figures.probabilities_figure(results[0]), figures.plays_figure(results)):
        assert words(figure).count("dropped in 50%") == 1
    results, _ = made(("a\x00\nb", "ucb"))
    assert ElementTree.fromstring(figures.svg(figures.probabilities_figure(results[0]))).tag.endswith("svg")


def test_many_curves_shade_only_metas_and_say_so() -> None:
    results, _ = made(MANY, metas=3)
    figure = figures.regret_figure(results)
    assert len(bands(figure)) == 3 and "shaded for metas:" in words(figure)
    assert len(bands(figures.regret_figure(made(MANY, metas=0)[0]))) == 20


def test_twenty_curves_all_look_different_and_metas_are_thicker() -> None:
    results, _ = made(MANY, metas=3)
    looks = [look(result, 200) for result in results]
    assert len({(each["color"], str(each["linestyle"]), each["marker"]) for each in looks}) == 20
    assert len({(str(each["linestyle"]), each["marker"]) for each in looks}) == 20  # without colour, too
    assert min(each["linewidth"] for each in looks[:3]) > max(each["linewidth"] for each in looks[3:])


def test_bars_are_as_long_as_the_mean_plays() -> None:
    results, _ = made(("corral", "exp3p", "ucb"), metas=2, bases=3)
    bars = [bar.get_width() for bar in figures.plays_figure(results).axes[0].patches]
    # Every bar is there twice: its filling, and its edge with hatches.
    expected = [value for result in results[:2] for _ in range(2) for value in result.plays_of[-1]]
    np.testing.assert_allclose(bars, expected)


def test_rows_of_probabilities_are_in_proportion() -> None:
    [result, _], _ = made(bases=3)
    figure = figures.probabilities_figure(result)
    means, heights = result.probabilities.mean, [np.ptp(corners[:, 1]) for corners in bands(figure)]
    np.testing.assert_allclose(np.array(heights) / heights[0], means.max(axis=0) / means[:, 0].max(), rtol=1e-6)


def test_a_single_point_has_no_slope() -> None:
    assert "too few points for a slope" in words(figures.rates_figure(made(horizon=1)[0]))


def test_rates_show_slopes_beside_theory() -> None:
    assert "slope 0.60, theory 0.50 to 0.75" in words(figures.rates_figure(made()[0]))
    results = swept()
    mine = [result for result in results if result.curve.name == "corral"]
    found = figures.fit(np.array([500, 1000, 2000, 4000]), np.array([result.final.mean() for result in mine]))
    assert found is not None
    said = words(figures.rates_figure(results))
    assert f"corral: slope {found.slope:.2f}" in said and "final regret at each horizon" in said


def test_thin_lines_are_explained_where_there_are_some() -> None:
    results, _ = made(("corral", "ucb", "exp3"))
    figure = figures.rates_figure(results)
    assert "thin, for metas: fits; thin dotted: theory's" in words(figure)
    drawn = figure.axes[0].lines
    assert [line.get_linewidth() for line in drawn if line.get_linestyle() == ":"] == [1.1, 1.1]
    assert "thin" not in words(figures.rates_figure(results[1:]))


def test_probabilities_that_never_change_are_known() -> None:
    [result, _], _ = made(bases=3)
    assert not figures.constant(result)
    for away, replicates, expected in ((0.0, 4, True), (0.0, 1, True), (1e-9, 4, True), (0.1, 4, False)):
        found, sides = Moments(), np.resize([away, -away], (replicates, 1, 1))
        found.add(np.full((replicates, *result.probabilities.mean.shape), 1 / 3) + sides)
        assert figures.constant(attrs.evolve(result, probabilities=found)) is expected


@pytest.mark.parametrize("kind", figures.FORMATS)
def test_the_same_run_gives_the_same_bytes(kind: str, tmp_path: Path) -> None:
    kinds = None if kind == "svg" else 2
    once, again = (itertools.islice(drawn({"horizon": 40}, LEAST), kinds) for _ in range(2))
    for first, second in zip(once, again, strict=True):
        figures.save(first, tmp_path / f"first.{kind}")
        figures.save(second, tmp_path / f"second.{kind}")
        written = (tmp_path / f"second.{kind}").read_bytes()
        assert written == (tmp_path / f"first.{kind}").read_bytes()
        if kind == "svg":
            assert ElementTree.fromstring(written).tag.endswith("svg")
        assert written.startswith({"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF-", "svg": b"<?xml"}[kind])


def test_a_users_own_style_changes_nothing_and_is_left_alone() -> None:
    plain = figures.svg(figures.regret_figure(made()[0]))
    with matplotlib.rc_context({"font.size": 31, "lines.linewidth": 9, "svg.fonttype": "path", "axes.grid": False}):
        before = dict(matplotlib.rcParams)
        assert figures.svg(figures.regret_figure(made()[0])) == plain
        assert dict(matplotlib.rcParams) == before


def test_pictures_on_a_page_have_ids_of_their_own() -> None:
    page = Page("made")
    for figure in drawn(SHAPES["odd names"], BROAD):
        text = figures.svg(figure)
        assert text == figures.svg(figure) and "1b1b1d" not in text and "currentColor" in text
        page.figure(text, "drawn", "twice", text)
    written = "".join(re.findall(r"<svg.*?</svg>", page.html(), re.DOTALL))
    assert "<metadata" not in written and "<!--" not in written
    root = ElementTree.fromstring(f'<p xmlns:xlink="http://www.w3.org/1999/xlink">{written}</p>')
    ids = [value for element in root.iter() if (value := element.get("id"))]
    assert len(root) == 8 and len(ids) == len(set(ids)) > 0
    assert {"".join(used) for used in re.findall(r"url\(#([^)]*)\)|href=\"#([^\"]*)\"", written)} <= set(ids)
    assert not [element for element in root.iter() if "fill: #ffffff" in element.get("style", "")]


def test_names_are_not_formulas() -> None:
    results, _ = made(ODD, metas=3)
    shown = [
        "".join(element.itertext())
        for element in ElementTree.fromstring(figures.svg(figures.regret_figure(results))).iter()
    ]
    assert any(text.startswith("_$x_1^2$ \\alpha: ") for text in shown)
    assert any(text.startswith("(no name): ") for text in shown)


def test_what_cannot_be_drawn_is_said_in_a_sentence(tmp_path: Path) -> None:
    results, _ = made()
    for call, said in [
        (lambda: figures.regret_figure(results, band="quantile"), "did you mean quantiles"),
        (lambda: figures.regret_figure(results, band="quantiles"), "needs the run"),
        (lambda: figures.regret_figure(results, band="none", scale=2), "is allowed with the bands"),
        (lambda: figures.regret_figure(results, scale=float("nan")), "must be positive and finite"),
        (lambda: figures.regret_figure([]), "no curve"),
        (lambda: figures.rates_figure([]), "no curve"),
        (lambda: figures.rates_figure(made(regret=False)[0]), "which this run does not report"),
        (lambda: figures.probabilities_figure(results[1]), "a base alone"),
        (lambda: figures.plays_figure(results[1:]), "no meta-algorithm"),
        (lambda: figures.save(Figure(), tmp_path / "picture.jpg"), "no format 'jpg'"),
        (lambda: figures.save(Figure(), Path("/dev/null/picture.png")), "cannot be used"),
    ]:
        with pytest.raises(CorralError, match=said):
            call()
