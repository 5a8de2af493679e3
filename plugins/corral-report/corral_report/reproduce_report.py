"""The report of a reproduction, as a page and as Markdown: claims and verdicts first, then every experiment."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from corral_core import CorralError, Result
from corral_core.experiments.claims import Claim
from corral_core.experiments.source import is_file
from corral_core.runs.files import usable
from corral_report import figures
from corral_report.judging import Finding, Judgement
from corral_report.page import check_target
from corral_report.reproduce import ITEMS, Reproduced, Untried, size
from corral_report.reproduce_documents import PICTURES, Document, Markdown, Web
from corral_report.sizes import Size
from corral_report.words import ABSENT, PRESETS, known, reach, settings_in_words, swept, with_error

TITLE = "What is claimed, and what was measured"
VERDICTS = ("agrees", "disagrees", "undecided")
EDGES = ("estimate", "low", "high", "level")  # fields of an interval
HOW = (
    "Each number has an interval over replicates, paired if two curves are compared. The level is 95% over all the "
    "numbers of a claim: if there are k of them, each interval has level 1 - 0.05/k, so that all hold at once with "
    "probability at least 95%. Among many claims, expect some wrong verdicts. "
    "A claim agrees if the whole interval satisfies it, disagrees if the whole interval violates it, and is undecided "
    "otherwise. An exponent is the slope of ln(mean regret) on ln(T), over runs that are tuned to each T. Orders hide "
    "logarithms, so one of them is allowed: the exponent may exceed the stated one by 1/ln(T), at the geometric mean "
    "of the horizons. If an exponent disagrees, the order is not seen at these horizons; no finite run refutes a "
    "theorem on orders. A reading is not in the paper's own words; readings are counted separately."
)
# Items of the paper that no experiment can test.
NOWHERE = (
    "Lemma 6.2, on the product of two regrets, and Theorem 4.10 with the lemmas of Section 4, from which the main "
    "result follows: there is no experiment."
)
SETTINGS = ("environment", "preset", "how bases are played", "learning rates")  # terms of `settings_in_words`
CAUTION = (
    "The claims of Corral's own experiments were not written blindly. Limits are the paper's orders and numbers, but "
    "settings that the paper leaves open were chosen with the help of trial runs, and readings were written after "
    "earlier measurements of the same experiments. A reading that agrees is therefore weak evidence. Outside Table 1, "
    "curves of the preset theory were added after those without it had been measured; nothing else was changed."
)


def write(found: Sequence[Reproduced], left: Untried, out: Path, *, quick: bool) -> list[Path]:
    """Write `index.html` and `reproduction.md` with its pictures to this folder."""
    page, markdown = check_targets(out)
    lead = f"{counted(found)} {_mode(found, quick)}"
    for document, path in ((Web(TITLE, lead), page), (Markdown(TITLE, lead), markdown)):
        compose(document, found, left, quick)
        document.write(path)
    return [page, markdown]


def check_targets(out: Path) -> tuple[Path, Path]:
    """The paths of the page and the Markdown; refuses to overwrite anything that is not a report."""
    page, markdown, pictures = out / "index.html", out / "reproduction.md", out / PICTURES
    check_target(page)
    with usable(markdown):
        if markdown.exists() and not (markdown.is_file() and markdown.read_bytes().startswith(f"# {TITLE}".encode())):
            raise CorralError(f"{markdown} exists and is not a report of this command; choose another --out")
    if pictures.exists() and not pictures.is_dir():
        raise CorralError(f"{pictures} exists and is not a folder; choose another --out")
    return page, markdown


def counted(found: Sequence[Reproduced]) -> str:
    """How many claims have which verdict, as a sentence; readings are counted separately."""
    parts = []
    for reading, counts in counts_of(found).items():
        count = sum(counts.values())
        what = f"reading{'s' * (count != 1)}" if reading else f"claim{'s' * (count != 1)} in the paper's words"
        agree, disagree = (
            f"{counts[verdict]} {verdict if counts[verdict] == 1 else verdict[:-1]}" for verdict in VERDICTS[:2]
        )
        left = counts[VERDICTS[2]]
        if count:
            parts.append(f"{count} {what}: {agree}, {disagree}, {left} {'is' if left == 1 else 'are'} undecided")
    return f"{'; '.join(parts)}."


def counts_of(found: Sequence[Reproduced]) -> dict[bool, Counter[str]]:
    """How often each verdict occurs among claims in the paper's words (False) and among readings (True)."""
    judgements = [judgement for each in found for judgement in each.judgements]
    return {
        reading: Counter(judgement.verdict for judgement in judgements if judgement.claim.reading is reading)
        for reading in (False, True)
    }


