"""`corral compare`: curves of one or several runs, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from corral_core.analysis.comparison import ComparisonRow, ComparisonTable
    from corral_core.analysis.statistics import Interval


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)


def compare(
    run: Annotated[list[Path], typer.Argument(help="Folders that `corral run --out` wrote.")],
    curve: Annotated[
        list[str] | None, typer.Option(help="Compare only this curve, as CURVE or RUN:CURVE (repeatable).")
    ] = None,
    against: Annotated[str | None, typer.Option(help="Curve to compare the others with (default: the best).")] = None,
    at: Annotated[str | None, typer.Option(help="Compare only at this point of a sweep, such as 1000.")] = None,
    level: Annotated[float, typer.Option(help="Confidence level of each interval.")] = 0.95,
    bootstrap: Annotated[bool, typer.Option("--bootstrap", help="Use bootstrap intervals of differences.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show which curves differ by more than chance explains.

    Curves that were played on the same problems are compared replicate by replicate.
    """
    from corral_core.analysis.comparison import compare as compared

    tables = compared(run, curves=curve or (), against=against, at=at, level=level, bootstrap=bootstrap)
    if as_json:
        _print_json(tables, level, bootstrap)
    else:
        for table in tables:
            _print_table(table, level)
        _explain(tables, level, bootstrap)


def _print_table(table: ComparisonTable, level: float) -> None:
    from corral_core.terminal import plays, say, show_table

    counts = sorted({len(row.entry.final) for row in table.rows})
    replicates = " or ".join(f"{count:,}" for count in counts) + f" replicate{'s' * (counts != [1])}"
    say(f"{table.at + ': ' * bool(table.at)}{plays(table.horizon)}, {replicates}, against {table.reference}")
    for note in table.notes:
        say(note)
    rows = []
    for row in table.rows:
        gap = "" if row.difference is None else _written(row.difference, signed=True)
        ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
        rows.append([row.entry.label, _written(row.mean), gap, ratio, verdict(table, row)])
    what, sure = "regret" if table.regret else "reward", f"({level * 100:g}%)"
    show_table(["curve", f"mean {what} {sure}", f"difference {sure}", "ratio", "verdict"], rows, numbers=True)
    print()


def _written(interval: Interval, signed: bool = False) -> str:
    """The estimate and its margin if the interval is symmetric, as t intervals are; otherwise both ends."""
    import math

    from corral_core.terminal import number

    def shown(value: float) -> str:
        return "+" * (signed and value > 0) + number(value)

    if math.isnan(interval.low):
        return shown(interval.estimate)
    below, above = interval.estimate - interval.low, interval.high - interval.estimate
    if math.isclose(below, above, rel_tol=1e-6) and above < math.inf:
        return f"{shown(interval.estimate)} ± {number(above)}"
    return f"{shown(interval.low)} to {shown(interval.high)}"


def verdict(table: ComparisonTable, row: ComparisonRow) -> str:
    """The verdict in a few words, for the table."""
    from corral_core.analysis.statistics import Significance

    better, worse = ("better", "worse") if table.regret else ("worse", "better")
    words = {
        None: "reference",
        Significance.LOWER: better,
        Significance.HIGHER: worse,
        Significance.CHANCE: "may be chance",
        Significance.SAME: "the same",
        Significance.UNKNOWN: "too few",
    }
    return words[row.verdict]


def _explain(tables: list[ComparisonTable], level: float, bootstrap: bool) -> None:
    from corral_core.terminal import say

    differing = [row for table in tables for row in table.rows if row.difference is not None]
    methods = dict.fromkeys(_method(row, bootstrap) for row in differing)
    say(f"Differences: {'; '.join(methods)}.")
    count = sum(table.comparisons for table in tables)
    among = f", allowing for {count} comparisons (Holm)" if count > 1 else ""
    say(f"Better and worse: by more than chance explains, at {level * 100:g}%{among}.")


def _method(row: ComparisonRow, bootstrap: bool) -> str:
    if row.paired:
        return f"replicate by replicate, on the same problems ({'bootstrap' if bootstrap else 'Student'})"
    return f"of independent runs ({'bootstrap' if bootstrap else 'Welch'})"


def _print_json(tables: list[ComparisonTable], level: float, bootstrap: bool) -> None:
    import json

    found = {
        "level": level,
        "method": "bootstrap" if bootstrap else "t",
        "comparisons": sum(table.comparisons for table in tables),
        "tables": [
            {
                "at": table.at,
                "plays": table.horizon,
                "measured": "regret" if table.regret else "reward",
                "against": table.reference,
                "notes": table.notes,
                "curves": [_row_json(table, row) for row in table.rows],
            }
            for table in tables
        ],
    }
    print(json.dumps(found, indent=2, allow_nan=False))


def _row_json(table: ComparisonTable, row: ComparisonRow) -> dict[str, Any]:
    found = {
        "curve": row.entry.label,
        "run": row.entry.run,
        "name": row.entry.result.curve.name,
        "replicates": len(row.entry.final),
        "mean": _numbers(row.mean),
    }
    if row.difference is None or row.verdict is None:
        return found
    return {
        **found,
        "difference": _numbers(row.difference),
        "ratio": row.ratio,
        "paired": row.paired,
        "p_value": _finite(row.difference.p_value),
        "adjusted_p_value": _finite(row.p_value),
        "words": row.verdict.value,
        "verdict": verdict(table, row),
    }


def _numbers(interval: Interval) -> dict[str, float | None]:
    return {"estimate": interval.estimate, "low": _finite(interval.low), "high": _finite(interval.high)}


def _finite(value: float) -> float | None:
    import math

    return value if math.isfinite(value) else None
