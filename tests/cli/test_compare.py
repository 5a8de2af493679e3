"""`corral compare`: one run and several, paired or not, swept, incomplete, and wrong input.

Also tests `analysis/comparison.py`.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corral_core import cli
from corral_core.analysis import comparison
from corral_core.analysis.comparison import compare, paired
from corral_core.analysis.statistics import (
    Interval,
    Significance,
    bootstrap_difference,
    difference,
    holm,
    mean_interval,
)
from corral_core.cli.compare import verdict
from corral_core.errors import CorralError
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.point import parse_point
from corral_core.runs import runner
from corral_core.runs.results import Result
from corral_core.runs.run import Run

SOURCE = {
    "name": "small",
    "horizon": 60,
    "replicates": 7,
    "chunk_size": 3,
    "environment": {"name": "bernoulli-arms", "means": [0.9, 0.1]},
    "meta": {"name": "corral"},
    "bases": [{"name": "ucb"}, {"name": "epsilon-greedy", "grid": {"c": [1, 100]}}],
    "compare": {"metas": [{"name": "uniform"}], "alone": "plain"},
}
NAMES = ["corral", "uniform", "ucb", "epsilon-greedy(c=1)", "epsilon-greedy(c=100)"]


def play(out: Path, *points: dict[str, Any], **changes: Any) -> list[Result]:
    sources = [{**SOURCE, **changes, **point} for point in points or ({},)]
    return runner.run_experiment(Experiment([parse_point(source) for source in sources]), engine="serial", out=out)


def corral(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run the command here; return what it prints."""
    with pytest.raises(SystemExit) as stop:
        cli.main(["compare", *map(str, arguments)])
    said = capsys.readouterr()
    assert (stop.value.code, said.err) == (0, "")
    return said.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as stop:
        cli.main(["compare", *map(str, arguments)])
    said = capsys.readouterr()
    assert (stop.value.code, said.out) == (2, "")
    return said.err


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("played") / "one"
    play(path)
    return path


@pytest.fixture
def out(played: Path, tmp_path: Path) -> Path:
    """A copy of the run, for a test to break."""
    return shutil.copytree(played, tmp_path / "one")


def finals(path: Path) -> dict[str, Any]:
    return {result.curve.name: result.final for result in Run.open(path).results()}


