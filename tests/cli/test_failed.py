"""`corral run` when a plugin fails: the other curves, a short traceback, the command that replays the chunk.

Also tests `cli/only.py`.
"""

import io
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral_core import cli

sys.path.insert(0, str(Path(__file__).parents[1] / "engines"))
from herd import experiment, herd

CORRAL = (sys.executable, "-c", "from corral_core.cli import main; main()")
SWEEP = '[sweep]\nparameter = "horizon"\nvalues = [10, 20]\n'


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with herd(tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        yield


def corral(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    """Run the command here; return its exit code and what it prints, without the noise of the plugin."""
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    said = capfd.readouterr()
    return stop.value.code, said.out, said.err.replace("noise of an import\n", "")


def write(text: str, name: str = "try.toml") -> str:
    Path(name).write_text(text)
    return name


def blocks(said: str) -> list[list[str]]:
    """What is said about each failed curve, in lines."""
    return [f"Failed: {block}".splitlines() for block in said.split("\nFailed: ")[1:]]


@pytest.mark.parametrize("engine", [["--engine", "serial"], ["--workers", "2"]])
def test_the_other_curves_are_shown_and_the_failed_ones_explained(
    engine: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, said = corral(capfd, "run", write(experiment("raising", "ucb", "far")), "--seed", "3", *engine)
    assert code == 1
    assert [line.split()[0] for line in out.splitlines()[3:]] == ["ucb"]
    raising, far = blocks(said)
    assert raising[0] == "Failed: curve raising, chunk 1, replicates 1 to 2 of 5, in base raising, at play 11 of 60"
    assert raising[1].endswith('corral_herd/bases.py", line 20, in learn')
    assert raising[-2] == "ZeroDivisionError: division by zero"
    replay = "corral run try.toml --seed 3 --only raising:1 --engine serial"
    assert raising[-1] == f"Replay it: {replay} (add --pdb to debug it)"
    assert len(raising) <= 9
    assert far == [
        "Failed: curve far, chunk 1, replicates 1 to 2 of 5, in base far, at play 1 of 60",
        "far: act returned arm 99; bernoulli-arms has 0 to 2",
        "Replay it: corral run try.toml --seed 3 --only far:1 --engine serial (add --pdb to debug it)",
    ]
    again = corral(capfd, *shlex.split(replay)[1:])
    assert again[0] == 1
    assert blocks(again[2]) == [raising[:-1]], "the same chunk fails in the same way"


def test_json_has_the_finished_curves_and_a_list_of_the_failed_ones(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = corral(capfd, "run", write(experiment("far", "ucb")), "--engine", "serial", "--json")
    found = json.loads(out)
    assert (code, [curve["name"] for curve in found["curves"]]) == (2, ["ucb"])
    assert found["failed"] == [
        {
            "name": "far",
            "at": "",
            "point": 1,
            "chunk": 1,
            "error": "far: act returned arm 99; bernoulli-arms has 0 to 2",
            "in": "base far",
            "play": 1,
            "traceback": "",
            "replay": "corral run try.toml --only far:1 --engine serial",
        }
    ]
    _, out, _ = corral(capfd, "run", write(experiment("ucb")), "--engine", "serial", "--json")
    assert "failed" not in json.loads(out)


def test_a_run_that_is_kept_and_swept_is_replayed_from_its_folder_and_not_touched(
    capfd: pytest.CaptureFixture[str],
) -> None:
    file = write(experiment("raising", "ucb") + SWEEP)
    code, out, said = corral(capfd, "run", file, "--engine", "serial", "--out", "a run")
    assert code == 1
    assert "The curves of every replicate" not in out
    (raising,) = blocks(said)
    assert raising[0].startswith("Failed: curve raising, chunk 1, point 2 (horizon = 20), replicates 1 to 2 of 5, in")
    replay = "corral run 'a run' --only raising:2.1 --engine serial"
    assert raising[-2:] == [
        f"Replay it: {replay} (add --pdb to debug it)",
        "9 of 12 chunks are kept. Resume with: corral run 'a run'",
    ]
    before = contents(Path("a run"))
    assert corral(capfd, *shlex.split(replay)[1:])[0] == 1
    code, out, said = corral(capfd, "run", "a run", "--only", "raising:1.3")
    assert (code, said) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == ["horizon", "curve", "raising"]
    assert contents(Path("a run")) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_chunk_alone_has_the_numbers_that_it_has_in_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    """The third chunk has one replicate; the means of all chunks, weighted, are the mean of the run."""
    file = write(experiment("ucb"))
    whole = json.loads(corral(capfd, "run", file, "--engine", "serial", "--json")[1])["curves"][0]
    parts = [json.loads(corral(capfd, "run", file, "--only", f"ucb:{n}", "--json")[1])["curves"][0] for n in (1, 2, 3)]
    assert [part["replicates"] for part in parts] == [2, 2, 1]
    mean = sum(part["replicates"] * part["mean_regret"] for part in parts) / 5
    assert mean == pytest.approx(whole["mean_regret"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "raisin:1"], "--only: there is no curve 'raisin'; did you mean raising?"),
        (["--only", "raising:4"], "--only: raising has chunks 1 to 3, so there is no '4'"),
        (["--only", "raising:0"], "--only: raising has chunks 1 to 3, so there is no '0'"),
        (["--only", "raising:2.1"], "--only: raising has chunks 1 to 3, so there is no '2.1'"),
        (["--only", "raising"], "--only must be CURVE:CHUNK, with numbers from 1, not 'raising'"),
        (["--only", "raising:-1"], "--only must be CURVE:CHUNK, with numbers from 1, not 'raising:-1'"),
        (["--only", "raising:1", "--out", "x"], "--only plays one chunk here and keeps nothing; leave out --out,"),
        (["--only", "raising:1", "--stall", "9"], "--only plays one chunk here and keeps nothing; leave out --out,"),
        (["--pdb"], "--pdb needs --only CURVE:CHUNK, and cannot be used with --json"),
    ],
)
def test_what_only_cannot_mean(arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = corral(capfd, "run", write(experiment("raising", "ucb")), *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: {said}")
    assert err.count("\n") == 1


def test_in_a_sweep_the_point_must_be_given(capfd: pytest.CaptureFixture[str]) -> None:
    file = write(experiment("raising") + SWEEP)
    assert corral(capfd, "run", file, "--only", "raising:1")[2] == (
        "Error: --only must be CURVE:POINT.CHUNK, because try sweeps over points, not 'raising:1'\n"
    )
    assert corral(capfd, "run", file, "--only", "raising:3.1")[2] == (
        "Error: --only: raising has points 1 to 2 and chunks 1 to 3, so there is no '3.1'\n"
    )


def test_the_debugger_opens_in_the_frame_of_the_plugin(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("p len(rows)\nup\np feedback.action.shape\nq\n"))
    code, out, _ = corral(capfd, "run", write(experiment("raising")), "--only", "raising:1", "--pdb")
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "ZeroDivisionError: division by zero"
    assert lines[1].endswith("divide()")
    assert lines[3] == "(Pdb) 2"
    assert lines[4].endswith("learn()")
    assert lines[6] == "(Pdb) (2,)"


def test_what_a_plugin_writes_does_not_spoil_json(tmp_path: Path) -> None:
    """To file descriptor 1: at import, in a play, in a check, in this process and in workers."""
    write(experiment("loud", horizon=3))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    commands = (
        ["run", "try.toml", "--engine", "serial"],
        ["run", "try.toml", "--workers", "2"],
        ["run", "try.toml", "--only", "loud:1"],
        ["check", "loud"],
        ["plugins"],
        ["list-bases"],
    )
    for arguments in commands:
        done = subprocess.run([*CORRAL, *arguments, "--json"], env=environment, capture_output=True, text=True)
        json.loads(done.stdout)
        assert "noise of an import" in done.stderr
        if arguments[0] in ("run", "check"):
            assert "noise of a play" in done.stderr
            assert "printed in a play" in done.stderr


def test_a_chunk_that_hangs_is_ended_and_the_rest_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, said = corral(capfd, "run", write(experiment("hanging", "ucb")), "--workers", "1", "--stall", "6")
    assert code == 2
    assert out.splitlines()[-1].split()[0] == "ucb"
    assert blocks(said) == [
        [
            "Failed: curve hanging, chunk 1, replicates 1 to 2 of 5",
            "its worker made no progress for 6 s and was killed, twice",
            "Replay it: corral run try.toml --only hanging:1 --engine serial (add --pdb to debug it)",
        ]
    ]


def test_the_debugger_shows_where_a_plugin_hangs(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C arrives while the base sleeps."""

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupted)
    monkeypatch.setattr(sys, "stdin", io.StringIO("up\nq\n"))
    code, out, said = corral(capfd, "run", write(experiment("hanging")), "--only", "hanging:1", "--pdb")
    assert (code, said) == (130, "Interrupted.\n")
    assert any(line.endswith("learn()") for line in out.splitlines())
