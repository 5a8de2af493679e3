"""`corral run`: the JSON, the table, the folder, the progress bar and Ctrl-C."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from corral_core import cli
from corral_core.runs import files

CORRAL = (sys.executable, "-c", "from corral_core.cli import main; main()")
SMALL = """
horizon = 41
replicates = 5
chunk_size = 2
question = "What does it cost not to know?"
[environment]
name = "bernoulli-arms"
means = [0.5, 0.3]
[meta]
name = "corral"
[[bases]]
name = "ucb"
[[bases]]
name = "epsilon-greedy"
[compare]
metas = [{ name = "exp3p" }]
"""
SWEEP = '[sweep]\nparameter = "horizon"\nvalues = [20, 41]\n'


def corral(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run the command here; return what it prints."""
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    said = capsys.readouterr()
    assert (stop.value.code, said.err) == (0, "")
    return said.out


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "small.toml").write_text(SMALL)
    return str(tmp_path / "small.toml")


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(corral(capsys, "run", *arguments, "--json"))
    return found


def untimed(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "curves": [{**curve, "seconds": 0} for curve in found["curves"]]}


def test_json_is_one_object(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, file, "--engine", "serial")
    assert set(found) >= {"name", "seed", "curves"}
    assert (found["name"], found["seed"]) == ("small", 1)
    assert [curve["name"] for curve in found["curves"]] == ["corral", "exp3p", "ucb", "epsilon-greedy"]
    for curve in found["curves"]:
        assert set(curve) >= {"name", "mean_regret", "standard_error", "replicates", "plays", "plays_per_base"}
        assert (curve["replicates"], curve["plays"]) == (5, 41)
        assert 0 <= curve["mean_regret"] <= 41 * 0.2
        assert sum(curve["plays_per_base"].values()) == pytest.approx(41)
    assert set(found["curves"][0]["plays_per_base"]) == {"ucb", "epsilon-greedy"}
    assert found["curves"][0]["choices"][0].startswith("eta = ")


def test_options_replace_what_the_file_says(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, file, "--horizon", "10", "--replicates", "1", "--seed", "7", "--engine", "serial")
    assert found["seed"] == 7
    assert {(curve["plays"], curve["replicates"], curve["standard_error"]) for curve in found["curves"]} == {
        (10, 1, None)
    }