def to_json(found: Sequence[Reproduced], left: Untried, quick: bool) -> dict[str, Any]:
    """The object that `--json` prints; numbers that are not finite are null."""
    return {
        "quick": quick,
        "counts": {
            "readings" if reading else "words": {verdict: counts[verdict] for verdict in VERDICTS}
            for reading, counts in counts_of(found).items()
        },
        "claims": [
            {
                "experiment": each.planned.experiment.points[0].name,
                "of": judgement.claim.of,
                "says": judgement.claim.says,
                "reading": judgement.claim.reading,
                "verdict": judgement.verdict,
                "findings": [
                    {
                        "what": finding.what,
                        **{key: _finite(getattr(finding.interval, key, None)) for key in EDGES},
                        "wanted": finding.wanted,
                        "holds": finding.holds,
                    }
                    for finding in judgement.findings
                ],
            }
            for each in found
            for judgement in each.judgements
        ],
        "unasked": {name: list(items) for name, items in left.unasked.items()},
        "absent": left.absent,
        "silent": list(left.silent),
    }


def compose(document: Document, found: Sequence[Reproduced], left: Untried, quick: bool) -> None:
    """Write the whole text into a document."""
    with document.section("Claims"):
        document.paragraph(HOW)
        if any(not is_file(each.planned.name) for each in found):
            document.paragraph(CAUTION)
        document.table(
            ["item", "verdict", "claim", "measured"],
            [
                [
                    f"{judgement.claim.of} ({_name(each)})",
                    judgement.verdict,
                    says(judgement.claim),
                    measured(judgement),
                ]
                for each in found
                for judgement in each.judgements
            ],
            "Every claim, with the experiment that tests it and its verdict.",
            numbers=False,
        )
    for each in found:
        with document.section(_name(each)):
            _experiment(document, each, quick)
    with document.section("What was not tested"):
        document.bullets(list(_not_tried(left)))
    with document.section("Versions"):
        told = dict.fromkeys(f"{name} {version}" for each in found for name, version in each.run.versions.items())
        document.paragraph(", ".join(told) + ".")


def says(claim: Claim) -> str:
    """The words of a claim; readings are marked."""
    return f"{claim.says}{' (Reading.)' if claim.reading else ''}"


def measured(judgement: Judgement) -> str:
    """Every number behind a verdict."""
    return "; ".join(map(_finding, judgement.findings))


def _finding(finding: Finding) -> str:
    interval = finding.interval
    if interval is None:
        return finding.what
    between = "" if math.isnan(interval.low) else f" ({reach(interval)})"
    return f"{finding.what}: {known(interval.estimate)}{between}, should be {finding.wanted}"


def _experiment(document: Document, each: Reproduced, quick: bool) -> None:
    point = each.planned.experiment.points[0]
    if point.question:
        document.paragraph(point.question)
    document.bullets(
        [f"{judgement.claim.of}, {judgement.verdict}: {says(judgement.claim)}" for judgement in each.judgements]
    )
    if each.planned.experiment.stated.open:
        document.paragraph("What the paper leaves open, and what is used here:")
        document.bullets(each.planned.experiment.stated.open)
    document.paragraph(f"Played: {size(each.planned.experiment)}.")
    if each.failed is not None:
        curves = ", ".join(dict.fromkeys(lost.task.curve for lost in each.failed.lost))
        document.paragraph(f"These curves failed and are left out: {curves}.")
    document.definitions(_settings(each))
    _table(document, each)
    _pictures(document, each)
    document.code(f"{each.planned.command} {'--quick' if quick else '--full'}")


