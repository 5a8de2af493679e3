"""What a run depends on is written down: plugins, the libraries behind them, and their code.

Also tests `runs/code.py`.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from corral_core.experiments.experiment import load_experiment
from corral_core.runs.code import code_digest
from corral_core.runs.run import Run
from corral_core.runs.versions import versions

PONY = """
import attrs
from corral_core.hookspecs import Entry, hookimpl
from corral_mab.bases.ucb import Ucb

@hookimpl
def corral_bases():
    return [Entry("pony", "A UCB under another name", "corral_pony:Pony")]

@attrs.frozen
class Pony(Ucb):
    name = "pony"
"""
EXPERIMENT = """
horizon = 20
replicates = 4
chunk_size = 2
environment = { name = "bernoulli-arms", means = [0.5, 0.4] }
bases = [{ name = "NAME" }]
"""


def distribution(site: Path, name: str, number: str, *lines: str) -> None:
    info = site / f"{name.replace('-', '_')}-{number}.dist-info"
    info.mkdir(parents=True)
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {number}", *lines]
    (info / "METADATA").write_text("\n".join(metadata) + "\n")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A plugin that is a single module, and the libraries behind it."""
    site = tmp_path / "site"
    extras = ["Provides-Extra: fast", "Provides-Extra: dev"]
    needs = ["hay>=1", "missing", 'Oats; extra == "fast"', 'hoof-cleaner; extra == "dev"']
    distribution(site, "corral-pony", "0.3", *extras, *(f"Requires-Dist: {each}" for each in needs))
    (site / "corral_pony-0.3.dist-info" / "entry_points.txt").write_text("[corral]\npony = corral_pony\n")
    (site / "corral_pony.py").write_text(PONY)
    distribution(site, "hay", "1.5", "Requires-Dist: grass (>=2)", 'Requires-Dist: pitchfork; extra == "test"')
    for name, number in [("oats", "7"), ("grass", "2.1"), ("soil", "3"), ("pitchfork", "4"), ("hoof-cleaner", "5")]:
        distribution(site, name, number, "Requires-Dist: soil")
    return site


