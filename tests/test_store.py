"""A run's folder: whole or not at all, and only what is missing is played again."""

import errno
import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corral_core import files, runner, store, versions
from corral_core.chunks import Task, run_chunk
from corral_core.errors import CorralError
from corral_core.experiment import Experiment, parse
from corral_core.results import Result
from corral_core.simulation import Record, points
from corral_core.store import Folder, Run, file_name
from corral_core.watch import Watch


def small(**changes: Any) -> Experiment:
    source = {
        "name": "small",
        "horizon": 30,
        "replicates": 5,
        "chunk": 2,
        "environment": {"name": "bernoulli-arms", "means": [0.5, 0.4]},
        "meta": {"name": "corral"},
        "bases": [{"name": "ucb"}, {"name": "epsilon-greedy"}],
        "compare": {"alone": "none"},
    }
    return parse({**source, **changes})


def play(out: Path | None, **changes: Any) -> list[Result]:
    return runner.play([small(**changes)], engine="serial", out=out)


def chunks(out: Path) -> list[str]:
    return sorted(file.name for file in (out / "chunks").iterdir())


def sums(out: Path) -> str:
    """The checksums of a complete run, which are those of the files."""
    text = (out / "SHA256SUMS").read_text()
    for line in text.splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    return text


def assert_equal(ours: list[Result], theirs: list[Result]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert (one.setting, one.line) == (other.setting, other.line)
        assert one.final.tobytes() == other.final.tobytes()
        for name in ("regret", "reward", "probabilities"):
            mine, yours = getattr(one, name), getattr(other, name)
            assert (mine.mean.tobytes(), mine.error.tobytes()) == (yours.mean.tobytes(), yours.error.tobytes())
        assert one.plays_of.tobytes() == other.plays_of.tobytes()


@pytest.fixture
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The checksums of a run that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole")
    play(out)
    return sums(out)


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
    assert parse(point["source"]) == small()
    assert {"python", "machine", "numpy", "core", "corral-mab"} <= set(json.loads((out / "versions.json").read_text()))
    assert len(chunks(out)) == 3
    with np.load(out / "chunks" / chunks(out)[0]) as arrays:
        assert set(arrays) == {*Record.names, "at", "bases", "curve"}
        assert arrays["at"].tolist() == points(small().horizon).tolist()
        assert arrays["regret"].shape[1] == len(arrays["at"])
        assert arrays["plays"].shape[2] == len(arrays["bases"])


def test_a_finished_run_is_not_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = play(tmp_path)
    before = {file: (tmp_path / "chunks" / file).stat().st_mtime_ns for file in chunks(tmp_path)}
    monkeypatch.setattr("corral_core.engines.run_chunk", lambda *_: pytest.fail("played again"))
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
        CorralError, match=rf"holds a run of another experiment \(other {next(iter(change))}\); choose another"
    ):
        play(tmp_path, **change)
    assert chunks(tmp_path) == before


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear diary")
    with pytest.raises(CorralError, match="is not empty and holds no run"):
        play(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["diary.txt"]


def test_a_folder_that_was_begun_and_never_used_is_taken(tmp_path: Path) -> None:
    (tmp_path / "chunks").mkdir()
    play(tmp_path)
    assert len(chunks(tmp_path)) == 3


def test_chunks_without_their_experiment_are_nobodys(tmp_path: Path) -> None:
    play(tmp_path)
    (tmp_path / "experiment.json").unlink()
    with pytest.raises(CorralError, match="is not empty and holds no run"):
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
        runner.play([small()], engine="processes", workers=2, out=tmp_path)
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


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-40])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def flip(file: Path) -> None:
    """One bit of one byte in the middle."""
    written = bytearray(file.read_bytes())
    written[len(written) // 2] ^= 1
    file.write_bytes(written)


@pytest.mark.parametrize("damage", [truncate, empty, flip])
def test_a_damaged_chunk_is_played_again(
    damage: Any, tmp_path: Path, whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = play(tmp_path)
    damaged = chunks(tmp_path)[1]
    damage(tmp_path / "chunks" / damaged)
    assert len(Run.open(tmp_path).finished()) == 2
    played: list[int] = []
    monkeypatch.setattr(
        "corral_core.engines.run_chunk",
        lambda experiment, curve, chunk, progress: (played.append(chunk), run_chunk(experiment, curve, chunk))[1],
    )
    assert_equal(first, play(tmp_path))
    assert len(played) == 1
    assert sums(tmp_path) == whole


@pytest.mark.parametrize("seed", range(20))
def test_a_byte_flipped_anywhere_in_the_folder_does_no_harm(seed: int, tmp_path: Path, whole: str) -> None:
    """Of the chunks and the journal; in the other files it is refused, or the same experiment still."""
    play(tmp_path)
    rng = np.random.default_rng(seed)
    file = rng.choice([*(tmp_path / "chunks").iterdir(), tmp_path / "journal.jsonl"])  # type: ignore[arg-type]
    written = bytearray(file.read_bytes())
    written[rng.integers(len(written))] ^= 1 << rng.integers(8)
    file.write_bytes(written)
    play(tmp_path)
    assert sums(tmp_path) == whole


def test_a_journal_cut_short_costs_the_chunk_it_was_about(tmp_path: Path, whole: str) -> None:
    play(tmp_path)
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    assert len(Run.open(tmp_path).finished()) == 2
    play(tmp_path)
    assert sums(tmp_path) == whole
    journal.unlink()
    play(tmp_path)
    assert sums(tmp_path) == whole


def test_a_run_is_read_without_the_plugins_that_played_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = play(tmp_path)
    monkeypatch.setattr("corral_core.registry.Registry.load", lambda *_: pytest.fail("a plugin was needed"))
    run = Run.open(tmp_path)
    assert_equal(first, run.results())
    assert run.checksum == hashlib.sha256(sums(tmp_path).encode()).hexdigest()
    (result,) = run.results()
    final = np.concatenate([record.regret[:, -1] for record in run.records(result) if record.regret is not None])
    assert final.tolist() == result.final.tolist()


def test_an_incomplete_run_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (first,) = play(tmp_path)
    (tmp_path / "chunks" / chunks(tmp_path)[1]).unlink()
    (result,) = Run.open(tmp_path).results()
    assert result.final.tolist() == [*first.final[:2], *first.final[4:]]
    for file in (tmp_path / "chunks").iterdir():
        file.unlink()
    assert Run.open(tmp_path).results() == []


@pytest.mark.parametrize(("path", "said"), [("nowhere", "is not there"), (".", "holds no run")])
def test_what_is_no_run_is_not_read(path: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CorralError, match=f"{said}; corral run EXPERIMENT --out"):
        Run.open(tmp_path / path)


def test_nobody_else_writes_meanwhile(tmp_path: Path) -> None:
    with (
        store.folder(tmp_path, [small()]),
        pytest.raises(CorralError, match="is being written by another run; wait for it, or choose another folder"),
    ):
        play(tmp_path)
    play(tmp_path)


def test_other_versions_do_not_go_on_unless_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: str
) -> None:
    play(tmp_path)
    ours = versions.versions()
    other = {**ours, "numpy": "0.9", "corral-linucb": "9", "elsewhere": "1"}  # nothing of corral-linucb is played
    monkeypatch.setattr(versions, "versions", lambda: other)
    monkeypatch.setattr(store, "versions", lambda: other)
    play(tmp_path)  # nothing is missing, so nothing is mixed
    (tmp_path / "SHA256SUMS").unlink()
    (tmp_path / "chunks" / chunks(tmp_path)[0]).unlink()
    begun = rf"was begun with numpy {ours['numpy']} \(now 0.9\); go on with that.*--mixed-versions"
    with pytest.raises(CorralError, match=begun):
        play(tmp_path)
    runner.play([small()], engine="serial", out=tmp_path, mixed_versions=True)
    assert sums(tmp_path) == whole
    assert Run.open(tmp_path).all_versions == (ours, other)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"a small tmpfs cannot be mounted here: {made.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


def test_a_disk_that_is_really_full(small_disk: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """It fills up in the middle of the run; when there is room again, the run goes on, to the same bits."""
    out = small_disk / "run"
    with pytest.raises(CorralError, match="cannot be used: No space left on device"):
        play(out, replicates=60)
    kept = len(Run.open(out).finished())
    assert 0 < kept < 30
    assert not list(out.rglob(".*"))
    subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
    play(out, replicates=60)
    undisturbed = tmp_path_factory.mktemp("undisturbed")
    play(undisturbed, replicates=60)
    assert sums(out) == sums(undisturbed)


@pytest.mark.parametrize("damage", [empty, flip, lambda file: file.write_text("{"), lambda file: file.write_text("[]")])
def test_a_damaged_description_is_named_as_such_and_mended(damage: Any, tmp_path: Path, whole: str) -> None:
    play(tmp_path)
    damage(tmp_path / "experiment.json")
    with pytest.raises(CorralError, match=r"experiment\.json is damaged; run the same experiment with --out"):
        Run.open(tmp_path)
    play(tmp_path)
    assert sums(tmp_path) == whole


@pytest.mark.parametrize("seed", range(30))
def test_a_byte_flipped_in_the_description_is_never_taken_for_true(seed: int, tmp_path: Path, whole: str) -> None:
    play(tmp_path)
    rng = np.random.default_rng(seed)
    written = bytearray((tmp_path / "experiment.json").read_bytes())
    written[rng.integers(len(written))] ^= 1 << rng.integers(8)
    (tmp_path / "experiment.json").write_bytes(written)
    with pytest.raises(CorralError, match="is damaged"):
        Run.open(tmp_path)
    play(tmp_path)
    assert sums(tmp_path) == whole


@pytest.mark.parametrize("left", [".experiment.json.part", ".versions.json.part"])
def test_what_a_sudden_end_left_at_the_very_beginning_is_no_obstacle(left: str, tmp_path: Path, whole: str) -> None:
    (tmp_path / "chunks").mkdir()
    (tmp_path / "journal.jsonl").touch()
    (tmp_path / left).write_text("half of it")
    play(tmp_path)
    assert sums(tmp_path) == whole
    assert not (tmp_path / left).exists()


def test_damage_to_a_finished_run_is_not_mended_with_other_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path)
    flip(tmp_path / "chunks" / chunks(tmp_path)[0])
    other = {**versions.versions(), "numpy": "0.9"}
    monkeypatch.setattr(versions, "versions", lambda: other)
    with pytest.raises(CorralError, match="was begun with numpy"):
        play(tmp_path)
    assert Run.open(tmp_path).checksum is None


def test_versions_that_nobody_knows_any_more_are_others(tmp_path: Path) -> None:
    first = play(tmp_path)
    (tmp_path / "versions.json").write_text("{")
    assert_equal(first, Run.open(tmp_path).results())  # what is there can be read
    (tmp_path / "chunks" / chunks(tmp_path)[0]).unlink()
    with pytest.raises(CorralError, match="was begun with core unknown"):
        play(tmp_path)


def test_other_bits_than_before_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path)
    flip(tmp_path / "chunks" / chunks(tmp_path)[1])

    def other(experiment: Experiment, curve: str, chunk: int, progress: object) -> Record:
        record = run_chunk(experiment, curve, chunk)
        return record.replace(reward=record.reward + 1)

    told: list[str] = []
    watch = Watch()
    monkeypatch.setattr(watch, "trouble", told.append)
    monkeypatch.setattr("corral_core.engines.run_chunk", other)
    runner.play([small()], engine="serial", out=tmp_path, watch=watch)
    assert told == ["curve corral, chunk 2 has other bits than before: versions or the machine have changed"]