def test_engine_and_workers_change_nothing(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    serial = run_json(capsys, file, "--engine", "serial")
    assert untimed(run_json(capsys, file, "--workers", "2")) == untimed(serial)
    assert untimed(run_json(capsys, file, "--workers", "1")) == untimed(serial)


def test_a_folder_is_written_and_used_again(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    first = run_json(capsys, file, "--engine", "serial", "--out", out)
    assert run_json(capsys, file, "--engine", "serial", "--out", out) == first  # even the seconds it took
    assert f"The curves of every replicate are in {out}" in corral(capsys, "run", file, "--out", out)


def test_a_full_disk_is_one_line(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "flush", full)
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", file, "--json", "--out", str(tmp_path / "out")])
    said = capsys.readouterr()
    assert (stop.value.code, said.out) == (2, "")
    assert said.err == f"Error: {tmp_path / 'out'} cannot be used: No space left on device\n"


def test_the_table(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = corral(capsys, "run", file, "--engine", "serial").splitlines()
    assert lines[0] == "What does it cost not to know?"
    assert lines[1] == "small: 41 plays, 5 replicates, 4 curves, seed 1"
    found = run_json(capsys, file, "--engine", "serial")
    header = next(number for number, line in enumerate(lines) if line.startswith("curve"))
    assert re.split(r"\s\s+", lines[header].strip()) == ["curve", "mean regret", "std. error", "time"]
    for line, curve in zip(lines[header + 1 :], found["curves"], strict=False):
        name, mean, error, _ = re.split(r"\s\s+", line.strip())
        assert name == curve["name"]
        assert (float(mean), float(error)) == pytest.approx(
            (curve["mean_regret"], curve["standard_error"]), rel=0.01, abs=0.01
        )
    plays = next(number for number, line in enumerate(lines) if line.startswith("plays of"))
    assert lines[plays].split() == ["plays", "of", "corral", "exp3p"]
    assert [line.split()[0] for line in lines[plays + 1 :]] == ["ucb", "epsilon-greedy"]


def test_a_sweep_has_a_table_for_every_point_and_one_for_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "swept.toml"
    file.write_text(SMALL + SWEEP)
    said = corral(capsys, "run", str(file), "--engine", "serial")
    assert "up to 41 plays, 5 replicates, 4 curves at 2 points" in said
    assert said.index("\nhorizon = 20\ncurve") < said.index("\nhorizon = 41\ncurve")
    found = run_json(capsys, str(file), "--engine", "serial")
    assert [curve["at"] for curve in found["curves"]] == ["horizon = 20"] * 4 + ["horizon = 41"] * 4
    title, header, *rows = said[said.index("mean regret ±") :].splitlines()
    assert title == "mean regret ± std. error, by horizon"
    assert header.split() == ["curve", "20", "41"]
    for row, short, long in zip(rows, found["curves"][:4], found["curves"][4:], strict=True):
        name, *cells = re.split(r"\s\s+", row.strip())
        assert name == short["name"] == long["name"]
        for cell, curve in zip(cells, (short, long), strict=True):
            mean, error = map(float, cell.split(" ± "))
            assert (mean, error) == pytest.approx((curve["mean_regret"], curve["standard_error"]), rel=0.01, abs=0.01)


def in_terminal(columns: int, *arguments: str) -> str:
    """What a terminal of this width is sent."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    with subprocess.Popen([*CORRAL, *arguments], stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not more:
                break
            said += more
    os.close(ours)
    assert process.returncode == 0
    return said.decode()


def test_a_terminal_of_eighty_columns() -> None:
    """A bar; no line is longer than the screen; no name is broken within a word."""
    said = in_terminal(80, "run", "lower-bound-unknown-rate", "--horizon", "2000", "--engine", "serial")
    assert re.search(r"\d+%.*━", said)
    assert "━" not in in_terminal(80, "run", "lower-bound-unknown-rate", "--horizon", "30", "--quiet")
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said).replace("\r", "\n").split("\n")
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("lower-bound-unknown-rate-base(exponent=0.9,") for line in lines) == 5


def test_there_is_no_bar_in_a_pipe(file: str) -> None:
    command = [*CORRAL, "run", file, "--workers", "2"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"CORRAL_KERNELS": "numpy"}
    )
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("delay", [0.1, 1.5])
@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_an_interrupt_is_one_line_and_leaves_nobody_behind(engine: str, delay: float, tmp_path: Path) -> None:
    """As a terminal does it, to the command and its workers alike: while these start, and while they play."""
    command = [*CORRAL, "run", "epsilon-greedy", "--engine", engine, "--workers", "2", "--out", "out"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not (tmp_path / "out" / "experiment.json").exists():
            time.sleep(0.05)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=30)  # ends only when every process that holds the pipes has ended
    assert process.returncode == 130
    assert re.fullmatch(r"Interrupted\. \d+ of 20 chunks are kept\. Resume with: corral run out\n", said)
    assert not [file for file in tmp_path.rglob(".*") if file.is_file()]


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)])
def test_workers_end_with_the_command(sent: signal.Signals, code: int, tmp_path: Path) -> None:
    """Sent to the command alone, as a scheduler does it."""
    command = [*CORRAL, "run", "epsilon-greedy", "--workers", "2", "--out", "out"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not (tmp_path / "out" / "experiment.json").exists():
            time.sleep(0.05)
        time.sleep(2)
        process.send_signal(sent)
        _, said = process.communicate(timeout=30)  # ends only when every process that holds the pipes has ended
    assert process.returncode == code
    assert "Traceback" not in said
