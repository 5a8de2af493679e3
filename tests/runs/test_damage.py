"""What happens to a run's folder does no harm: damage, full disks, sudden ends, other versions.

Also tests `runs/checksums.py`, `runs/journal.py` and `runs/versions.py`.
"""

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corral_core.engines.chunks import run_chunk
from corral_core.engines.progress import Watch
from corral_core.errors import CorralError
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.point import Point, parse_point
from corral_core.runs import folder as store
from corral_core.runs import runner, versions
from corral_core.runs.description import describe
from corral_core.runs.folder import folder
from corral_core.runs.run import Run
from corral_core.simulation.record import Record

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import assert_equal, chunks, play, small, sums


@pytest.fixture
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The checksums of a run that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole")
    play(out)
    return sums(out)


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
    assert [task.chunk_number for task in Run.open(tmp_path).damaged()] == [1]
    told: list[str] = []
    monkeypatch.setattr(Watch, "trouble", lambda self, sentence: told.append(sentence))
    played: list[int] = []
    monkeypatch.setattr(
        "corral_core.engines.engine.run_chunk",
        lambda experiment, curve, chunk, progress: (played.append(chunk), run_chunk(experiment, curve, chunk))[1],
    )
    assert_equal(first, play(tmp_path))
    assert len(played) == 1
    assert told == ["1 damaged chunk will be played again"]
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
    monkeypatch.setattr("corral_core.registry.names.Registry.load", lambda *_: pytest.fail("a plugin was needed"))
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


@pytest.mark.parametrize(("path", "said"), [("nowhere", "does not exist"), (".", "contains no run")])
def test_what_is_no_run_is_not_read(path: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CorralError, match=f"{said}; corral run EXPERIMENT --out"):
        Run.open(tmp_path / path)


def test_nobody_else_writes_meanwhile(tmp_path: Path) -> None:
    with (
        folder(tmp_path, Experiment([small()]), describe(Experiment([small()]))),
        pytest.raises(CorralError, match="is being written by another run; wait for it, or choose another folder"),
    ):
        play(tmp_path)
    play(tmp_path)


def test_other_versions_do_not_go_on_unless_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: str
) -> None:
    play(tmp_path)
    ours = versions.versions([small()])
    other = {**ours, "numpy": "0.9", "corral-linucb": "9", "elsewhere": "1"}  # nothing of corral-linucb is played
    monkeypatch.setattr(versions, "versions", lambda points: other)
    monkeypatch.setattr(store, "versions", lambda points: other)
    play(tmp_path)  # nothing is missing, so nothing is mixed
    (tmp_path / "SHA256SUMS").unlink()
    (tmp_path / "chunks" / chunks(tmp_path)[0]).unlink()
    begun = rf"was started with numpy {ours['numpy']} \(now 0.9\); resume it with those.*--mixed-versions"
    with pytest.raises(CorralError, match=begun):
        play(tmp_path)
    runner.run_experiment(Experiment([small()]), engine="serial", out=tmp_path, mixed_versions=True)
    assert sums(tmp_path) == whole
    begun, later = Run.open(tmp_path).all_versions
    assert ({**begun, "kernels": ""}, later) == ({**ours, "kernels": ""}, other)


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
    other = {**versions.versions([small()]), "numpy": "0.9"}
    monkeypatch.setattr(versions, "versions", lambda points: other)
    with pytest.raises(CorralError, match="was started with numpy"):
        play(tmp_path)
    assert Run.open(tmp_path).checksum is None


def test_versions_that_nobody_knows_any_more_are_others(tmp_path: Path) -> None:
    """Neither versions.json nor the journal tells them."""
    first = play(tmp_path)
    (tmp_path / "versions.json").write_text("{")
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(b"".join(line for line in journal.read_bytes().splitlines(True) if b"begun" not in line))
    assert_equal(first, Run.open(tmp_path).results())  # what is there can be read
    (tmp_path / "chunks" / chunks(tmp_path)[0]).unlink()
    with pytest.raises(CorralError, match="was started with core unknown"):
        play(tmp_path)


