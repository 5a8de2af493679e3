"""A run as tidy tables in CSV or Parquet.

    curves    one row per point, curve, replicate and number of plays: reward and regret up to that play
    bases     one row for each of those and every base: its probability, its share of the plays since the row before,
              its plays and restarts, and whether it is dropped
    recorded  one row for each of those and every quantity that the meta records; missing if nothing is recorded
    summary   one row per point and curve: the mean over replicates, with its standard error and interval

Unknown values are empty, in Parquet null: a regret that the environment does not report, the probabilities of a meta
that does not draw, the meta of a base alone, the error of a single replicate, a mean over replicates that are not all
finite. Values are those of the run to the last bit. Chunks are read one after the other, so memory does not grow with
the number of replicates. In CSV, a text that begins with =, +, -, @, a tab or a carriage return gets an apostrophe in
front, because spreadsheets run such cells.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import attrs
import numpy as np

from corral_core import Array, CorralError, Result, Run
from corral_core.parsing import shown
from corral_core.runs import files
from corral_core.runs.description import CurveDescription, PointDescription
from corral_core.runs.results import Fold
from corral_core.simulation.record import Record, interval_shares
from corral_core.suggestions import suggestion
from corral_report.progress import check_begun
from corral_report.words import interval

FORMATS = ("csv", "parquet")
WHERE = {"experiment": "string", "at": "string", "curve": "string", "meta": "string"}
TABLES = {
    "curves": {**WHERE, "replicate": "int64", "plays": "int64", "reward": "float64", "regret": "float64"},
    "bases": {
        **WHERE,
        "replicate": "int64",
        "plays": "int64",
        "base": "string",
        "probability": "float32",
        "share_of_plays": "float64",
        "plays_of_base": "int64",
        "restarts": "int64",
        "dropped": "bool",
    },
    "summary": {
        **WHERE,
        "replicates": "int64",
        "plays": "int64",
        "measured": "string",
        "mean": "float64",
        "standard_error": "float64",
        "low": "float64",
        "high": "float64",
    },
    "recorded": {
        **WHERE,
        "replicate": "int64",
        "plays": "int64",
        "quantity": "string",
        "base": "string",
        "value": "float64",
    },
}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a formula begins in a spreadsheet
LINES = 2**16  # of a CSV file that are written at a time

Columns = dict[str, Array]


@attrs.frozen
class Written:
    """A table that was written."""

    path: Path
    rows: int


def export(
    run: Run, out: Path, *, formats: Sequence[str] | None = None, points: int | None = None, level: float = 0.95
) -> list[Written]:
    """Write all tables; every file is written completely or not at all.

    `points` thins each curve to so many checkpoints and always keeps the last. The default of `formats` is CSV, and
    Parquet if pyarrow is installed.
    """
    if points is not None and points < 1:
        raise CorralError(f"--points must be at least 1, not {points}")
    wanted = _wanted(formats)
    check_begun(run)
    with files.usable(out), ExitStack() as stack:
        out.mkdir(parents=True, exist_ok=True)
        records = any(curve.records for point in run.points for curve in point.curves)
        made = {
            table: [stack.enter_context(_file(out / f"{table}.{form}", form, TABLES[table])) for form in wanted]
            for table in TABLES
            if records or table != "recorded"
        }
        for table, columns in _all(run, points, level):
            for file in made[table]:
                file.write(columns)
        everything = [file for several in made.values() for file in several]
        for file in everything:  # no file moves to its place before all are written
            file.close()
        return [Written(file.path, file.rows) for file in everything]


def _wanted(formats: Sequence[str] | None) -> list[str]:
    for name in formats or ():
        if name not in FORMATS:
            raise CorralError(f"there is no format {shown(name)}{suggestion(name, FORMATS)}")
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        if "parquet" in (formats or ()):
            raise CorralError(
                "parquet needs pyarrow: pip install 'corral-report[parquet]', or use --format csv alone"
            ) from None
        return ["csv"]
    return list(dict.fromkeys(formats)) if formats else list(FORMATS)


def _all(run: Run, points: int | None, level: float) -> Iterator[tuple[str, Columns]]:
    """The tables of every chunk that exists, and finally the summary of all."""
    summaries = []
    for (number, curve), chunks in groupby(run.done(), key=lambda done: (done.task.point, done.task.curve)):
        point = run.points[number]
        described = point.curve(curve)
        fold = Fold(point, described)
        for done in chunks:
            fold.add(done.record, done.seconds)
            result = fold.result()
            replicates = done.task.chunk_number * point.chunk_size + np.arange(done.task.rows)
            kept = _kept(len(result.plays), points)
            yield "curves", _curves(point, described, replicates, result.plays, kept, done.record)
            yield "bases", _bases(point, described, replicates, result.plays, kept, done.record)
            if described.records:
                yield "recorded", _recorded(point, described, replicates, result.plays, kept, done.record)
        summaries.append(_summary(result, level))
    yield "summary", {name: np.concatenate([each[name] for each in summaries]) for name in TABLES["summary"]}


def _kept(total: int, points: int | None) -> Array:
    """Which checkpoints of a curve to keep: so many, evenly spaced, including the last."""
    count = total if points is None else min(points, total)
    return np.ceil(np.linspace(0, total, count + 1)[1:]).astype(np.int64) - 1


def _where(point: PointDescription, curve: CurveDescription, rows: int) -> Columns:
    return {
        name: np.full(rows, value, dtype=object)
        for name, value in (
            ("experiment", point.name),
            ("at", point.at),
            ("curve", curve.name),
            ("meta", curve.meta),
        )
    }


def _curves(
    point: PointDescription, curve: CurveDescription, replicates: Array, plays: Array, kept: Array, record: Record
) -> Columns:
    rows = len(replicates) * len(kept)
    return {
        **_where(point, curve, rows),
        "replicate": np.repeat(replicates, len(kept)),
        "plays": np.tile(plays[kept], len(replicates)),
        "reward": record.reward[:, kept].ravel(),
        "regret": _cells_or_nothing(record.regret, kept, rows),
    }


def _bases(
    point: PointDescription, curve: CurveDescription, replicates: Array, plays: Array, kept: Array, record: Record
) -> Columns:
    bases = len(curve.bases)
    return {
        **_where(point, curve, len(replicates) * len(kept) * bases),
        "replicate": np.repeat(replicates, len(kept) * bases),
        "plays": np.tile(np.repeat(plays[kept], bases), len(replicates)),
        "base": np.tile(np.array(curve.bases, dtype=object), len(replicates) * len(kept)),
        "probability": _cells_or_nothing(record.probabilities, kept, len(replicates) * len(kept) * bases),
        "share_of_plays": interval_shares(record.plays[:, kept], plays[kept]).ravel(),
        "plays_of_base": record.plays[:, kept].ravel(),
        "restarts": record.restarts[:, kept].ravel(),
        "dropped": record.dropped[:, kept].ravel(),
    }


def _recorded(
    point: PointDescription, curve: CurveDescription, replicates: Array, plays: Array, kept: Array, record: Record
) -> Columns:
    quantities, bases = len(curve.records), len(curve.bases)
    each, rows = quantities * bases, len(replicates) * len(kept) * quantities * bases
    return {
        **_where(point, curve, rows),
        "replicate": np.repeat(replicates, len(kept) * each),
        "plays": np.tile(np.repeat(plays[kept], each), len(replicates)),
        "quantity": np.tile(np.repeat(np.array(curve.records, dtype=object), bases), len(replicates) * len(kept)),
        "base": np.tile(np.array(curve.bases, dtype=object), len(replicates) * len(kept) * quantities),
        "value": _cells_or_nothing(record.recorded, kept, rows),
    }


def _cells_or_nothing(values: Array | None, kept: Array, rows: int) -> Array:
    """The values at these checkpoints, one after the other; as many empty cells if they are unknown."""
    return np.full(rows, None, dtype=object) if values is None else values[:, kept].ravel()


def _summary(result: Result, level: float) -> Columns:
    mean = interval(result, level)
    values = {
        "replicates": result.replicates,
        "plays": int(result.plays[-1]),
        "measured": "reward" if result.regret is None else "regret",
        "mean": mean.estimate,
        "standard_error": mean.estimate if mean.estimate != mean.estimate else float(result.measured.error[-1]),
        "low": mean.low,
        "high": mean.high,
    }
    known = {name: None if value != value else value for name, value in values.items()}
    return {
        **_where(result.point, result.curve, 1),
        **{name: np.full(1, value, dtype=object) for name, value in known.items()},
    }


def _cells(column: Array) -> list[Any]:
    """The cells of a column. Text that a spreadsheet would take for a formula gets an apostrophe in front."""
    return [f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell for cell in column.tolist()]


class _Csv:
    """Lines of text, with numbers as `repr` writes them, so that they are read back unchanged."""

    def __init__(self, path: Path, temporary: Path, kinds: dict[str, str]) -> None:
        self.path, self.rows = path, 0
        self._file = temporary.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(kinds)

    def write(self, columns: Columns) -> None:
        count = len(columns["experiment"])
        for begin in range(0, count, LINES):
            self._writer.writerows(
                zip(*(_cells(each[begin : begin + LINES]) for each in columns.values()), strict=True)
            )
        self.rows += count

    def close(self) -> None:
        self._file.close()


class _Parquet:
    """One row group per chunk."""

    def __init__(self, path: Path, temporary: Path, kinds: dict[str, str]) -> None:
        self.path, self.rows = path, 0
        self._arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
        self._schema = self._arrow.schema([(name, self._arrow.type_for_alias(kind)) for name, kind in kinds.items()])
        self._file: IO[bytes] = temporary.open("wb")
        self._writer: Any = parquet.ParquetWriter(self._file, self._schema)

    def write(self, columns: Columns) -> None:
        arrays = [self._arrow.array(columns[field.name], type=field.type, from_pandas=False) for field in self._schema]
        table = self._arrow.Table.from_arrays(arrays, schema=self._schema)
        self._writer.write_table(table, row_group_size=max(1, len(table)))
        self.rows += len(table)

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._file.close()


@contextmanager
def _file(path: Path, form: str, kinds: dict[str, str]) -> Iterator[_Csv | _Parquet]:
    with files.whole(path) as temporary:
        file = _Csv(path, temporary, kinds) if form == "csv" else _Parquet(path, temporary, kinds)
        try:
            yield file
        finally:
            file.close()
