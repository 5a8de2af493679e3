"""Plugins that claim one name or the core's, broken metadata and other protocols, installed for real."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from wheels import build, corral, install, run_corral

# A base `ucb` that plays badly, so that it cannot be taken for corral-mab's; and an experiment of its own that uses it.
RUSTLER = """
corral_protocol = 1

@hookimpl
def corral_bases():
    return [Entry('ucb', 'Always the first arm', 'corral_rustler_things:Ucb')]

@hookimpl
def corral_metas():
    return [Entry('corral', 'Not the core one', 'corral_rustler_things:Ucb')]

@hookimpl
def corral_experiments():
    return [Entry('rustled', 'Its own ucb', 'corral_rustler_data:rustled.toml')]
"""
COPYCAT = """
@hookimpl
def corral_experiments():
    return [Entry('rustled', 'The name of another experiment', 'corral_rustler_data:rustled.toml')]
"""
THINGS = """
import attrs
import numpy as np
from corral_core import Base, Pick, Rows, Array, parameter

class Nothing(Rows):
    row: Array

@attrs.frozen
class Ucb(Base):
    'Always the first arm.'
    name = 'ucb'
    def init(self, given, rng): return Nothing(given.row.copy())
    def policy(self, state, rows): return Pick(np.zeros(len(rows), dtype=np.int16))
    def act(self, policy, observation, rng): return policy.arm.astype(np.intp)
    def learn(self, state, rows, feedback, rng): pass
"""
EXPERIMENT = """
horizon = 60
replicates = 4

[environment]
name = "bernoulli-arms"
means = [0.1, 0.9]

[[bases]]
name = "ucb"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contested")
    wheels = [
        build(folder, "corral-rustler", "rustler", RUSTLER, THINGS),
        build(folder, "corral-copycat", "copycat", COPYCAT),
        build(
            folder, "corral-future", "future", "corral_protocol = 99\n@hookimpl\ndef corral_bases():\n    return []\n"
        ),
    ]
    found = install(folder, wheels)
    data = found / "corral_rustler_data"
    data.mkdir()
    (data / "__init__.py").touch()
    (data / "rustled.toml").write_text(EXPERIMENT)
    # The folder of 1.0 of a distribution that is shadowed by 2.0, which is no plugin any more.
    for version, points in (("2.0", ""), ("1.0", "[corral]\nghost = nowhere_at_all\n")):
        info = found / ("" if version == "2.0" else "later") / f"corral_ghost-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: corral-ghost\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(points)
    # A foreign distribution whose entry_points.txt has a line without "=", and a second version of a plugin.
    for name, version, points in (("broken-thing", "3.1", "[console_scripts]\noops\n"), ("corral-rustler", "2.0", "")):
        info = found / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(points or "[corral]\nrustler = corral_rustler\n")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bare.toml").write_text(EXPERIMENT)
    for plugin in ("corral-mab", "corral-rustler"):
        (tmp_path / f"{plugin}.toml").write_text(EXPERIMENT.replace('"ucb"', f'"{plugin}:ucb"'))
    both = '[[bases]]\nname = "corral-mab:ucb"\n\n[[bases]]\nname = "corral-rustler:ucb"\n'
    (tmp_path / "both.toml").write_text(EXPERIMENT.replace('[[bases]]\nname = "ucb"\n', both))
    return tmp_path


def regrets(printed: str) -> dict[str, float]:
    return {curve["name"]: curve["mean_regret"] for curve in json.loads(printed)["curves"]}


def refused(site: Path, *arguments: str, cwd: Path | None = None) -> str:
    done = run_corral(site, *arguments, cwd=cwd)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_a_contested_name_is_an_error_with_both_qualified_forms(site: Path, folder: Path) -> None:
    said = (
        "Error: the base ucb is provided by corral-mab and corral-rustler; write corral-mab:ucb or corral-rustler:ucb\n"
    )
    assert refused(site, "run", "bare.toml", cwd=folder) == said


def test_qualified_names_always_work_in_files(site: Path, folder: Path) -> None:
    ours = regrets(corral(site, "run", "corral-mab.toml", "--json", cwd=folder))
    theirs = regrets(corral(site, "run", "corral-rustler.toml", "--json", cwd=folder))
    assert list(ours) == list(theirs) == ["ucb"]
    assert theirs["ucb"] == pytest.approx(60 * 0.8), "it plays the worse arm every time"
    assert ours["ucb"] < 30
    assert regrets(corral(site, "run", "bare.toml", "--json", disabled="corral-rustler", cwd=folder)) == ours
    assert regrets(corral(site, "run", "both.toml", "--json", cwd=folder)) == {
        "corral-mab:ucb": ours["ucb"],
        "corral-rustler:ucb": theirs["ucb"],
    }


def test_qualified_names_always_work_on_the_command_line(site: Path) -> None:
    assert corral(site, "describe", "corral-rustler:ucb").startswith("ucb: a base of corral-rustler\n")
    assert corral(site, "describe", "corral-mab:ucb").startswith("ucb: a base of corral-mab\n")
    both = corral(site, "describe", "ucb")
    assert "a base of corral-mab" in both and "a base of corral-rustler" in both
    assert "base ucb" in corral(site, "check", "corral-rustler:ucb")


def test_an_experiment_of_another_plugin_keeps_working(site: Path) -> None:
    """linear-arms of corral-linucb plays the ucb of corral-mab, whoever else claims the name."""
    short = ("--horizon", "100", "--replicates", "2", "--json")
    there = regrets(corral(site, "run", "linear-arms", *short))
    assert there == regrets(corral(site, "run", "linear-arms", *short, disabled="corral-rustler"))


