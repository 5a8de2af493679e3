"""SHA256SUMS follows from the journal, covers every file but the journal, and is mended; nobody trusts it."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from corral_core import cli
from corral_core.errors import CorralError
from corral_core.runs import versions
from corral_core.runs.run import Run

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import assert_equal, chunks, play, sums


def checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_checksums_cover_all_files_but_the_journal(tmp_path: Path) -> None:
    play(tmp_path)
    listed = [line.split("  ")[1] for line in sums(tmp_path).splitlines()]
    assert listed == ["experiment.json", "versions.json", *(f"chunks/{name}" for name in chunks(tmp_path))]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("forged", [b"", b"0" * 64 + b"  experiment.json\n"])
def test_checksums_that_differ_are_not_printed_but_mended(
    forged: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = play(tmp_path)
    right = sums(tmp_path)
    (tmp_path / "SHA256SUMS").write_bytes(forged)
    assert Run.open(tmp_path).checksum == checksum(right)  # a reader makes them anew and changes nothing
    assert (tmp_path / "SHA256SUMS").read_bytes() == forged
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", str(tmp_path), "--quiet", "--engine", "serial"])
    assert not ended.value.code
    assert f"checksum {checksum(right)[:12]}" in capsys.readouterr().out
    assert sums(tmp_path) == right
    assert_equal(first, Run.open(tmp_path).results())


def test_an_incomplete_run_has_no_checksum_whatever_the_file_says(tmp_path: Path) -> None:
    play(tmp_path)
    (tmp_path / "chunks" / chunks(tmp_path)[0]).unlink()
    assert (tmp_path / "SHA256SUMS").exists()
    assert Run.open(tmp_path).checksum is None


def test_a_missing_experiment_is_mended_by_the_same_command(tmp_path: Path) -> None:
    first = play(tmp_path)
    right, written = sums(tmp_path), (tmp_path / "experiment.json").read_bytes()
    stamps = {name: (tmp_path / "chunks" / name).stat().st_mtime_ns for name in chunks(tmp_path)}
    (tmp_path / "experiment.json").unlink()
    with pytest.raises(CorralError, match=r"experiment\.json is missing; run the same experiment with --out"):
        Run.open(tmp_path)
    assert_equal(first, play(tmp_path))
    assert (tmp_path / "experiment.json").read_bytes() == written
    assert sums(tmp_path) == right
    assert stamps == {name: (tmp_path / "chunks" / name).stat().st_mtime_ns for name in chunks(tmp_path)}


def test_a_missing_experiment_is_not_replaced_by_another(tmp_path: Path) -> None:
    play(tmp_path)
    (tmp_path / "experiment.json").unlink()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(CorralError, match="is not empty and contains no run of this experiment"):
        play(tmp_path, seed=2)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_text("{")])
def test_versions_are_mended_by_those_that_began_the_run(damage: object, tmp_path: Path) -> None:
    play(tmp_path)
    right = sums(tmp_path)
    damage(tmp_path / "versions.json")  # type: ignore[operator]
    assert Run.open(tmp_path).versions == {}
    assert Run.open(tmp_path).checksum == checksum(right)
    play(tmp_path)
    assert sums(tmp_path) == right


def test_versions_are_not_mended_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path)
    found = json.loads((tmp_path / "versions.json").read_text())
    (tmp_path / "versions.json").write_text("{")
    (tmp_path / "chunks" / chunks(tmp_path)[0]).unlink()
    for module in ("versions", "folder"):
        monkeypatch.setattr(f"corral_core.runs.{module}.versions", lambda points: {**found, "numpy": "0.9"})
    assert versions.versions([]) == {**found, "numpy": "0.9"}
    with pytest.raises(CorralError, match="was started with core unknown"):
        play(tmp_path)