def test_a_folder_goes_on_with_the_order_that_its_experiment_had(tmp_path: Path) -> None:
    """Of the keys of a grid, which is that of the bases and part of their names."""
    bases = [{"name": "rate", "grid": {"gap": [0.5, 0.25], "c": [1.0, 2.0]}}]
    play(tmp_path, bases=bases)
    before = chunks(tmp_path)
    (setting,) = Run.open(tmp_path).settings
    again = parse(setting.source)
    assert again == small(bases=bases)
    assert again.curves[0].labels == (
        "rate(gap=0.5, c=1)",
        "rate(gap=0.5, c=2)",
        "rate(gap=0.25, c=1)",
        "rate(gap=0.25, c=2)",
    )
    (tmp_path / "chunks" / before[0]).unlink()
    kept = (tmp_path / "SHA256SUMS").read_bytes()
    runner.play([again], engine="serial", out=tmp_path)
    assert chunks(tmp_path) == before
    assert (tmp_path / "SHA256SUMS").read_bytes() == kept


def test_another_order_of_the_same_grid_is_another_experiment(tmp_path: Path) -> None:
    play(tmp_path, bases=[{"name": "rate", "grid": {"gap": [0.5, 0.25], "c": [1.0, 2.0]}}])
    with pytest.raises(CorralError, match=r"another experiment \(other curves\)"):
        play(tmp_path, bases=[{"name": "rate", "grid": {"c": [1.0, 2.0], "gap": [0.5, 0.25]}}])


def test_the_records_of_another_run_are_refused(tmp_path: Path) -> None:
    (result,) = play(tmp_path / "one")
    play(tmp_path / "two", seed=2)
    assert sum(len(record) for record in Run.open(tmp_path / "one").records(result)) == 5
    with pytest.raises(CorralError, match="the curve corral is not of the run in"):
        Run.open(tmp_path / "two").records(result)