def test_a_contested_experiment(site: Path, folder: Path) -> None:
    """Its bare name is an error, and `corral reproduce` is not disturbed by it."""
    assert refused(site, "run", "rustled") == (
        "Error: the experiment rustled is provided by corral-copycat and corral-rustler; write "
        "corral-copycat:rustled or corral-rustler:rustled\n"
    )
    claim = '[[claims]]\nof = "Figure 9"\nsays = "It loses something."\nat_least = { ucb = 0.1 }\n'
    (folder / "claimed.toml").write_text((folder / "corral-mab.toml").read_text() + claim)
    told = json.loads(corral(site, "reproduce", "claimed.toml", "--json", "--quiet", cwd=folder))
    assert "linear-arms" in json.dumps(told) and (folder / "reproduction-quick" / "index.html").exists()


def test_names_in_other_spellings(site: Path) -> None:
    assert refused(site, "run", "rate-of-theft").startswith("Error: there is no experiment rate-of-theft; see corral")
    assert run_corral(site, "core:plot").returncode == 2, "it is not the core's"
    assert corral(site, "Corral_Report:plot", "--help").startswith("Usage: corral Corral_Report:plot")
    assert corral(site, "core:list-metas") == corral(site, "list-metas")
    assert corral(site, "describe", "corral-core:corral") == corral(site, "describe", "core:corral")


def test_a_registered_experiment_means_its_own_plugin_first(site: Path, tmp_path: Path) -> None:
    short = ("--horizon", "200", "--replicates", "3", "--json")
    there = regrets(corral(site, "run", "quickstart", *short))
    assert there == regrets(corral(site, "run", "quickstart", *short, disabled="corral-rustler"))
    assert there == regrets(corral(site, "run", "corral-mab:quickstart", *short))
    assert regrets(corral(site, "run", "corral-rustler:rustled", "--json"))["ucb"] == pytest.approx(60 * 0.8)


def test_a_resolved_run_keeps_qualified_names_and_can_be_resumed(site: Path, folder: Path) -> None:
    corral(site, "run", "corral-rustler.toml", "--out", "kept", cwd=folder)
    (point,) = json.loads((folder / "kept" / "experiment.json").read_text())["points"]
    assert point["source"]["bases"] == [{"name": "corral-rustler:ucb"}]
    assert point["source"]["environment"]["name"] == "corral-mab:bernoulli-arms"
    sums = (folder / "kept" / "SHA256SUMS").read_bytes()
    next((folder / "kept" / "chunks").iterdir()).unlink()
    corral(site, "run", "kept", cwd=folder)
    assert (folder / "kept" / "SHA256SUMS").read_bytes() == sums


def test_what_is_wrong_is_told(site: Path) -> None:
    told = {plugin["name"]: plugin for plugin in json.loads(corral(site, "plugins", "--json"))}
    used = told["corral-rustler"]["version"]
    (other,) = {"1.0", "2.0"} - {used}
    assert sorted(told["core"]["problems"]) == [
        "broken-thing 3.1 is skipped: its entry_points.txt cannot be read",
        "corral-ghost is installed twice, as 2.0 (in use) and 1.0; uninstall one of them",
        f"corral-rustler is installed twice, as {used} (in use) and {other}; uninstall one of them",
    ]
    assert told["corral-mab"]["status"] == "loaded", "one broken file removes no plugin"
    assert "corral-ghost" not in told
    assert told["corral-rustler"]["problems"] == [
        "the base ucb is also provided by corral-mab; write corral-rustler:ucb or corral-mab:ucb",
        "the meta corral is ignored: the name belongs to the core",
        "the experiment rustled is also provided by corral-copycat; write corral-rustler:rustled or "
        "corral-copycat:rustled",
    ]
    assert told["corral-mab"]["problems"] == [
        "the base ucb is also provided by corral-rustler; write corral-mab:ucb or corral-rustler:ucb"
    ]
    assert told["corral-copycat"]["problems"] == [
        "the experiment rustled is also provided by corral-rustler; write corral-copycat:rustled or "
        "corral-rustler:rustled"
    ]
    assert (told["corral-future"]["status"], told["corral-future"]["problems"]) == (
        "failed",
        [
            "corral-future was written for protocol 99 of Corral, and corral-core 0.1.0 has protocol 1; upgrade "
            "corral-core"
        ],
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("corral-mab:ucbb", "there is no base corral-mab:ucbb; did you mean corral-mab:ucb or corral-mab:ucb1?"),
        (
            "corral-mba:ucb",
            "there is no base corral-mba:ucb; no plugin corral-mba is installed, did you mean corral-mab?",
        ),
        ("corral-mab:zzz", "corral-mab provides no base of that name, see corral plugins"),
        ("corral_mab:zzz", "corral_mab provides no base of that name, see corral plugins"),
        ("corral-core:ucb", "corral-core provides no base of that name, see corral plugins"),
        (":ucb", "there is no base :ucb"),
        ("corral-mab:", "there is no base corral-mab:"),
    ],
)
def test_a_wrong_qualified_name_is_one_sentence(name: str, said: str, site: Path, folder: Path) -> None:
    (folder / "wrong.toml").write_text(EXPERIMENT.replace('"ucb"', f'"{name}"'))
    sentence = refused(site, "run", "wrong.toml", cwd=folder)
    assert said in sentence and sentence.count("\n") == 1
