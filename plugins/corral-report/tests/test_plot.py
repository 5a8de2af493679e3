"""`corral plot` on real runs, whole and not."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from corral_core import load_experiment, run_experiment
from corral_core.cli import main

EXPERIMENT = """
name = "small"
horizon = 40
replicates = 4
chunk_size = 2
[environment]
name = "bernoulli-arms"
arms = 3
[meta]
name = "corral"
[[bases]]
name = "ucb"
[[bases]]
name = "epsilon-greedy"
"""
SWEEPS = {
    "plain": "",
    "horizons": '[sweep]\nparameter = "horizon"\nvalues = [10, 20, 40]\n',
    "arms": '[sweep]\nparameter = "environment.arms"\nvalues = [2, 3]\n',
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each kind."""
    folder = tmp_path_factory.mktemp("runs")
    for name, sweep in SWEEPS.items():
        (folder / f"{name}.toml").write_text(EXPERIMENT + sweep)
        run_experiment(load_experiment(str(folder / f"{name}.toml")), engine="serial", out=folder / name)
    return folder


def corral(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command that succeeds prints."""
    with pytest.raises(SystemExit) as ended:
        main(["plot", *map(str, arguments)])
    captured = capsys.readouterr()
    assert ended.value.code in (0, None), captured.err
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line of a command that fails."""
    with pytest.raises(SystemExit) as ended:
        main(["plot", *map(str, arguments)])
    captured = capsys.readouterr()
    assert ended.value.code == 2 and captured.err.count("\n") == 1 and captured.err.startswith("Error: ")
    return captured.err


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_all_pictures_go_beside_the_run_and_are_named(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = corral(capsys, runs / "plain")
    names = {"regret.png", "probabilities-corral.png", "plays.png", "rates.png", "learning-rates-corral.png"}
    assert files(runs / "plain" / "plots") == names
    assert all(str(runs / "plain" / "plots" / name) in said for name in names) and "incomplete" not in said


def test_a_sweep_of_the_horizon_is_one_picture_of_regret(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corral(capsys, runs / "horizons", "--kind", "regret", "--kind", "rates", "--kind", "plays", "--out", tmp_path)
    plays = {f"plays-{number}-horizon={horizon}.png" for number, horizon in enumerate((10, 20, 40), start=1)}
    assert files(tmp_path) == {"regret.png", "rates.png", *plays}


def test_another_sweep_has_a_picture_a_point(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = corral(capsys, runs / "arms", "--kind", "regret", "--format", "svg", "--out", tmp_path / "new", "--json")
    told = json.loads(said)
    found = told["pictures"]
    assert told["chunks"] == told["chunks_of_all"] == 12
    assert [(each["kind"], each["at"]) for each in found] == [
        ("regret", "environment.arms = 2"),
        ("regret", "environment.arms = 3"),
    ]
    assert [Path(each["file"]).name for each in found] == [f"regret-{n}-environment.arms={n + 1}.svg" for n in (1, 2)]
    assert "environment.arms = 3" in Path(found[1]["file"]).read_text()


def test_only_the_curves_and_the_band_that_were_asked_for(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--kind", "regret", "--format", "svg", "--format", "svg", "--out", tmp_path)
    corral(capsys, runs / "plain", "--curve", "ucb", "--band", "quantiles", *options)
    drawn = (tmp_path / "regret.svg").read_text()
    assert "ucb: " in drawn and "corral: " not in drawn and "10% to 90% quantiles" in drawn
    corral(capsys, runs / "plain", "--curve", "ucb", "--scale", "0.1", *options)
    assert "0.1 standard deviations" in (tmp_path / "regret.svg").read_text()


def test_without_metas_there_is_nothing_to_show_of_bases(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corral(capsys, runs / "plain", "--curve", "ucb", "--out", tmp_path)
    assert files(tmp_path) == {"regret.png", "rates.png"}
    assert "none among these curves" in refused(capsys, runs / "plain", "--curve", "ucb", "--kind", "plays")


def test_an_incomplete_run_is_drawn_as_far_as_it_goes(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "cut"
    run_experiment(load_experiment(str(runs / "plain.toml")), engine="serial", out=run)
    chunks = sorted((run / "chunks").iterdir())
    chunks[0].unlink()
    said = corral(capsys, run, "--kind", "regret", "--format", "svg")
    assert f"{run} is incomplete: {len(chunks) - 1} of {len(chunks)} chunks exist; corral run {run} plays" in said
    found = json.loads(corral(capsys, run, "--kind", "regret", "--json"))
    assert (found["chunks"], found["chunks_of_all"]) == (len(chunks) - 1, len(chunks))
    assert "Means of 2 to 4 replicates" in (run / "plots" / "regret.svg").read_text()
    for chunk in chunks[1:]:
        chunk.unlink()
    assert f"{run} contains no curve yet; corral run {run} plays what is missing" in refused(capsys, run)


def test_chunks_without_entries_do_not_count_and_are_told_of(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs / "plain", run)
    entries = (run / "journal.jsonl").read_text().splitlines(keepends=True)
    chunks = [line for line in entries if '"chunk"' in line]
    (run / "journal.jsonl").write_text("".join(line for line in entries if line != chunks[0]))
    assert " of 6 chunks exist (1 chunk file has no entry in journal.jsonl); " in corral(capsys, run)
    (run / "journal.jsonl").write_text("".join(line for line in entries if line not in chunks))
    assert "contains no curve yet (6 chunk files have no entry in journal.jsonl); corral run " in refused(capsys, run)


def test_a_folder_is_not_taken_for_an_experiment_of_its_name(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(runs / "plain", "quickstart")
    shutil.rmtree("quickstart/chunks")
    assert "quickstart contains no curve yet; corral run ./quickstart plays" in refused(capsys, "quickstart")


def test_probabilities_that_never_change_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "uniform.toml").write_text(EXPERIMENT.replace('"corral"', '"uniform"'))
    run_experiment(load_experiment(str(tmp_path / "uniform.toml")), engine="serial", out=tmp_path / "run")
    corral(capsys, tmp_path / "run")
    assert files(tmp_path / "run" / "plots") == {"regret.png", "plays.png", "rates.png"}
    assert "with the same probability" in refused(capsys, tmp_path / "run", "--kind", "probabilities")


def test_a_file_is_refused_as_a_folder_before_anything_is_drawn(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("kept")
    importlib.import_module("corral_report.figures")
    monkeypatch.setattr(sys.modules["corral_report.figures.album"], "regret_figure", None)
    assert f"{tmp_path / 'file'} is a file; --out takes" in refused(capsys, runs / "plain", "--out", tmp_path / "file")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert f"{tmp_path} is not writable" in refused(capsys, runs / "plain", "--out", tmp_path)
    assert files(tmp_path) == {"file"} and (tmp_path / "file").read_text() == "kept"


def test_wrong_options_make_no_folder(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, runs / "plain", "--curve", "none", "--out", tmp_path / "new")
    assert files(tmp_path) == set()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--curve", "corrall"], "did you mean corral"),
        (["--kind", "regrets"], "did you mean regret"),
        (["--band", "deviations"], "did you mean deviation"),
        (["--format", "pngs"], "did you mean png"),
        (["--scale", "nan"], "must be positive and finite"),
        (["--scale", "2", "--band", "quantiles"], "is allowed with the bands deviation and error"),
        (["--width", "1"], "--width must be"),
        (["--out", "/dev/null/pictures"], "cannot be used"),
    ],
)
def test_wrong_options_are_one_sentence(
    options: list[str], said: str, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, runs / "plain", *options)


def test_a_folder_without_a_run_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "contains no run" in refused(capsys, tmp_path)
    assert "does not exist" in refused(capsys, tmp_path / "nowhere")
