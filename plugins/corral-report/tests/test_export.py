"""`corral export`: both formats hold the records to the last bit, whole or not at all."""

import csv
import errno
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corral_report import export as module
from corral_report.export import FORMATS, TABLES, export

from corral_core import CorralError, Experiment, Run, cli
from corral_core.analysis.statistics import mean_interval
from corral_core.experiments.point import parse_point
from corral_core.runs import runner
from corral_core.simulation.record import Record

SOURCE = {
    "name": 'odd, "quoted"\nname',
    "horizon": 9,
    "replicates": 5,
    "chunk_size": 2,
    "environment": {"name": "bernoulli-arms", "means": [0.9, 0.3]},
    "meta": {"name": "corral"},
    "bases": [{"name": "ucb"}, {"name": "epsilon-greedy", "grid": {"c": [1, 100]}}],
    "compare": {"alone": "none", "bases": [{"name": "ucb"}]},
}
SWEPT = ({"at": "horizon = 5", "horizon": 5}, {"at": "horizon = 9", "horizon": 9})


@pytest.fixture
def run(tmp_path: Path) -> Run:
    runner.run_experiment(
        Experiment([parse_point({**SOURCE, **point}) for point in SWEPT]), engine="serial", out=tmp_path / "run"
    )
    return Run.open(tmp_path / "run")


def read_csv(path: Path) -> list[dict[str, Any]]:
    """With the types of the table; what is empty is None."""
    made: dict[str, Callable[[str], Any]] = {
        "string": str,
        "int64": int,
        "float64": float,
        "float32": float,
        "bool": {"True": True, "False": False}.__getitem__,
    }
    kinds = TABLES[path.stem]
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(list(row) == list(kinds) for row in rows)
    return [
        {name: made[kinds[name]](text) if text or name == "at" else None for name, text in row.items()} for row in rows
    ]


def read_parquet(path: Path) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(path)
    assert [(field.name, str(field.type)) for field in table.schema] == [
        (name, {"float64": "double", "float32": "float"}.get(kind, kind)) for name, kind in TABLES[path.stem].items()
    ]
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


READ = {"csv": read_csv, "parquet": read_parquet}


def expected(run: Run) -> dict[str, list[dict[str, Any]]]:
    """The tables, value by value."""
    tables: dict[str, list[dict[str, Any]]] = {"curves": [], "bases": [], "summary": [], "recorded": []}
    for result in run.results():
        point, curve = result.point, result.curve
        where = {"experiment": point.name, "at": point.at, "curve": curve.name, "meta": curve.meta}
        number_of_point = run.points.index(point)
        for done in run.done([task for task in run.tasks if (task.point, task.curve) == (number_of_point, curve.name)]):
            record = done.record
            for row in range(done.task.rows):
                for time, plays in enumerate(result.plays.tolist()):
                    when = {**where, "replicate": done.task.chunk_number * 2 + row, "plays": plays}
                    regret = None if record.regret is None else float(record.regret[row, time])
                    tables["curves"].append({**when, "reward": float(record.reward[row, time]), "regret": regret})
                    for place, quantity in enumerate(curve.records):
                        for number, base in enumerate(curve.bases):
                            value = float(record.recorded[row, time, place, number])
                            tables["recorded"].append({**when, "quantity": quantity, "base": base, "value": value})
                    before = result.plays.tolist()[time - 1] if time else 0
                    for number, base in enumerate(curve.bases):
                        since = int(record.plays[row, time, number] - (time and record.plays[row, time - 1, number]))
                        tables["bases"].append(
                            {
                                **when,
                                "base": base,
                                "probability": float(record.probabilities[row, time, number]),
                                "share_of_plays": since / (plays - before),
                                "plays_of_base": int(record.plays[row, time, number]),
                                "restarts": int(record.restarts[row, time, number]),
                                "dropped": bool(record.dropped[row, time, number]),
                            }
                        )
        mean = mean_interval(result.final)
        several = result.replicates > 1
        tables["summary"].append(
            {
                **where,
                "replicates": result.replicates,
                "plays": point.horizon,
                "measured": "reward" if result.regret is None else "regret",
                "mean": mean.estimate,
                "standard_error": float(result.measured.error[-1]) if several else None,
                "low": mean.low if several else None,
                "high": mean.high if several else None,
            }
        )
    return tables


