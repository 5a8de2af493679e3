"""Curves side by side: means, differences to a reference, and whether chance could explain them.

Two curves are *paired* if replicate i of both had the same problem and the same randomness: in one run and point, or in
two runs with the same environment, seed, chunk size, replicates and horizon. (Random numbers are drawn chunk by chunk,
so the chunk size matters.) Their difference is then computed replicate by replicate, which is much more precise;
otherwise the two are treated as independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from corral_core.analysis.statistics import (
    Interval,
    Significance,
    bootstrap_difference,
    chance,
    difference,
    holm,
    mean_interval,
)
from corral_core.errors import CorralError
from corral_core.parsing import shown
from corral_core.rows import Array
from corral_core.runs.description import PointDescription
from corral_core.runs.results import Result
from corral_core.runs.run import Run
from corral_core.suggestions import suggestion
from corral_core.terminal import counted

LEAST_SAMPLES = 10_000


@attrs.frozen(eq=False)
class ComparedCurve:
    """A curve to compare, with the final value of each of its replicates."""

    label: str  # the curve's name; RUN:CURVE if there are several runs
    run: str
    result: Result
    replicates: Array  # their numbers, ascending
    final: Array

    def keep(self, common: Array) -> ComparedCurve:
        """The same curve with only these replicates."""
        kept = np.isin(self.replicates, common)
        return attrs.evolve(self, replicates=self.replicates[kept], final=self.final[kept])


@attrs.frozen(eq=False)
class ComparisonRow:
    """One curve in the table."""

    entry: ComparedCurve
    mean: Interval
    difference: Interval | None = None  # to the reference; None for the reference itself
    ratio: float | None = None  # of the means; None if the reference's mean is not above zero
    paired: bool = False
    p_value: float = float("nan")  # adjusted for all comparisons

    @property
    def verdict(self) -> Significance | None:
        """Whether the difference is larger than chance explains; None for the reference."""
        return None if self.difference is None else chance(self.difference, self.p_value)


@attrs.frozen(eq=False)
class ComparisonTable:
    """The curves of one point, the best first."""

    at: str
    horizon: int
    regret: bool  # whether regret is compared (less is better), or reward (more is better)
    reference: str
    chosen: bool  # whether the reference was chosen because of its mean
    rows: list[ComparisonRow]
    notes: list[str]  # what is missing, one sentence each

    @property
    def comparisons(self) -> int:
        """Number of comparisons that could have been made: every pair, if the data chose the reference."""
        count = len(self.rows)
        return count * (count - 1) // 2 if self.chosen else count - 1


def compare(
    paths: Sequence[Path],
    *,
    curves: Sequence[str] = (),
    against: str | None = None,
    at: str | None = None,
    level: float = 0.95,
    bootstrap: bool = False,
) -> list[ComparisonTable]:
    """One table per swept point, or only the one that `at` names. P-values are adjusted over all tables."""
    runs = _opened(paths)
    points = _points(runs, at)
    played = [entry for name, run in runs.items() for entry in _entries(name, run, len(runs) > 1)]
    tables = []
    for point in points:
        there = [entry for entry in played if entry.result.point.at in (point, "")]
        entries, notes = _common(_selected(there, curves))
        notes += _not_begun(runs, point, there, curves)
        tables.append(_means(entries, point, against, level, notes))
    total = sum(table.comparisons for table in tables)
    compared = [_differences(table, level, bootstrap, total) for table in tables]
    rows = [row for table in compared for row in table.rows]
    adjusted = iter(holm([row.difference.p_value for row in rows if row.difference is not None], total))
    return [
        attrs.evolve(
            table,
            rows=[row if row.difference is None else attrs.evolve(row, p_value=next(adjusted)) for row in table.rows],
        )
        for table in compared
    ]


def paired(one: PointDescription, two: PointDescription) -> bool:
    """Whether replicate i of both had the same problem and the same randomness."""
    return one is two or _luck(one) == _luck(two)


def _luck(point: PointDescription) -> tuple[Any, ...]:
    return point.source["environment"], point.seed, point.chunk_size, point.replicates, point.horizon


def _opened(paths: Sequence[Path]) -> dict[str, Run]:
    """The runs by name: that of the folder, or the whole path if two folders have the same name."""
    if len({path.resolve() for path in paths}) < len(paths):
        raise CorralError("a run is given twice; give it once to compare its own curves")
    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    return {name: Run.open(path) for name, path in zip(names, paths, strict=True)}


def _points(runs: dict[str, Run], at: str | None) -> list[str]:
    """The points that all runs have. A run that sweeps nothing is compared with every point of the others."""
    swept = [[point.at for point in run.points] for run in runs.values() if len(run.points) > 1]
    if not swept:
        swept = [[point.at for point in run.points if point.at] for run in runs.values()]
        swept = [each for each in swept if each] or [[""]]
    common = [point for point in swept[0] if all(point in other for other in swept)]
    if not common:
        raise CorralError("the runs have no point in common; compare runs that sweep the same values")
    if at is None:
        return common
    if not (found := [point for point in common if point == at or point.endswith(f"= {at}")]):
        told = suggestion(at, common) if common != [""] else "; nothing was swept, so leave out --at"
        raise CorralError(f"there is no point {shown(at)}{told}")
    return found


def _entries(name: str, run: Run, several: bool) -> list[ComparedCurve]:
    """The curves of a run, with the replicates played so far."""
    chunks: dict[tuple[int, str], list[Array]] = {}
    for task in run.finished():
        begin = task.chunk_number * run.points[task.point].chunk_size
        chunks.setdefault((task.point, task.curve), []).append(np.arange(begin, begin + task.rows))
    return [
        ComparedCurve(
            label=f"{name}:{result.curve.name}" if several else result.curve.name,
            run=name,
            result=result,
            replicates=np.concatenate(chunks[run.points.index(result.point), result.curve.name]),
            final=result.final,
        )
        for result in run.results()
    ]


def _selected(entries: list[ComparedCurve], curves: Sequence[str]) -> list[ComparedCurve]:
    """The curves that are named, as CURVE or RUN:CURVE; all if none is named."""
    for name in curves:
        _named(entries, name)
    kept = [each for each in entries if not curves or each.label in curves or each.result.curve.name in curves]
    if len(kept) < 2:
        raise CorralError("there are fewer than two curves to compare; name more curves, or another run")
    if len({each.result.point.horizon for each in kept}) > 1:
        told = {each.run: each.result.point.horizon for each in kept}
        plays = " and ".join(f"{run} {horizon:,}" for run, horizon in told.items())
        raise CorralError(f"the runs have different numbers of plays ({plays}); run them with the same --horizon")
    if len({each.result.regret is None for each in kept}) > 1:
        raise CorralError("only some of the runs report regret; compare runs of the same environment")
    return kept


def _named(entries: list[ComparedCurve], name: str) -> list[ComparedCurve]:
    """The curves with this name, at least one."""
    if found := [each for each in entries if name in (each.label, each.result.curve.name)]:
        return found
    raise CorralError(f"there is no curve {shown(name)}{suggestion(name, [each.label for each in entries])}")


def _common(entries: list[ComparedCurve]) -> tuple[list[ComparedCurve], list[str]]:
    """Paired curves with the replicates that all of them have, and notes about what is left out."""
    kept, notes = [], []
    for entry in entries:
        partners = [other for other in entries if paired(entry.result.point, other.result.point)]
        common = partners[0].replicates
        for other in partners:
            common = np.intersect1d(common, other.replicates)
        wanted = entry.result.point.replicates
        if not len(common):
            raise CorralError(
                f"{entry.label} shares no replicates with the others yet; finish the run, or choose curves with --curve"
            )
        if len(common) < wanted:
            whose = f"{entry.run}: " if entry.label != entry.result.curve.name else ""
            notes.append(
                f"{whose}the run is incomplete; only the {len(common)} of its {wanted} replicates that every "
                f"curve here has are compared."
            )
        kept.append(entry.keep(common))
    return kept, list(dict.fromkeys(notes))


def _not_begun(runs: dict[str, Run], point: str, there: list[ComparedCurve], curves: Sequence[str]) -> list[str]:
    begun = {(entry.run, entry.result.curve.name) for entry in there}
    missing = [
        curve.name
        for name, run in runs.items()
        for described in run.points
        if described.at in (point, "")
        for curve in described.curves
        if (name, curve.name) not in begun and not curves
    ]
    damaged = [(name, len(run.damaged())) for name, run in runs.items()]
    notes = [f"{name}: {counted(count, 'damaged chunk')} left out." for name, count in damaged if count]
    return notes + ([f"Not yet played: {', '.join(missing)}."] if missing else [])


def _means(
    entries: list[ComparedCurve], point: str, against: str | None, level: float, notes: list[str]
) -> ComparisonTable:
    """The table of means, still without differences."""
    regret = entries[0].result.regret is not None
    rows = [ComparisonRow(entry, mean_interval(entry.final, level)) for entry in entries]
    rows.sort(key=lambda row: row.mean.estimate if regret else -row.mean.estimate)
    one_each = len(entries) == 2 and entries[0].run != entries[1].run
    if against is not None:
        found = _named(entries, against)
        if len(found) > 1:
            raise CorralError(f"--against {against} could be {' or '.join(each.label for each in found)}; name one")
        reference = found[0].label
    else:
        reference = entries[0].label if one_each else rows[0].entry.label
    return ComparisonTable(
        at=point,
        horizon=entries[0].result.point.horizon,
        regret=regret,
        reference=reference,
        chosen=against is None and not one_each,
        rows=rows,
        notes=notes,
    )


def _differences(table: ComparisonTable, level: float, bootstrap: bool, comparisons: int) -> ComparisonTable:
    """The table with the difference of every curve to the reference."""
    (reference,) = (row for row in table.rows if row.entry.label == table.reference)
    rows = []
    for row in table.rows:
        if row is not reference:
            together = paired(row.entry.result.point, reference.entry.result.point)
            two = row.entry.final, reference.entry.final
            if bootstrap:
                # Enough for the smallest p-value to be significant among this many comparisons.
                samples = max(LEAST_SAMPLES, round(10 * comparisons / (1 - level)))
                gap = bootstrap_difference(*two, paired=together, level=level, samples=samples)
            else:
                gap = difference(*two, paired=together, level=level)
            base = reference.mean.estimate
            ratio = row.mean.estimate / base if base > 0 else None
            row = attrs.evolve(row, difference=gap, ratio=ratio, paired=together)
        rows.append(row)
    return attrs.evolve(table, rows=rows)
