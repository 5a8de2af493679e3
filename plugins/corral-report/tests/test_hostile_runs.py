"""Run folders that somebody else wrote: every command reads them or refuses them in one sentence."""

import io
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from corral_report import figures, report
from corral_report.page import Page
from corral_report.sizes import BROAD

from corral_core import CorralError, Run, cli
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.point import parse_point
from corral_core.runs import runner
from corral_core.runs.checksums import digest

sys.path.insert(0, str(Path(__file__).parent))
from hostile_runs import damage

SOURCE: dict[str, Any] = {
    "name": "small",
    "horizon": 12,
    "replicates": 3,
    "chunk_size": 2,
    "environment": {"name": "bernoulli-arms", "means": [0.5, 0.4]},
    "meta": {"name": "corral"},
    "bases": [{"name": "ucb"}, {"name": "epsilon-greedy"}],
    "compare": {"alone": "none", "bases": [{"name": "ucb1"}]},
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sound") / "run"
    runner.run_experiment(Experiment([parse_point(SOURCE)]), engine="serial", out=out)
    return out


def content(folder: Path) -> dict[str, bytes | None]:
    """Every byte in a folder."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def outcome(capfd: pytest.CaptureFixture[str], *arguments: str) -> int:
    """The exit code of a command: success, or one sentence and 2."""
    code = 0
    try:
        cli.main(arguments)
    except SystemExit as stop:
        code = int(stop.code or 0)
    said = capfd.readouterr().err
    assert code in (0, 2), said
    if code == 2:
        assert said.startswith("Error: ") and said.count("\n") == 1 and len(said) < 1000, said[:1000]
    return code


def _draw_broad(page: Page, draw: Any, caption: str, description: str) -> None:
    page.figure(figures.svg(draw(size=BROAD)), caption, description, "")


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_whatever_is_in_a_folder_every_command_ends_well(
    seed: int, sound: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 seeded damages; digests in the journal agree with them. Pictures are drawn in one size."""
    monkeypatch.setattr(report, "_draw", _draw_broad)
    folder, out = tmp_path / "run", tmp_path / "out"
    shutil.copytree(sound, folder)
    damage(folder, seed)
    before = content(folder)
    outcome(capfd, "compare", str(folder))
    outcome(capfd, "export", str(folder), "--out", str(out / "tables"), "--format", "csv")
    outcome(capfd, "plot", str(folder), "--out", str(out), "--kind", "plays")
    outcome(capfd, "report", str(folder), "--out", str(tmp_path / "report.html"))
    assert content(folder) == before, "reading changes nothing"
    outcome(capfd, "run", str(folder), "--engine", "serial", "--quiet")


def replaced(folder: Path, file: Path, written: bytes) -> None:
    """Replace a file; the journal agrees."""
    journal = folder / "journal.jsonl"
    before = digest(file.read_bytes())
    file.write_bytes(written)
    journal.write_text(journal.read_text().replace(before, digest(written)))


def described(folder: Path, change: Any) -> None:
    """Change the description; the journal agrees."""
    found = json.loads((folder / "experiment.json").read_text())
    change(found["points"][0])
    replaced(folder, folder / "experiment.json", json.dumps(found).encode())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda point: point.update(replicates=10**12), "replicates must be at most 1,000,000"),
        (lambda point: point.update(replicates=10**6, chunk_size=1), "2,000,000 chunks are too many"),
        (lambda point: point.update(replicates=10**6, chunk_size=10**6), "more than 268,435,456"),
        (lambda point: point.update(horizon=2**31), "horizon must be at most 2,147,483,647"),
        (lambda point: point.update(horizon=13), "horizon and at differ from those of its source"),
        (lambda point: point.update(seed=1.5), "seed must be a whole number, not 1.5"),
        (lambda point: point.update(curves=[]), "curves must be a list of at least one curve"),
        (lambda point: point.update(curves=point["curves"] * 2), "two curves have the same name"),
        (lambda point: point["curves"][0].update(bases=[]), "bases must name at least one base"),
        (lambda point: point["curves"][0].update(name="\x1b[2J"), "has a character that cannot be printed"),
        (lambda point: point["curves"][0].update(name="x" * 10**6), "has 1,000,000 characters, more than 10,000"),
        (lambda point: point["curves"][0].update(exponents=[float("nan")]), "exponents[0] must be finite, not nan"),
        (lambda point: point["curves"][0].update(player="x"), "player must be smooth or plain or boosted, not 'x'"),
        (lambda point: point["source"].update(environment=3), "environment must be a table with a name"),
        (lambda point: point.pop("source"), "needs source"),
    ],
)
def test_a_description_that_nobody_could_play(
    change: Any, said: str, sound: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(sound, folder)
    described(folder, change)
    with pytest.raises(CorralError) as refused:
        Run.open(folder)
    assert said in str(refused.value)
    assert outcome(capfd, "run", str(folder), "--quiet") == 2


def first_chunk(folder: Path) -> Path:
    return sorted((folder / "chunks").iterdir())[0]


def with_array(folder: Path, name: str, array: Any) -> None:
    """Replace an array of the first chunk, or remove it; the journal agrees."""
    file = first_chunk(folder)
    with np.load(file) as found:
        arrays = {**found, name: array}
    written = io.BytesIO()
    np.savez_compressed(written, **{key: value for key, value in arrays.items() if value is not None})
    replaced(folder, file, written.getvalue())


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("regret", np.full((2, 12), np.nan), "regret has a value that is not a finite number"),
        ("reward", np.full((2, 12), np.inf), "reward has a value that is not a finite number"),
        ("reward", np.full((2, 12), 1e200), "reward has a value that is not a finite number"),
        ("reward", None, "it has no reward"),
        ("reward", np.zeros((0, 12)), "reward has another size than the experiment says"),
        ("reward", np.zeros((12, 2)), "reward is not an array of float64 of shape (2, 12)"),
        ("reward", np.zeros((2, 12), ">f8"), "reward is not an array of float64 of shape (2, 12)"),
        ("reward", np.full((2, 12), None), "reward is not an array of float64 of shape (2, 12)"),
        ("plays", np.full((2, 12, 2), -1, np.int32), "plays has a negative number"),
        ("probabilities", np.full((2, 12, 2), np.nan, np.float32), "probabilities has a value that is not a finite"),
        ("another", np.zeros(3), "it has other arrays than a chunk has"),
    ],
)
def test_an_array_that_no_run_writes(name: str, array: Any, said: str, sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(sound, folder)
    with_array(folder, name, array)
    with pytest.raises(CorralError) as refused:
        Run.open(folder).results()
    assert said in str(refused.value)
    first_chunk(folder).unlink()
    assert Run.open(folder).results()


BOMB = """
import resource, sys
from corral_core import Run
from corral_core.cli import main
import corral_report.export, corral_report.report
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def packed_gigabytes(sound: Path) -> bytes:
    """The first chunk with two gigabytes of zeros at the end of its rewards."""
    written = io.BytesIO()
    with zipfile.ZipFile(first_chunk(sound)) as found, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as made:
        for name in found.namelist():
            with made.open(name, "w", force_zip64=True) as packed:
                packed.write(found.read(name))
                for _ in range(2000 if name == "reward.npy" else 0):
                    packed.write(bytes(2**20))
    return written.getvalue()


@pytest.mark.parametrize("lying", [False, True], ids=["honest directory", "lying directory"])
@pytest.mark.parametrize("command", ["compare", "export"])
def test_a_small_file_that_unpacks_to_gigabytes(
    command: str, lying: bool, sound: Path, packed_gigabytes: bytes, tmp_path: Path
) -> None:
    """A command that may use one gigabyte refuses 1.9 MB that unpack to two."""
    folder = tmp_path / "run"
    shutil.copytree(sound, folder)
    file = first_chunk(folder)
    bomb = bytearray(packed_gigabytes)
    if lying:
        place = bomb.rindex(b"reward.npy") - 46
        bomb[place + 24 : place + 28] = (128 + 8 * 24).to_bytes(4, "little")
    assert 1_500_000 < len(bomb) < 2_500_000
    replaced(folder, file, bytes(bomb))
    out = ["--out", str(tmp_path / "out")] if command == "export" else []
    done = subprocess.run(
        [sys.executable, "-c", BOMB, command, str(folder), *out], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "is not a chunk of this run" in done.stderr