def test_the_curves_of_a_run_are_compared_with_the_best(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, final = json.loads(corral(capsys, out, "--json")), finals(out)
    (table,) = found["tables"]
    means = {row["curve"]: row["mean"] for row in table["curves"]}
    assert list(means) == sorted(NAMES, key=lambda name: final[name].mean())
    assert table["against"] == table["curves"][0]["curve"]
    assert (found["level"], found["comparisons"], table["plays"], table["measured"]) == (0.95, 10, 60, "regret")
    reference = final[table["against"]]
    for row in table["curves"]:
        mean = mean_interval(final[row["curve"]])
        assert row["mean"] == {"estimate": mean.estimate, "low": mean.low, "high": mean.high}
    rows = table["curves"][1:]
    gaps = [difference(final[row["curve"]], reference, paired=True) for row in rows]
    assert [row["difference"]["low"] for row in rows] == [gap.low for gap in gaps]
    assert [row["adjusted_p_value"] for row in rows] == holm([gap.p_value for gap in gaps], 10)
    assert [row["ratio"] for row in rows] == [final[row["curve"]].mean() / reference.mean() for row in rows]
    assert all(row["paired"] for row in rows)


def test_the_reference_and_the_curves_can_be_named(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--curve", "uniform", "--curve", "epsilon-greedy(c=1)", "--against", "uniform"]
    found = json.loads(corral(capsys, out, *chosen, "--level", "0.9", "--json"))
    (table,) = found["tables"]
    assert found["comparisons"] == 1, "a reference that was named before is compared once with each"
    assert {row["curve"] for row in table["curves"]} == {"uniform", "epsilon-greedy(c=1)"}
    (row,) = [row for row in table["curves"] if "difference" in row]
    final = finals(out)
    gap = difference(final["epsilon-greedy(c=1)"], final["uniform"], paired=True, level=0.9)
    assert row["difference"] == {"estimate": gap.estimate, "low": gap.low, "high": gap.high}


def test_the_bootstrap_takes_enough_samples_for_all_comparisons(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten comparisons at 99.9%: the smallest p-value, 2/(samples + 1), must be well below 0.001/10."""
    (table,) = compare([out], bootstrap=True)
    final = finals(out)
    for row in table.rows:
        if row.difference is not None:
            assert row.difference == bootstrap_difference(final[row.entry.label], final[table.reference], paired=True)
    asked = []

    def ask(*two: Any, samples: int, **options: Any) -> Interval:
        asked.append(samples)
        return bootstrap_difference(*two, **options, samples=2000)

    monkeypatch.setattr(comparison, "bootstrap_difference", ask)
    compare([out], bootstrap=True, level=0.999)
    assert asked == [100_000] * 4


def test_for_people(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = corral(capsys, out, "--against", "uniform").splitlines()
    assert lines[0] == "60 plays, 7 replicates, against uniform"
    assert lines[1].split() == ["curve", "mean", "regret", "(95%)", "difference", "(95%)", "ratio", "verdict"]
    rows = {line.split("  ")[0]: line for line in lines[2:7]}
    assert set(rows) == set(NAMES)
    assert "reference" in rows["uniform"] and "better" in rows["ucb"] and "±" in rows["ucb"]
    assert lines[-2] == "Differences: replicate by replicate, on the same problems (Student)."
    assert lines[-1].endswith("at 95%, allowing for 4 comparisons (Holm).")
    bootstrapped = corral(capsys, out, "--against", "uniform", "--bootstrap")
    assert " to " in bootstrapped and "(bootstrap)" in bootstrapped


# --- Several runs -----------------------------------------------------------------------------------------------------


def test_two_runs_of_the_same_problems_are_paired(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = out.with_name("two")
    play(two, preset="practice")
    chosen = ["--curve", "corral", "--json"]
    (table,) = json.loads(corral(capsys, out, two, *chosen))["tables"]
    assert table["against"] == "one:corral", "of one curve of each of two runs, the first"
    (row,) = [row for row in table["curves"] if "difference" in row]
    gap = difference(finals(two)["corral"], finals(out)["corral"], paired=True)
    assert (row["curve"], row["paired"], row["difference"]["low"]) == ("two:corral", True, gap.low)
    (same,) = json.loads(corral(capsys, out, two, "--curve", "ucb", "--json"))["tables"]
    assert [row.get("verdict") for row in same["curves"]] == [None, "the same"], "a base alone has no preset"
    (named,) = json.loads(corral(capsys, out, two, "--curve", "one:ucb", "--curve", "two:uniform", "--json"))["tables"]
    assert {row["curve"] for row in named["curves"]} == {"one:ucb", "two:uniform"}


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 2},
        {"chunk_size": 4},
        {"replicates": 8},
        {"environment": {"name": "bernoulli-arms", "means": [0.9, 0.2]}},
    ],
)
def test_other_problems_are_not_paired(out: Path, changes: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    two = out.with_name("two")
    play(two, **changes)
    arguments = [out, two, "--curve", "ucb"]
    (table,) = json.loads(corral(capsys, *arguments, "--json"))["tables"]
    (row,) = [row for row in table["curves"] if "difference" in row]
    gap = difference(finals(two)["ucb"], finals(out)["ucb"], paired=False)
    assert (row["paired"], row["difference"]["low"]) == (False, gap.low)
    assert "of independent runs (Welch)" in corral(capsys, *arguments)


def test_the_rule_of_pairing_tells_the_truth(out: Path) -> None:
    """A base alone meets the same luck just where the rule says so."""
    changes = ({"preset": "practice"}, {"seed": 2}, {"chunk_size": 4})
    for number, change in enumerate(changes):
        path = out.with_name(f"other-{number}")
        play(path, **change)  # type: ignore[arg-type]
        same = np.array_equal(finals(path)["ucb"], finals(out)["ucb"])
        assert same == paired(Run.open(path).points[0], Run.open(out).points[0]) == (number == 0)


def test_folders_that_are_called_alike_go_by_their_paths(played: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copytree(played, tmp_path / name / "run")
    (table,) = compare([tmp_path / "a" / "run", tmp_path / "b" / "run"], curves=["ucb"])
    assert {row.entry.label for row in table.rows} == {f"{tmp_path / name / 'run'}:ucb" for name in ("a", "b")}


# --- Sweeps -----------------------------------------------------------------------------------------------------------

SWEPT = ({"at": "horizon = 20", "horizon": 20}, {"at": "horizon = 60", "horizon": 60})


def test_a_sweep_has_a_table_a_point(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    swept = out.with_name("swept")
    play(swept, *SWEPT)
    found = json.loads(corral(capsys, swept, "--json"))
    assert [(table["at"], table["plays"]) for table in found["tables"]] == [("horizon = 20", 20), ("horizon = 60", 60)]
    assert found["comparisons"] == 20, "all tables together"
    for at in ("60", "horizon = 60"):
        (table,) = json.loads(corral(capsys, swept, "--at", at, "--json"))["tables"]
        assert table["at"] == "horizon = 60"
    assert corral(capsys, swept, "--at", "60").startswith("horizon = 60: 60 plays, 7 replicates, against ")
    assert "there is no point '70'; it takes horizon = 20, horizon = 60" in refused(capsys, swept, "--at", "70")
    assert "nothing was swept, so leave out --at" in refused(capsys, out, "--at", "60")
    (table,) = compare([out, swept], at="60", curves=["corral"])
    assert [row.verdict for row in table.rows if row.difference] == [Significance.SAME], (
        "one that sweeps nothing stands beside"
    )


# --- What is missing --------------------------------------------------------------------------------------------------


def remove(path: Path, curve: str, *chunks: int) -> None:
    for chunk in chunks:
        (file,) = path.glob(f"chunks/0-{curve}-????????-{chunk:05}.npz")
        file.unlink()


def test_of_an_incomplete_run_the_common_replicates_are_compared(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = finals(out)
    remove(out, "ucb", 0)
    remove(out, "uniform", 0, 1, 2)
    (table,) = compare([out], against="ucb")
    for row in table.rows:
        assert row.entry.final.tolist() == whole[row.entry.label][3:].tolist()
    said = corral(capsys, out, "--against", "ucb")
    assert "the run is incomplete; only the 4 of its 7 replicates that every curve here has are compared." in said
    assert "Not yet played: uniform." in said
    remove(out, "corral", 1, 2)
    assert "shares no replicates with the others yet" in refused(capsys, out)
    remove(out, "ucb", 1)
    remove(out, "corral", 0)
    assert "there is no curve 'corral'" in refused(capsys, out, "--curve", "corral")


def test_one_replicate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path / "run", replicates=1)
    said = corral(capsys, tmp_path / "run")
    assert "1 replicate," in said and "too few" in said and "nan" not in said and "±" not in said
    (table,) = json.loads(corral(capsys, tmp_path / "run", "--json"))["tables"]
    assert table["curves"][1]["difference"]["low"] is None


def test_rewards_are_better_when_higher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody knows the regret: the same run, with the regrets taken away."""
    from corral_core.simulation.record import Record

    play(tmp_path / "run", replicates=12, chunk_size=12)
    known = {result.curve.name: result for result in Run.open(tmp_path / "run").results()}
    taken = Record.__init__

    def without(self: Record, **fields: Any) -> None:
        taken(self, **{**fields, "regret": None})

    monkeypatch.setattr(Record, "__init__", without)
    (table,) = compare([tmp_path / "run"], against="epsilon-greedy(c=1)")
    assert not table.regret
    assert table.rows[0].entry.label == max(known, key=lambda name: known[name].reward.mean[-1])
    (worst,) = [row for row in table.rows if row.entry.label == "uniform"]
    assert worst.difference is not None and worst.difference.estimate < 0
    assert (worst.verdict, verdict(table, worst)) == (Significance.LOWER, "worse")


# --- Wrong input ------------------------------------------------------------------------------------------------------


def test_wrong_input_is_one_sentence(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean corral?" in refused(capsys, out, "--curve", "coral")
    assert "did you mean uniform?" in refused(capsys, out, "--against", "unifrom")
    assert "fewer than two curves" in refused(capsys, out, "--curve", "corral")
    assert "a run is given twice" in refused(capsys, out, out)
    assert "does not exist; corral run EXPERIMENT" in refused(capsys, out.with_name("nowhere"))
    assert "contains no run" in refused(capsys, out.parent)
    for level in ("0", "1", "95", "nan"):
        assert "the level must lie between 0 and 1" in refused(capsys, out, "--level", level)
    two = out.with_name("two")
    play(two, horizon=20)
    assert "different numbers of plays (one 60 and two 20)" in refused(capsys, out, two)
    play(out.with_name("three"), seed=3)
    said = refused(capsys, out, out.with_name("three"), "--against", "ucb")
    assert said == "Error: --against ucb could be one:ucb or three:ucb; name one\n"
    swept, other = out.with_name("swept"), out.with_name("other")
    play(swept, *SWEPT)
    play(other, {"at": "meta.eta = 1"}, {"at": "meta.eta = 2", "seed": 2})
    assert "no point in common" in refused(capsys, swept, other)


def test_regret_that_one_run_alone_knows_is_refused(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two = out.with_name("two")
    play(two)
    real = Run.results

    def some(self: Run) -> list[Result]:
        import attrs

        return [attrs.evolve(each, regret=None) if self.path == two else each for each in real(self)]

    monkeypatch.setattr(Run, "results", some)
    with pytest.raises(CorralError, match="only some of the runs report regret"):
        compare([out, two])