def test_other_bits_than_before_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path)
    flip(tmp_path / "chunks" / chunks(tmp_path)[1])

    def other(experiment: Point, curve: str, chunk: int, progress: object) -> Record:
        record = run_chunk(experiment, curve, chunk)
        return record.replace(reward=record.reward + 1)

    told: list[str] = []
    watch = Watch()
    monkeypatch.setattr(watch, "trouble", told.append)
    monkeypatch.setattr("corral_core.engines.engine.run_chunk", other)
    runner.run_experiment(Experiment([small()]), engine="serial", out=tmp_path, watch=watch)
    assert told == [
        "1 damaged chunk will be played again",
        "curve corral, chunk 2 differs from before bit for bit: versions or machine changed",
    ]


def test_a_folder_goes_on_with_the_order_that_its_experiment_had(tmp_path: Path) -> None:
    """Of the keys of a grid, which is that of the bases and part of their names."""
    bases = [{"name": "rate", "grid": {"gap": [0.5, 0.25], "c": [1.0, 2.0]}}]
    play(tmp_path, bases=bases)
    before = chunks(tmp_path)
    (point,) = Run.open(tmp_path).points
    again = parse_point(point.source)
    assert again == small(bases=bases)
    assert again.curves[0].labels == (
        "rate(gap=0.5, c=1)",
        "rate(gap=0.5, c=2)",
        "rate(gap=0.25, c=1)",
        "rate(gap=0.25, c=2)",
    )
    (tmp_path / "chunks" / before[0]).unlink()
    kept = (tmp_path / "SHA256SUMS").read_bytes()
    runner.run_experiment(Experiment([again]), engine="serial", out=tmp_path)
    assert chunks(tmp_path) == before
    assert (tmp_path / "SHA256SUMS").read_bytes() == kept


def test_another_order_of_the_same_grid_is_another_experiment(tmp_path: Path) -> None:
    play(tmp_path, bases=[{"name": "rate", "grid": {"gap": [0.5, 0.25], "c": [1.0, 2.0]}}])
    with pytest.raises(CorralError, match=r"another experiment \(different curves\)"):
        play(tmp_path, bases=[{"name": "rate", "grid": {"c": [1.0, 2.0], "gap": [0.5, 0.25]}}])


def test_the_records_of_another_run_are_refused(tmp_path: Path) -> None:
    (result,) = play(tmp_path / "one")
    play(tmp_path / "two", seed=2)
    assert sum(len(record) for record in Run.open(tmp_path / "one").records(result)) == 5
    with pytest.raises(CorralError, match="the curve corral does not belong to the run in"):
        Run.open(tmp_path / "two").records(result)


@pytest.mark.parametrize("changed", ["corral-kit", "corral-linucb"])
def test_the_library_that_plugins_share_counts_as_a_version(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is not resumed with another version of what its bases are built on, and is with another one of the rest."""
    linear = {"environment": {"name": "linear-arms"}, "bases": [{"name": "linucb"}, {"name": "ucb"}]}
    play(tmp_path / "linear", **linear)
    play(tmp_path / "plain")
    assert Run.open(str(tmp_path / "linear")).versions["corral-kit"] == version("corral-kit")
    there = versions.versions
    monkeypatch.setattr(versions, "versions", lambda points: {**there(points), changed: "9.9"})
    for out in ("linear", "plain"):
        next((tmp_path / out / "chunks").iterdir()).unlink()
    with pytest.raises(CorralError, match=rf"was started with {changed} .* \(now 9\.9\)"):
        play(tmp_path / "linear", **linear)
    if changed == "corral-kit":
        with pytest.raises(CorralError, match=r"was started with corral-kit .* \(now 9\.9\)"):
            play(tmp_path / "plain")
    else:
        play(tmp_path / "plain")
