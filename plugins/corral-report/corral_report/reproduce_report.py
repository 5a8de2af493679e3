"""What a reproduction came to, as a page and as Markdown: claims and verdicts first, then every experiment."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corral_core.claims import Claim, Finding, Judgement
from corral_core.cli.text import number
from corral_core.errors import CorralError
from corral_core.results import Result
from corral_core.statistics import mean_interval
from corral_report import figures
from corral_report.reproduce import Reproduced, Untried, size
from corral_report.reproduce_documents import Document, Markdown, Web
from corral_report.words import swept

TITLE = "What the paper says, and what was measured"
VERDICTS = ("agrees", "disagrees", "cannot be told")
HOW = (
    "Each number has a 95% interval over replicates, paired where two curves are compared, and each interval stands "
    "for itself. A claim agrees if the whole interval does, disagrees if all of it does, and cannot be told otherwise. "
    "Orders hide logarithms: an exponent, the slope of ln(mean regret) on ln(T) over runs that are tuned to each T, "
    "may exceed what is stated by one of them, 1/ln(T) at the geometric mean of the horizons. "
    "Where an exponent disagrees, the order is not seen at these horizons; no finite run refutes a theorem on orders. "
    "What is marked as a reading is not in the words of the paper."
)
CAUTION = (
    "The claims of Corral's own experiments were not written blindly. Limits are the paper's orders and numbers, but "
    "settings that it leaves open were chosen with trial runs at hand, and readings were written when earlier "
    "measurements of the same experiments were known. A reading that agrees is therefore weak evidence."
)


def write(found: Sequence[Reproduced], left: Untried, out: Path, *, quick: bool) -> list[Path]:
    """`index.html` and `reproduction.md` with its pictures, in this folder."""
    page, markdown = out / "index.html", out / "reproduction.md"
    lead = f"{counted(found)} {_mode(quick)}"
    for document, path in ((Web(TITLE, lead), page), (Markdown(TITLE, lead), markdown)):
        compose(document, found, left, quick)
        document.write(path)
    return [page, markdown]


def counted(found: Sequence[Reproduced]) -> str:
    """How many claims came out how, in a sentence."""
    counts = Counter(judgement.verdict for each in found for judgement in each.judgements)
    said = [f"{counts[verdict]} {'agree' if verdict == 'agrees' else verdict}" for verdict in VERDICTS]
    said[1] = f"{counts['disagrees']} disagree"
    return f"Of {sum(counts.values())} claims {said[0]}, {said[1]}, and {said[2]}."


def to_json(found: Sequence[Reproduced], left: Untried, quick: bool) -> dict[str, Any]:
    """For `--json`; what is not a number is null."""
    return {
        "quick": quick,
        "claims": [
            {
                "experiment": each.planned.points[0].name,
                "of": judgement.claim.of,
                "says": judgement.claim.says,
                "reading": judgement.claim.reading,
                "verdict": judgement.verdict,
                "findings": [
                    {
                        "what": finding.what,
                        **{key: _finite(getattr(finding.interval, key)) for key in ("estimate", "low", "high")},
                        "wanted": finding.wanted,
                        "holds": finding.holds,
                    }
                    for finding in judgement.findings
                ],
            }
            for each in found
            for judgement in each.judgements
        ],
        "absent": left.absent,
        "silent": list(left.silent),
    }


def compose(document: Document, found: Sequence[Reproduced], left: Untried, quick: bool) -> None:
    """The whole text."""
    with document.section("Claims"):
        document.paragraph(HOW)
        document.paragraph(CAUTION)
        document.table(
            ["item", "verdict", "what it says", "what was measured"],
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
            "Every claim, with the experiment that tries it, and its verdict.",
            numbers=False,
        )
    with document.section("What was not tried"):
        document.bullets(list(_not_tried(left)))
    for each in found:
        with document.section(_name(each)):
            _experiment(document, each, quick)
    with document.section("Versions"):
        told = dict.fromkeys(f"{name} {version}" for each in found for name, version in each.run.versions.items())
        document.paragraph(", ".join(told) + ".")


def says(claim: Claim) -> str:
    """What is claimed, and whose words they are."""
    return f"{claim.says}{' (Reading.)' if claim.reading else ''}"


def measured(judgement: Judgement) -> str:
    """Every number behind a verdict."""
    return "; ".join(map(_finding, judgement.findings))


def _finding(finding: Finding) -> str:
    interval = finding.interval
    between = "" if math.isnan(interval.low) else f" ({_number(interval.low)} to {_number(interval.high)})"
    return f"{finding.what}: {_number(interval.estimate)}{between}, to be {finding.wanted}"


def _experiment(document: Document, each: Reproduced, quick: bool) -> None:
    point = each.planned.points[0]
    if point.question:
        document.paragraph(point.question)
    document.bullets(
        [f"{judgement.claim.of}, {judgement.verdict}: {says(judgement.claim)}" for judgement in each.judgements]
    )
    if each.planned.stated.open:
        document.paragraph("The paper leaves open, and here was taken:")
        document.bullets(each.planned.stated.open)
    document.paragraph(f"Played: {size(each.planned.points)}.")
    if rates := _rates(each):
        document.bullets(rates)
    _table(document, each)
    _pictures(document, each)
    document.code(f"{each.planned.command} {'--quick' if quick else '--full'}")


def _rates(each: Reproduced) -> list[str]:
    """The rates that metas took, once where they are the same at every point."""
    found: dict[str, list[str]] = {}
    for setting in each.run.settings:
        for line in setting.lines:
            for sentence in line.choices:
                found.setdefault(f"{line.name}: {sentence}", []).append(setting.at)
    whole = len(each.run.settings)
    return [text if len(at) == whole else f"{text} at {', '.join(at)}" for text, at in found.items()]


def _table(document: Document, each: Reproduced) -> None:
    names = dict.fromkeys(result.line.name for result in each.results)
    by_place = {(result.line.name, result.setting.at): result for result in each.results}
    points = [setting.at for setting in each.run.settings]
    header = ["curve", *(swept(setting)[1] or "mean regret" for setting in each.run.settings)]
    parameter = swept(each.run.settings[0])[0]
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
    if figures.sweeps_horizon(each.run.settings):
        document.picture(
            name,
            lambda size: figures.rates_figure(results, size=size),
            f"{_name(each)}: mean regret at the end against the horizon, both logarithmic.",
        )
        return
    for number_, setting in enumerate(each.run.settings, 1):
        mine = [result for result in results if result.setting.at == setting.at]
        document.picture(
            f"{name}-{number_}" if len(each.run.settings) > 1 else name,
            lambda size, mine=mine: figures.regret_figure(mine, band="deviation", size=size),  # type: ignore[misc]
            f"{_name(each)}{', ' + setting.at if setting.at else ''}: mean regret against plays.",
        )


def _not_tried(left: Untried) -> list[str]:
    by_plugin: dict[str, list[str]] = {}
    for name, plugin in left.absent.items():
        by_plugin.setdefault(plugin, []).append(name)
    said = [f"{', '.join(names)}: {plugin} is not installed." for plugin, names in by_plugin.items()]
    if left.silent:
        said.append(f"{', '.join(left.silent)}: installed, and without claims.")
    return said or ["Everything that is known was tried."]


def _mode(quick: bool) -> str:
    if quick:
        return "This is the quick version, with fewer replicates and shorter sweeps than --full."
    return "This is the full version, with the paper's replicates where it states them."


def _name(each: Reproduced) -> str:
    return each.planned.points[0].name


def _mean(result: Result | None) -> str:
    if result is None:
        return "–"
    if result.regret is None:
        raise CorralError(f"nobody knows the regret of {result.line.name}, and claims are about regret")
    interval = mean_interval(result.final)
    half = (interval.high - interval.low) / 2
    return _number(interval.estimate) + ("" if math.isnan(half) else f" ± {_number(half)}")


def _number(value: float) -> str:
    return number(value).replace("-", "−")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
