"""Curves side by side: means, differences to a reference, and what chance could explain.

Two curves are *paired* where replicate i of both met the same problem and the same luck: in one run and point, or in
two runs with the same environment, seed, chunk, replicates and horizon. (Randomness is drawn a chunk at a time, so the
chunk counts.) Their difference is then taken replicate by replicate, which is far surer; otherwise the two are taken
for independent.
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
from corral_core.rows import Array
from corral_core.runs.description import PointDescription
from corral_core.runs.results import Result
from corral_core.runs.run import Run
from corral_core.suggestions import suggestion
from corral_core.terminal import counted

LEAST_SAMPLES = 10_000


@attrs.frozen(eq=False)
class ComparedCurve:
    """A curve to be compared, with what its replicates came to."""

    label: str  # the curve's name, after its run's where there are several runs
    run: str
    result: Result
    replicates: Array  # their numbers, ascending
    final: Array

    def keep(self, common: Array) -> ComparedCurve:
        """With these replicates alone."""
        kept = np.isin(self.replicates, common)
        return attrs.evolve(self, replicates=self.replicates[kept], final=self.final[kept])


@attrs.frozen(eq=False)
class ComparisonRow:
    """What is said of one curve."""

    entry: ComparedCurve
    mean: Interval
    difference: Interval | None = None  # to the reference; None of the reference itself
    ratio: float | None = None  # of the means; None where the reference's is not above zero
    paired: bool = False
    p_value: float = float("nan")  # adjusted for all comparisons

    @property
    def verdict(self) -> Significance | None:
        """Whether the difference is larger than chance explains; None of the reference."""
        return None if self.difference is None else chance(self.difference, self.p_value)


@attrs.frozen(eq=False)
class ComparisonTable:
    """The curves of one point, the best first."""

    at: str
    horizon: int
    regret: bool  # whether regret is compared (less is better), or reward (more is better)
    reference: str
    chosen: bool  # whether the reference was chosen for its mean
    rows: list[ComparisonRow]
    notes: list[str]  # what is missing, a sentence each

    @property
    def comparisons(self) -> int:
        """How many the data could have led to: every pair, where the reference was chosen by them."""
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
    """A table for every swept point, or for the one that `at` picks. P-values are adjusted over all of them."""
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
    """Whether replicate i of both met the same problem and the same luck."""
    return one is two or _luck(one) == _luck(two)


def _luck(point: PointDescription) -> tuple[Any, ...]:
    return point.source["environment"], point.seed, point.chunk_size, point.replicates, point.horizon


def _opened(paths: Sequence[Path]) -> dict[str, Run]:
    """By names: those of the folders, or the whole paths where folders are called alike."""
    if len({path.resolve() for path in paths}) < len(paths):
        raise CorralError("a run is named twice; its curves stand side by side when it is named once")
    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    return {name: Run.open(path) for name, path in zip(names, paths, strict=True)}


def _points(runs: dict[str, Run], at: str | None) -> list[str]:
    """The points that all runs have; one that sweeps nothing stands beside every point of the others."""
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
        told = suggestion(at, common) if common != [""] else "; nothing was swept, so leave --at out"
        raise CorralError(f"there is no point {at!r}{told}")
    return found


def _entries(name: str, run: Run, several: bool) -> list[ComparedCurve]:
    """The curves of a run, as far as they were played."""
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
    """Those that are named, by curve or by run and curve; all, where none is."""
    for name in curves:
        _named(entries, name)
    kept = [each for each in entries if not curves or each.label in curves or each.result.curve.name in curves]
    if len(kept) < 2:
        raise CorralError("there are fewer than two curves to compare; name more curves, or another run")
    if len({each.result.point.horizon for each in kept}) > 1:
        told = {each.run: each.result.point.horizon for each in kept}
        plays = " and ".join(f"{run} {horizon:,}" for run, horizon in told.items())
        raise CorralError(f"runs compare at the same number of plays, and {plays} were played; set --horizon alike")
    if len({each.result.regret is None for each in kept}) > 1:
        raise CorralError("the regret is known in some of the runs alone; compare runs of one environment")
    return kept


def _named(entries: list[ComparedCurve], name: str) -> list[ComparedCurve]:
    """What goes by this name, at least one."""
    if found := [each for each in entries if name in (each.label, each.result.curve.name)]:
        return found
    raise CorralError(f"there is no curve {name!r}{suggestion(name, [each.label for each in entries])}")


def _common(entries: list[ComparedCurve]) -> tuple[list[ComparedCurve], list[str]]:
    """Paired curves with the replicates that all of them have, and what that leaves out."""
    kept, notes = [], []
    for entry in entries:
        partners = [other for other in entries if paired(entry.result.point, other.result.point)]
        common = partners[0].replicates
        for other in partners:
            common = np.intersect1d(common, other.replicates)
        wanted = entry.result.point.replicates
        if not len(common):
            raise CorralError(
                f"{entry.label} has no replicate in common with the others yet; finish the run, or choose with --curve"
            )
        if len(common) < wanted:
            whose = f"{entry.run}: " if entry.label != entry.result.curve.name else ""
            notes.append(
                f"{whose}the run is incomplete; of its {wanted} replicates, the {len(common)} that every "
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
    return notes + ([f"Nothing is there yet of {', '.join(missing)}."] if missing else [])


def _means(
    entries: list[ComparedCurve], point: str, against: str | None, level: float, notes: list[str]
) -> ComparisonTable:
    """The table without differences."""
    regret = entries[0].result.regret is not None
    rows = [ComparisonRow(entry, mean_interval(entry.final, level)) for entry in entries]
    rows.sort(key=lambda row: row.mean.estimate if regret else -row.mean.estimate)
    one_each = len(entries) == 2 and entries[0].run != entries[1].run
    if against is not None:
        found = _named(entries, against)
        if len(found) > 1:
            raise CorralError(f"--against {against} could be {' or '.join(each.label for each in found)}; say which")
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
    """With the difference of every curve to the reference."""
    (reference,) = (row for row in table.rows if row.entry.label == table.reference)
    rows = []
    for row in table.rows:
        if row is not reference:
            together = paired(row.entry.result.point, reference.entry.result.point)
            two = row.entry.final, reference.entry.final
            if bootstrap:
                # Enough of them that the smallest p-value is small enough for so many comparisons.
                samples = max(LEAST_SAMPLES, round(10 * comparisons / (1 - level)))
                gap = bootstrap_difference(*two, paired=together, level=level, samples=samples)
            else:
                gap = difference(*two, paired=together, level=level)
            base = reference.mean.estimate
            ratio = row.mean.estimate / base if base > 0 else None
            row = attrs.evolve(row, difference=gap, ratio=ratio, paired=together)
        rows.append(row)
    return attrs.evolve(table, rows=rows)
