"""A run that is ended again and again comes to the same bits as one that nobody disturbs."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CORRAL = (sys.executable, "-c", "from corral_core.cli import main; main()")
MANY = """
horizon = 400
replicates = 40
chunk_size = 2
[environment]
name = "bernoulli-arms"
arms = 4
[meta]
name = "corral"
[[bases]]
name = "ucb"
[[bases]]
name = "epsilon-greedy"
grid = { c = [1, 10] }
[compare]
metas = [{ name = "exp3p" }]
"""


def begin(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*CORRAL, "run", *arguments, "--workers", "2", "--quiet"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_ten_interruptions_change_nothing(sent: signal.Signals, tmp_path: Path) -> None:
    """At random moments: while Python starts, while chunks are played, while they are written."""
    (tmp_path / "many.toml").write_text(MANY)
    rng = random.Random(int(sent))
    kept, codes = [], {signal.SIGKILL: -9, signal.SIGINT: 130}
    for attempt in range(10):
        with begin(tmp_path, "many.toml", "--out", "disturbed") as process:
            before = len(list(tmp_path.glob("disturbed/chunks/*.npz")))
            while attempt and len(list(tmp_path.glob("disturbed/chunks/*.npz"))) == before and process.poll() is None:
                time.sleep(0.01)  # the first is ended while it starts, the others when they have got on a little
            time.sleep(rng.uniform(0, 0.1))
            process.send_signal(sent)
            process.communicate(timeout=60)  # ends only when every process that holds the pipes has ended
        assert process.returncode in ({130, -sent} if attempt == 0 else {codes[sent]})  # at first, Python's own end
        kept.append(len(list((tmp_path / "disturbed").glob("chunks/*.npz"))))
    assert kept == sorted(kept)
    assert kept[-1] >= 9
    for out in ("disturbed", "whole"):
        with begin(tmp_path, "many.toml", "--out", out) as process:
            _, said = process.communicate(timeout=120)
        assert (process.returncode, said) == (0, "")
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path / out, check=True)
    files = [{file.name for file in (tmp_path / out).rglob("*")} for out in ("disturbed", "whole")]
    assert files[0] == files[1]
    assert (tmp_path / "disturbed/SHA256SUMS").read_bytes() == (tmp_path / "whole/SHA256SUMS").read_bytes()


def test_an_interrupt_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(MANY.replace("400", "4000"))
    with begin(tmp_path, "many.toml", "--out", "a folder") as process:
        while not list(tmp_path.glob("a folder/chunks/*.npz")) and process.poll() is None:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    kept = (tmp_path / "a folder/journal.jsonl").read_text().count('"chunk"')
    assert process.returncode == 130
    assert said == f"Interrupted. {kept} of 100 chunks are kept. Resume with: corral run 'a folder'\n"
    assert not list(tmp_path.glob("a folder/chunks/.*"))


@pytest.mark.parametrize("after", [0.001, 0.01, 0.1])
def test_a_second_interrupt_does_not_keep_anyone_waiting(after: float, tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(MANY.replace("400", "400000"))
    with begin(tmp_path, "many.toml", "--out", "out") as process:
        while not (tmp_path / "out/experiment.json").exists() and process.poll() is None:
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)  # a chunk would take minutes
    assert process.returncode != 0


def test_a_run_that_goes_on_takes_no_other_settings(tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(MANY.replace("400", "30"))
    subprocess.run([*CORRAL, "run", "many.toml", "--out", "here"], cwd=tmp_path, check=True, capture_output=True)
    for option in (["--out", "there"], ["--seed", "2"], ["--horizon", "9"], ["--replicates", "9"]):
        done = subprocess.run(
            [*CORRAL, "run", "here", *option], cwd=tmp_path, check=False, capture_output=True, text=True
        )
        assert done.returncode == 2
        assert done.stderr == (
            "Error: here is a run and is resumed with its own settings; "
            "leave out --out, --replicates, --horizon and --seed\n"
        )
    again = subprocess.run([*CORRAL, "run", "./here"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "The curves of every replicate are in here, checksum " in again.stdout


def peak(folder: Path, replicates: int, *options: str) -> float:
    """The most memory that a run takes, in MB."""
    script = (
        "import resource, sys; from corral_core.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, "run", "wide.toml", "--json", "--quiet", *options]
    done = subprocess.run(
        [*command, "--replicates", str(replicates)], cwd=folder, check=True, capture_output=True, text=True
    )
    return float(done.stderr)


@pytest.mark.parametrize("options", [["--engine", "serial"], ["--workers", "3", "--out"]])
def test_memory_does_not_grow_with_the_replicates(options: list[str], tmp_path: Path) -> None:
    """All replicates together would take 80 MB; their final values take 8 bytes each."""
    (tmp_path / "wide.toml").write_text(
        MANY.replace("400", "200")
        .replace("chunk_size = 2", "chunk_size = 50")
        .replace("[1, 10]", str(list(range(1, 40))))
        + 'alone = "none"\n'
    )
    few, many = (
        peak(tmp_path, count, *options, *([f"out-{count}"] if "--out" in options else [])) for count in (150, 850)
    )
    assert many - few < 15, (few, many)


@pytest.mark.parametrize("module", ["typer", "pluggy"])
def test_an_interrupt_while_python_imports_is_one_line(module: str, tmp_path: Path) -> None:
    """The import of a library sends the signal, as Ctrl-C would at that moment."""
    (tmp_path / f"{module}.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [*CORRAL, "list-metas"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")