def corral(site: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from corral_core.cli import main; main()", "run", *arguments, "--quiet"],
        env={**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        cwd=site.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def begun(site: Path, name: str) -> Path:
    """A run of a base that lacks one chunk."""
    (site.parent / f"{name}.toml").write_text(EXPERIMENT.replace("NAME", name))
    done = corral(site, f"{name}.toml", "--out", name)
    assert done.returncode == 0, done.stderr
    next((site.parent / name / "chunks").iterdir()).unlink()
    return site.parent / name


def test_the_libraries_behind_a_plugin_are_written_down(site: Path) -> None:
    """Those that it requires, also for its extras, and those that they require; not tools for tests."""
    found = json.loads((begun(site, "pony") / "versions.json").read_text())
    assert {name: found.get(name) for name in ("corral-pony", "hay", "oats", "grass", "soil")} == {
        "corral-pony": "0.3",
        "hay": "1.5",
        "oats": "7",
        "grass": "2.1",
        "soil": "3",
    }
    assert not {"missing", "pitchfork", "hoof-cleaner", "attrs", "rich"} & set(found)
    assert {"code of core", "code of corral-mab", "code of corral-pony"} <= set(found)
    plain = json.loads((begun(site, "ucb") / "versions.json").read_text())
    assert not {"corral-pony", "hay", "code of corral-pony"} & set(plain), "it plays nothing of that plugin"


def test_another_version_of_a_library_does_not_resume(site: Path) -> None:
    pony, ucb = begun(site, "pony"), begun(site, "ucb")
    (site / "hay-1.5.dist-info").rename(site / "hay-1.6.dist-info")
    metadata = site / "hay-1.6.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("1.5", "1.6"))
    refused = corral(site, str(pony))
    assert refused.returncode == 2
    assert "was started with hay 1.5 (now 1.6); resume it with those" in refused.stderr
    assert corral(site, str(ucb)).returncode == 0


def test_code_that_changed_under_the_same_version_does_not_resume(site: Path) -> None:
    pony, ucb = begun(site, "pony"), begun(site, "ucb")
    (site / "corral_pony.py").write_text(PONY + "# another thought\n")
    refused = corral(site, str(pony))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "was started with corral-pony 0.3 (its code changed, its version did not); resume it with" in refused.stderr
    assert corral(site, str(ucb)).returncode == 0, "it plays nothing of that plugin"
    assert corral(site, str(pony), "--mixed-versions").returncode == 0
    (line,) = [line for line in (pony / "journal.jsonl").read_text().splitlines() if "versions" in line]
    before = json.loads((pony / "versions.json").read_text())
    after = json.loads(line)["versions"]
    assert {name for name in after if after[name] != before[name]} == {"code of corral-pony"}


def test_the_libraries_behind_the_adapters_are_written_down() -> None:
    pytest.importorskip("corral_adapters")
    pytest.importorskip("river")
    found = versions(load_experiment("adapted-bandits").points)
    for name in ("river", "mabwiser", "scikit-learn", "scipy", "gymnasium"):
        assert found[name] == version(name)


def test_a_digest_of_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It follows names and contents of files in a package; caches and what nothing depends on do not count."""
    package = tmp_path / "barn_of_tests"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "stall.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)

    def digest() -> str:
        return code_digest(["barn_of_tests"])

    first = digest()
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "stall.cpython-311.pyc").write_bytes(b"x")
    for ignored in ("py.typed", "README.md", "own.toml", ".hidden.py", "stall.py~"):
        (package / ignored).write_text("x")
    assert digest() == first
    (package / "inner" / "stall.py").rename(package / "inner" / "stable.py")
    second = digest()
    (package / "inner" / "table.npy").write_bytes(b"data that code reads")
    third = digest()
    (package / "inner" / "stable.py").write_text("x = 2\n")
    assert len({first, second, third, digest()}) == 4
    assert code_digest(["nowhere_at_all"]) == code_digest([])


def test_a_run_without_digests_of_code_can_be_read_but_not_resumed(site: Path) -> None:
    """As older versions wrote it."""
    pony = begun(site, "pony")
    found = json.loads((pony / "versions.json").read_text())
    (pony / "versions.json").write_text(json.dumps({key: found[key] for key in found if "code" not in key}))
    journal = pony / "journal.jsonl"
    journal.write_text("".join(line for line in journal.read_text().splitlines(True) if "begun" not in line))
    assert len(Run.open(pony).results()) == 1
    refused = corral(site, str(pony))
    assert refused.returncode == 2
    assert "corral-pony 0.3 (of unknown code)" in refused.stderr


def test_the_kernels_are_recorded_and_never_compared(site: Path) -> None:
    """Whichever kernels play, and in whatever order: the same files and the same checksum."""
    (site.parent / "ucb.toml").write_text(EXPERIMENT.replace("NAME", "ucb"))
    ways = ["numpy", "numba"] if find_spec("numba") else ["numpy"]
    for way in ways:
        assert corral(site, "ucb.toml", "--out", way, CORRAL_KERNELS=way).returncode == 0
        assert Run.open(site.parent / way).versions["kernels"].split()[0] == way
        assert "kernels" not in json.loads((site.parent / way / "versions.json").read_text())
    assert len({(site.parent / way / "SHA256SUMS").read_bytes() for way in ways}) == 1
    next((site.parent / "numpy" / "chunks").iterdir()).unlink()
    resumed = corral(site, "numpy", CORRAL_KERNELS=ways[-1])
    assert (resumed.returncode, resumed.stderr) == (0, "")
    run = Run.open(site.parent / "numpy")
    assert [each.split()[0] for each in run.versions["kernels"].split(", ")] == ways
    assert len(run.all_versions) == 1, "no versions are mixed"


def test_kernels_in_a_journal_of_somebody_else(site: Path) -> None:
    folder = begun(site, "ucb")
    with (folder / "journal.jsonl").open("a") as journal:
        for odd in (3, None, ["numpy"], "x" * 1000, *(f"numba {number}" for number in range(500))):
            journal.write(json.dumps({"kernels": odd}) + "\n")
    found = Run.open(folder).versions["kernels"]
    assert len(found) <= 200 and "xxx" not in found