def _settings(each: Reproduced) -> list[tuple[str, list[str]]]:
    """How it was played, and the meaning of the presets in names of curves."""
    said = dict(settings_in_words(each.run.points))
    lines = [curve.name for point in each.run.points for curve in point.curves]
    named = [
        f"{preset} ({words}), for curves marked ({preset})"
        for preset, words in PRESETS.items()
        if any(name.endswith(f" ({preset})") for name in lines)
    ]
    return [(term, [*said[term], *(named if term == "preset" else [])]) for term in SETTINGS if term in said]


def _table(document: Document, each: Reproduced) -> None:
    names = dict.fromkeys(result.curve.name for result in each.results)
    by_place = {(result.curve.name, result.point.at): result for result in each.results}
    points = [point.at for point in each.run.points]
    header = ["curve", *(swept(point)[1] or "mean regret" for point in each.run.points)]
    parameter = swept(each.run.points[0])[0]
    over = f", over {parameter}" if parameter else ""
    document.table(
        header,
        [[name, *(_mean(by_place.get((name, at))) for at in points)] for name in names],
        f"Mean regret ± half the width of its 95% interval{over}.",
        numbers=True,
    )


def _pictures(document: Document, each: Reproduced) -> None:
    name = each.planned.folder
    results = list(each.results)
    if results and figures.sweeps_horizon(each.run.points) and all(result.regret is not None for result in results):
        document.picture(
            name,
            lambda size: figures.rates_figure(results, size=size),
            f"{_name(each)}: final mean regret against the horizon, both axes logarithmic.",
        )
        return
    for number_, point in enumerate(each.run.points, 1):
        mine = [result for result in results if result.point.at == point.at]
        if not mine:
            continue
        document.picture(
            f"{name}-{number_}" if len(each.run.points) > 1 else name,
            partial(_regret, mine, each.planned.experiment.stated.band),
            f"{_name(each)}{', ' + point.at if point.at else ''}: mean regret against plays.",
        )


def _regret(results: Sequence[Result], band: float, size: Size) -> Figure:
    return figures.regret_figure(results, band="deviation", scale=band, size=size)


def _not_tried(left: Untried) -> list[str]:
    by_plugin: dict[str, list[str]] = {}
    for name, plugin in left.absent.items():
        by_plugin.setdefault(plugin, []).append(name)
    said = [f"Not requested: {', '.join(left.unasked)}."] if left.unasked else []
    said += [f"{_with_items(names)}: {plugin} is not installed." for plugin, names in by_plugin.items()]
    if left.silent:
        said.append(f"{', '.join(left.silent)}: installed, but without claims.")
    return [*said, NOWHERE]


def _with_items(names: Sequence[str]) -> str:
    items = dict.fromkeys(ITEMS[name] for name in names if name in ITEMS)
    return f"{', '.join(names)}{' (' * bool(items)}{'; '.join(items)}{')' * bool(items)}"


def _mode(found: Sequence[Reproduced], quick: bool) -> str:
    if quick and not any(each.planned.experiment.stated.quick for each in found):
        return "There is no quick version, so this is the full one."
    if quick:
        return "This is the quick version, with fewer replicates and shorter sweeps than --full."
    if any(is_file(each.planned.name) for each in found):
        return "This is the full version, with the experiments as they are written."
    return "This is the full version, with the paper's number of replicates if it states one."


def _name(each: Reproduced) -> str:
    return each.planned.experiment.points[0].name


def _mean(result: Result | None) -> str:
    """The mean regret with its error; a dash if regret is unknown."""
    return ABSENT if result is None or result.regret is None else with_error(result)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
