"""That kernels are compiled is said once: by the first run with an empty cache, on standard error."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from corral_core.kernels import compiling, twins
from corral_core.kernels.compiling import ALWAYS, ONCE, announcement

needs_numba = pytest.mark.skipif(not find_spec("numba"), reason="numba is not installed")
SMALL = """
horizon = 20
replicates = 2
environment = { name = "bernoulli-arms", means = [0.5, 0.4] }
meta = { name = "uniform" }
bases = [{ name = "ucb" }, { name = "ucb1" }]
compare = { alone = "none" }
"""


@pytest.fixture
def unsaid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A fresh folder for what is compiled, and a file with a kernel."""
    source = tmp_path / "code" / "kernels.py"
    source.parent.mkdir()
    source.write_text("first")
    monkeypatch.setattr(twins, "sources", lambda: [str(source)])
    monkeypatch.setattr(twins, "is_installed", lambda: True)
    monkeypatch.setattr(twins, "bind", lambda: "numba")
    monkeypatch.delenv("CORRAL_KERNELS", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    return source


def test_it_is_said_once_per_content_of_a_file(unsaid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [announcement(), announcement()] == [ONCE, ""]
    unsaid.write_text("second")
    assert [announcement(), announcement()] == [ONCE, ""]
    monkeypatch.setattr(compiling, "version", lambda name: "99")
    assert [announcement(), announcement()] == [ONCE, ""]


def test_it_is_said_again_in_another_folder(unsaid: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    announcement()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert [announcement(), announcement()] == [ONCE, ""]
    assert len(list((tmp_path / "chosen").iterdir())) == 1
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert announcement() == "", "still known there"


def test_the_user_has_a_folder_if_the_code_cannot_be_written(unsaid: Path, tmp_path: Path) -> None:
    (unsaid.parent / "__pycache__").write_text("a file")
    assert [announcement(), announcement()] == [ONCE, ""]
    assert len(list((tmp_path / "user" / "numba").iterdir())) == 1


def test_without_any_folder_it_is_said_every_time(unsaid: Path, tmp_path: Path) -> None:
    (unsaid.parent / "__pycache__").write_text("a file")
    (tmp_path / "user").write_text("a file")
    assert [announcement(), announcement()] == [ALWAYS, ALWAYS]


def test_a_note_that_cannot_be_read_or_written(unsaid: Path) -> None:
    announcement()
    (note,) = (unsaid.parent / "__pycache__").iterdir()
    note.write_bytes(b"\xff\x00")
    assert [announcement(), announcement()] == [ONCE, ""]
    note.unlink()
    note.mkdir()
    assert announcement() == ALWAYS


def test_numpy_compiles_nothing(unsaid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORRAL_KERNELS", "numpy")
    assert announcement() == ""
    monkeypatch.delenv("CORRAL_KERNELS")
    monkeypatch.setattr(twins, "bind", lambda: "numpy")  # numba is broken
    assert announcement() == ""
    monkeypatch.setattr(twins, "is_installed", lambda: False)
    assert announcement() == ""
    assert not (unsaid.parent / "__pycache__").exists() or not list((unsaid.parent / "__pycache__").iterdir())


# --- On the command line ----------------------------------------------------------------------------------------------


def corral(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command, with a cache of its own."""
    kept = {name: value for name, value in os.environ.items() if name != "CORRAL_KERNELS"}
    return subprocess.run(
        [sys.executable, "-c", "from corral_core.cli import main; main()", *arguments],
        env={**kept, "NUMBA_CACHE_DIR": str(folder / "cache"), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


def numba_that(does: str, folder: Path) -> dict[str, str]:
    """Put a numba into a folder where Python finds it first."""
    (folder / "numba").mkdir()
    (folder / "numba" / "__init__.py").write_text(does)
    return {"PYTHONPATH": str(folder)}


INSTANT = """
class config:
    DISABLE_JIT = False

def njit(**options):
    return lambda loops: loops
"""


@needs_numba
def test_the_first_run_says_so(small: Path) -> None:
    first, second = (corral(small, "run", "small.toml", "--workers", "1") for _ in range(2))
    assert first.returncode == second.returncode == 0
    assert first.stderr.splitlines()[0] == ONCE
    assert ONCE not in second.stderr
    assert ONCE not in first.stdout + second.stdout


@pytest.mark.parametrize(
    "arguments", [["run", "small.toml", "--json"], ["run", "small.toml", "--quiet"], ["check", "ucb", "--json"]]
)
def test_programs_and_quiet_runs_are_not_told(arguments: list[str], small: Path) -> None:
    more = ["--check", "no-rows"] if arguments[0] == "check" else ["--workers", "1"]
    done = corral(small, *arguments, *more, **numba_that(INSTANT, small))
    assert (done.returncode, done.stderr) == (0, "")
    if "--json" in arguments:
        json.loads(done.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "small.toml"],
        ["check", "ucb", "--check", "no-rows"],
        ["run", "small.toml", "--only", "uniform:1"],
        ["bench", "epsilon", "--rows", "2", "--horizon", "4"],
    ],
)
def test_every_command_that_plays_says_so_once(arguments: list[str], small: Path) -> None:
    fake = numba_that(INSTANT, small)
    assert [corral(small, *arguments, **fake).stderr for _ in range(2)] == [f"{ONCE}\n", ""]


@pytest.mark.parametrize(
    "arguments",
    [["run", "small.toml"], ["run", "small.toml", "--quiet", "--json"], ["check", "ucb"], ["bench"], ["--version"]],
)
def test_a_wish_that_means_nothing_is_one_sentence(arguments: list[str], small: Path) -> None:
    done = corral(small, *arguments, CORRAL_KERNELS="nonsense")
    said = "Error: CORRAL_KERNELS must be numpy or numba, not nonsense\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("arguments", [["run", "small.toml"], ["check", "ucb"], ["bench", "epsilon", "--rows", "2"]])
def test_a_numba_that_is_wanted_but_broken_is_one_sentence(arguments: list[str], small: Path) -> None:
    broken = numba_that("raise RuntimeError('no compiler')", small)
    done = corral(small, *arguments, CORRAL_KERNELS="numba", **broken)
    said = "Error: CORRAL_KERNELS is numba, but numba cannot be imported: RuntimeError: no compiler\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_a_broken_numba_does_not_end_a_run(small: Path) -> None:
    broken = numba_that("raise RuntimeError('no compiler')", small)
    done = corral(small, "run", "small.toml", "--workers", "1", "--out", "kept", **broken)
    said = "Warning: numba cannot be imported, so numpy plays: RuntimeError: no compiler"
    assert (done.returncode, set(done.stderr.splitlines())) == (0, {said})
    assert '{"kernels": "numpy"}' in (small / "kept" / "journal.jsonl").read_text(), "what really played"
