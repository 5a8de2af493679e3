"""A run's folder: whole or not at all, and only what is missing is played again.

Also tests `runs/chunk_files.py`, `runs/run.py`, `runs/files.py` and `runs/runner.py`.
"""

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corral_core.engines.chunks import Task
from corral_core.errors import CorralError
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.point import parse_point
from corral_core.runs import files, runner
from corral_core.runs.folder import Folder, file_name
from corral_core.simulation.record import Record, checkpoints

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import assert_equal, chunks, play, small


def test_a_folder_holds_the_experiment_the_versions_and_the_chunks(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    play(out)
    assert sorted(file.name for file in out.iterdir()) == [
        "SHA256SUMS",
        "chunks",
        "experiment.json",
        "journal.jsonl",
        "versions.json",
    ]
    (point,) = json.loads((out / "experiment.json").read_text())["points"]
    assert parse_point(point["source"]) == small()
    assert {"python", "machine", "numpy", "core", "corral-mab"} <= set(json.loads((out / "versions.json").read_text()))
    assert len(chunks(out)) == 3
    with np.load(out / "chunks" / chunks(out)[0]) as arrays:
        assert set(arrays) == {*Record.names, "at", "bases", "curve", "quantities"}
        assert arrays["at"].tolist() == checkpoints(small().horizon).tolist()
        assert arrays["regret"].shape[1] == len(arrays["at"])
        assert arrays["plays"].shape[2] == len(arrays["bases"])
        assert arrays["recorded"].shape[2:] == (1, 2) and arrays["quantities"].tolist() == ["learning-rates"]


def test_a_finished_run_is_not_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = play(tmp_path)
    before = {file: (tmp_path / "chunks" / file).stat().st_mtime_ns for file in chunks(tmp_path)}
    monkeypatch.setattr("corral_core.engines.engine.run_chunk", lambda *_: pytest.fail("played again"))
    assert_equal(first, play(tmp_path))
    assert before == {file: (tmp_path / "chunks" / file).stat().st_mtime_ns for file in chunks(tmp_path)}


def test_only_what_is_missing_is_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = play(tmp_path)
    lost = chunks(tmp_path)[1]
    (tmp_path / "chunks" / lost).unlink()
    kept: list[Task] = []
    keep = Folder.keep
    monkeypatch.setattr(Folder, "keep", lambda self, done: (kept.append(done.task), keep(self, done)))
    assert_equal(first, play(tmp_path))
    assert [file_name(task) for task in kept] == [lost]


def test_a_folder_changes_nothing_in_the_numbers(tmp_path: Path) -> None:
    assert_equal(play(tmp_path), play(None))


def test_curves_of_like_names_have_files_of_their_own() -> None:
    names = ["rate(c=1e+05)", "rate(c=1e-05)", "rate c=1e-05", "x" * 300, "x" * 301]
    files = {file_name(Task(0, name, 0, 1, 1)) for name in names}
    assert len(files) == len(names)
    assert max(map(len, files)) < 120


@pytest.mark.parametrize("change", [{"seed": 2}, {"replicates": 6}, {"horizon": 31}, {"name": "other"}])
def test_the_folder_of_another_run_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    play(tmp_path)
    before = chunks(tmp_path)
    with pytest.raises(
        CorralError, match=rf"contains a run of another experiment \(different {next(iter(change))}\); choose another"
    ):
        play(tmp_path, **change)
    assert chunks(tmp_path) == before


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary")
    with pytest.raises(CorralError, match="is not empty and contains no run of this experiment"):
        play(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["diary.txt"]


def test_a_folder_that_was_begun_and_never_used_is_taken(tmp_path: Path) -> None:
    (tmp_path / "chunks").mkdir()
    play(tmp_path)
    assert len(chunks(tmp_path)) == 3


def test_chunks_without_their_experiment_are_nobodys(tmp_path: Path) -> None:
    play(tmp_path)
    (tmp_path / "experiment.json").unlink()
    with pytest.raises(CorralError, match="is not empty and contains no run of this experiment"):
        play(tmp_path, seed=2)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(CorralError, match="cannot be used: Not a directory"):
            play(path)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write anywhere")
def test_a_read_only_parent(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(CorralError, match="cannot be used: Permission denied"):
        play(tmp_path / "run")


def test_a_parent_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(CorralError, match="cannot be used: Permission denied"):
        play(tmp_path / "run")


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_no_half_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path)
    survivor, *others = chunks(tmp_path)
    for lost in others:
        (tmp_path / "chunks" / lost).unlink()
    with monkeypatch.context() as disk:
        disk.setattr(files, "flush", full)  # when the bytes have been written and do not fit
        with pytest.raises(CorralError, match="cannot be used: No space left on device"):
            play(tmp_path)
    assert chunks(tmp_path) == [survivor]
    assert_equal(play(tmp_path), play(None))


def test_a_disk_that_fills_up_ends_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def keep(self: Folder, done: object) -> None:
        raise CorralError("the disk is full")

    monkeypatch.setattr(Folder, "keep", keep)
    with pytest.raises(CorralError, match="the disk is full"):
        runner.run_experiment(Experiment([small()]), engine="processes", workers=2, out=tmp_path)
    children = [path / "children" for path in Path("/proc/self/task").iterdir()]
    assert not any(path.read_text() for path in children if path.exists())


def test_a_disk_that_is_full_from_the_start_can_be_freed_and_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as disk:
        disk.setattr(files, "flush", full)
        with pytest.raises(CorralError, match="No space left on device"):
            play(tmp_path / "run")
    assert [file.name for file in (tmp_path / "run").rglob("*") if file.is_file()] == ["journal.jsonl"]
    assert_equal(play(tmp_path / "run"), play(None))