def assert_right(run: Run, out: Path) -> None:
    for name, rows in expected(run).items():
        assert rows
        for form, read in READ.items():
            assert read(out / f"{name}.{form}") == rows


def test_the_tables_are_the_records(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = export(run, tmp_path / "deep" / "out")
    assert_right(run, tmp_path / "deep" / "out")
    assert {file.path.name for file in written} == {f"{table}.{form}" for table in TABLES for form in FORMATS}
    assert {path.name for path in (tmp_path / "deep" / "out").iterdir()} == {file.path.name for file in written}
    assert {file.path.stem: file.rows for file in written} == {name: len(rows) for name, rows in expected(run).items()}
    monkeypatch.setattr(module, "LINES", 3)
    for file in export(run, tmp_path / "again"):
        assert file.path.read_bytes() == (tmp_path / "deep" / "out" / file.path.name).read_bytes()


def test_a_row_group_a_chunk(run: Run, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    export(run, tmp_path / "out")
    assert parquet.ParquetFile(tmp_path / "out" / "bases.parquet").num_row_groups == len(run.tasks) == 12
    assert parquet.ParquetFile(tmp_path / "out" / "summary.parquet").num_row_groups == 1


def test_of_an_incomplete_run_what_is_there(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = run.path.glob("chunks/0-corral-????????-*0.npz")
    file.unlink()
    for file in run.path.glob("chunks/1-ucb-*.npz"):
        file.unlink()
    with pytest.raises(SystemExit) as stop:
        cli.main(["export", str(run.path)])
    said = capsys.readouterr()
    assert (stop.value.code, said.err) == (0, "")
    begin = f"{run.path} is incomplete: 8 of 12 chunks exist; corral run "
    assert said.out.splitlines()[0].startswith(begin)
    assert_right(run, run.path / "tables")
    rows = read_csv(run.path / "tables" / "curves.csv")
    assert {row["replicate"] for row in rows if (row["at"], row["curve"]) == ("horizon = 5", "corral")} == {2, 3, 4}
    for file in run.path.glob("chunks/*.npz"):
        file.unlink()
    with pytest.raises(CorralError, match="contains no curve yet"):
        export(run, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_one_replicate_and_unknown_regret_leave_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner.run_experiment(Experiment([parse_point({**SOURCE, "replicates": 1})]), engine="serial", out=tmp_path / "run")
    made = Record.__init__
    monkeypatch.setattr(Record, "__init__", lambda self, **fields: made(self, **{**fields, "regret": None}))
    run = Run.open(tmp_path / "run")
    export(run, tmp_path / "out")
    assert_right(run, tmp_path / "out")
    assert {row["regret"] for row in read_csv(tmp_path / "out" / "curves.csv")} == {None}
    assert {row["measured"] for row in read_csv(tmp_path / "out" / "summary.csv")} == {"reward"}


def test_a_replicate_without_a_number_leaves_a_gap_in_the_summary(tmp_path: Path, monkeypatch: Any) -> None:
    runner.run_experiment(Experiment([parse_point(SOURCE)]), engine="serial", out=tmp_path / "run")
    made = Record.__init__

    def spoiled(self: Record, **fields: Any) -> None:
        made(self, **{**fields, "regret": np.where(np.arange(len(fields["regret"]))[:, None], fields["regret"], bad)})

    monkeypatch.setattr(Record, "__init__", spoiled)
    for bad in (np.nan, np.inf):
        with np.errstate(invalid="ignore"):
            export(Run.open(tmp_path / "run"), tmp_path / "out")
        for form, read in READ.items():
            for row in read(tmp_path / "out" / f"summary.{form}"):
                assert [row[name] for name in ("mean", "standard_error", "low", "high")] == [None] * 4
                assert row["replicates"] == 5
        assert str(bad) in {str(row["regret"]) for row in read_csv(tmp_path / "out" / "curves.csv")}


@pytest.mark.parametrize("points", [1, 2, 4, 9, 50])
def test_curves_can_be_thinned(run: Run, tmp_path: Path, points: int) -> None:
    export(run, tmp_path / "out", formats=["csv"], points=points)
    rows = read_csv(tmp_path / "out" / "curves.csv")
    whole = expected(run)["curves"]
    assert all(row in whole for row in rows)
    for horizon in (5, 9):
        plays = sorted({row["plays"] for row in rows if row["at"] == f"horizon = {horizon}"})
        assert len(plays) == min(points, horizon) and plays[-1] == horizon
        assert max(np.diff([0, *plays])) <= -(-horizon // min(points, horizon)), "at even distances"


# --- What goes wrong --------------------------------------------------------------------------------------------------


def test_without_pyarrow(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    for formats in (None, ["csv"]):
        assert {file.path.suffix for file in export(run, tmp_path / "out", formats=formats)} == {".csv"}
    with pytest.raises(CorralError, match=r"pip install 'corral-report\[parquet\]'"):
        export(run, tmp_path / "other", formats=["csv", "parquet"])
    assert not (tmp_path / "other").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("form", FORMATS)
def test_a_full_disk_leaves_the_old_tables(
    run: Run, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    export(run, out, formats=[form])
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    real = Path.open

    def full(self: Path, *arguments: Any, **options: Any) -> Any:
        file = real(self, *arguments, **options)
        if self.name != f".bases.{form}.part":
            return file
        file.close()
        return real(Path("/dev/full"), *arguments, **options)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(CorralError, match=r"out cannot be used: .*No space left on device"):
        export(run, out, formats=[form], points=1)
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before


def test_a_folder_that_cannot_be_made(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CorralError, match="cannot be used: Not a directory"):
        export(run, tmp_path / "file" / "out")
    with pytest.raises(CorralError, match="cannot be used: File exists"):
        export(run, tmp_path / "file")


def test_a_folder_that_may_not_be_written(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)
    monkeypatch.setattr(Run, "finished", lambda self: self.tasks)
    with pytest.raises(CorralError, match="out cannot be used: Permission denied"):
        export(run, tmp_path / "out")


def test_wrong_input_is_one_sentence(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, sentence in (
        ([str(run.path), "--format", "parkett"], "there is no format 'parkett'"),
        ([str(run.path), "--points", "0"], "--points must be at least 1, not 0"),
        ([str(tmp_path / "nowhere")], "does not exist"),
    ):
        with pytest.raises(SystemExit) as stop:
            cli.main(["export", *arguments])
        said = capsys.readouterr()
        assert (stop.value.code, said.out) == (2, "")
        assert sentence in said.err and said.err.count("\n") == 1


def test_for_programs(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["export", str(run.path), "--out", str(tmp_path / "out"), "--format", "csv", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["files"][2] == {"path": str(tmp_path / "out" / "summary.csv"), "rows": 4}
    assert (found["chunks"], found["chunks_of_all"]) == (12, 12)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_text_that_a_spreadsheet_would_run_is_made_harmless(name: str, tmp_path: Path) -> None:
    """In CSV, which spreadsheets open; negative numbers stay numbers, and Parquet has the text as it is."""
    changed = {"name": name, "environment": {"name": "gaussian-arms", "low": -9.0, "high": -1.0, "means": [-2.0, -8.0]}}
    runner.run_experiment(Experiment([parse_point({**SOURCE, **changed})]), engine="serial", out=tmp_path / "run")
    export(Run.open(tmp_path / "run"), tmp_path / "out")
    for table in TABLES:
        assert {row["experiment"] for row in read_csv(tmp_path / "out" / f"{table}.csv")} == {f"'{name}"}
        for row in READ["parquet"](tmp_path / "out" / f"{table}.parquet"):
            assert row["experiment"] == name
    assert any(row["reward"] < 0 for row in read_csv(tmp_path / "out" / "curves.csv"))
