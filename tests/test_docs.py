"""What the documentation shows works, and it leaves nothing out."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from corral_core.cli.application import COMMANDS, command_line
from corral_core.experiments.claims import stated
from corral_core.experiments.point import parse_point
from corral_core.experiments.source import read, sweep
from corral_core.registry.discovery import HOOKS, KINDS, Plugins
from corral_core.registry.names import get_registry

sys.path.insert(0, str(Path(__file__).parent))
from documentation import PAGES, ROOT, blocks, blocks_and_output, corral, install, python, write


@pytest.fixture
def forget(tmp_path: Path) -> Iterator[None]:
    """What a test imports from its folder is forgotten after it."""
    yield
    for name, module in list(sys.modules.items()):
        where = getattr(module, "__file__", None) or str(list(getattr(module, "__path__", [])))
        if str(tmp_path) in where:
            del sys.modules[name]


@pytest.mark.usefixtures("forget")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_blocks_run(
    page: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All blocks of a page, one after the other, in one namespace, where the files that it shows are."""
    write(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {"__name__": "documentation"}
    printed = ""
    for block, shown in blocks_and_output(page):
        exec(compile(block, str(page), "exec"), names)
        out = capsys.readouterr().out
        assert shown is None or out == shown, "the page shows what is printed"
        printed += out
    if page.name == "plugins.md":
        regret = dict(line.split() for line in printed.splitlines())
        uniform = 1000 * 0.2 * 4 / 5
        assert {name: float(value) < uniform / 2 for name, value in regret.items()} == {
            "thompson": True,
            "simple-thompson": True,
            "corral": True,
        }
    if page.name == "metas.md":
        assert {line.split()[0] for line in printed.splitlines()} == {"greedy-meta", "audition"}
    if page.name == "README.md":
        assert "probability of each base: [" in printed
    if page.name == "live.md":
        assert float(re.findall(r"\[(\S+) ", printed)[0]) > 0.9, "the base that learns should be preferred"
    if page.name == "hooks.md":
        assert printed.startswith("loaded {") and "'command': ('census',)} ()\n" in printed
        often, seldom = re.findall(r"\d+\.\d*", printed)
        assert 1.5 < float(often) / float(seldom) < 2.5, "favoured twice"
    if page.name == "experiments.md":
        assert "after 400 plays, over ucb, epsilon-greedy(c=1)" in printed


def test_the_readme_experiment_is_valid() -> None:
    (text,) = blocks(ROOT / "README.md", "toml")
    for point in sweep(tomllib.loads(text)):
        assert parse_point(point).curves[0].name == "corral"


# --- Nothing is left out ----------------------------------------------------------------------------------------------


def undocumented(names: Iterable[str], text: str) -> list[str]:
    """Names that stand nowhere as code, or after the word corral."""
    return [name for name in names if not re.search(rf"(`|\bcorral ){re.escape(name)}(?![\w.-]*\w)", text)]


def without_a_place(hooks: Iterable[str], text: str) -> list[str]:
    """Hooks that have neither a heading nor a row of a table."""
    return [hook for hook in hooks if not re.search(rf"^(#+|\|) `?{hook}\b", text, flags=re.MULTILINE)]


def test_every_command_hook_and_registered_name_is_documented() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    registry = get_registry()
    command_line(registry.plugins)
    ours = {"core", *(path.name for path in (ROOT / "plugins").iterdir())}
    commands = [name.replace("_", "-") for name in COMMANDS]
    for record in registry.plugins.records():
        commands += record.provides.get("command", ()) if record.name in ours else ()
    names = [entry.name for kind in KINDS for entry in registry.entries(kind) if entry.plugin in ours]
    assert {"corral", "serial", "ucb", "linucb", "quickstart"} <= set(names)
    assert undocumented([*commands, *HOOKS, *names], text) == []


def test_every_hook_has_a_place_on_its_page() -> None:
    assert without_a_place(HOOKS, (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")) == []


def test_what_is_undocumented_is_noticed() -> None:
    text = "`ucb1` and `sup-ucb`, `lin(d=1)`, corral run; ucb alone, exp3 and mycorral walk"
    assert undocumented(["ucb1", "sup-ucb", "lin", "run"], text) == []
    assert undocumented(["ucb", "sup", "exp3", "walk", "herd"], text) == ["ucb", "sup", "exp3", "walk", "herd"]
    text = "# corral_bases\n| `corral_metas()` | x |\nsee `corral_engines`\n### `corral_commands_of_old`"
    assert without_a_place(["corral_bases", "corral_metas"], text) == []
    assert without_a_place(["corral_engines", "corral_commands"], text) == ["corral_engines", "corral_commands"]


def in_navigation(nav: Any) -> list[str]:
    """The pages that a navigation shows, in whatever sections."""
    if isinstance(nav, str):
        return [nav]
    return [page for each in (nav.values() if isinstance(nav, dict) else nav) for page in in_navigation(each)]


def test_every_page_is_in_the_navigation() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert in_navigation([{"A": "a.md"}, {"B": [{"C": "c.md"}, "d.md"]}]) == ["a.md", "c.md", "d.md"]
    shown = in_navigation(nav)
    assert [page.name for page in PAGES[1:] if page.name not in shown] == []
    assert len(shown) == len(set(shown))


# --- The page of hooks ------------------------------------------------------------------------------------------------


def test_the_plugin_of_the_hooks_page_works_installed(tmp_path: Path) -> None:
    write(ROOT / "docs" / "hooks.md", tmp_path)
    install(tmp_path, tmp_path)
    (herd,) = [
        each for each in json.loads(corral(tmp_path, "plugins", "--json").stdout) if each["name"] == "corral-herd"
    ]
    assert (herd["status"], herd["problems"]) == ("loaded", [])
    assert set(herd["provides"]) == {*KINDS, "command"}
    runs = []
    for options in (["--engine", "shortest-first"], ["--workers", "2"]):
        ran = corral(tmp_path, "run", "graze", "--json", *options)
        assert ran.returncode == 0, ran.stderr
        runs.append({each["name"]: each["mean_regret"] for each in json.loads(ran.stdout)["curves"]})
    assert list(runs[0])[:2] == ["corral", "shepherd"]
    assert runs[0] == runs[1]
    assert json.loads(corral(tmp_path, "census", "base", "--json").stdout)["corral-herd"] == 1
    refused = corral(tmp_path, "census", "cow")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("Error: there is no kind cow; there are base, meta")
    script = "import sys, corral_herd.plugin; print(sys.modules.keys() & {'numpy', 'attrs', 'rich'})"
    assert python(tmp_path, script).stdout == "set()\n", "a module of hooks is light"


HEADER = "from corral_core.hookspecs import Entry, hookimpl\n"
BASES = HEADER + "@hookimpl\ndef corral_bases():\n    return [{}]\n"
COMMANDS_THAT = HEADER + "@hookimpl\ndef corral_commands(app):\n    @app.command()\n    def run():\n        'Run.'\n{}"
SHEEP = "Entry('sheep', 'One', 'nowhere:Sheep')"


@pytest.mark.usefixtures("forget")
@pytest.mark.parametrize(
    ("status", "source", "said"),
    [
        ("failed", "raise RuntimeError('no grass')", "corral_herd.plugin cannot be imported: RuntimeError: no grass"),
        ("loaded", "def corral_bases(): pass", "corral_herd.plugin implements no hook (is @hookimpl missing?)"),
        (
            "loaded",
            BASES.format(SHEEP).replace("bases", "basis"),
            "there is no hook corral_basis (did you mean corral_bases?)",
        ),
        (
            "loaded",
            BASES.format(SHEEP).replace("()", "(app)"),
            "corral_bases is ignored: it must be defined as corral_bases()",
        ),
        (
            "loaded",
            BASES.format(SHEEP).replace("hookimpl\ndef", "hookimpl(wrapper=True)\ndef"),
            "corral_bases is ignored: a hook returns what it provides and cannot be a wrapper",
        ),
        ("loaded", BASES.format("1 / 0"), "corral_bases raised: ZeroDivisionError: division by zero"),
        ("loaded", BASES.format("").replace("[]", "None"), "corral_bases returned NoneType, not a list of Entry"),
        (
            "loaded",
            BASES.format("Entry('a', 'b', 'c:d'), 'sheep'"),
            "corral_bases, entry 2: it is not an Entry of three non-empty strings",
        ),
        (
            "loaded",
            BASES.format(SHEEP.replace("sheep", "Sheep_1")),
            "corral_bases, entry 1: the name 'Sheep_1' is not written in lower case with hyphens, like epsilon-greedy",
        ),
        (
            "loaded",
            BASES.format(SHEEP.replace("nowhere:", "corral_herd.bases.")),
            "corral_bases, entry 1: the target 'corral_herd.bases.Sheep' of sheep is not written \"module:name\"",
        ),
        (
            "loaded",
            BASES.format(SHEEP),
            "the base sheep is also provided by corral-flock; write corral-herd:sheep or corral-flock:sheep",
        ),
        (
            "loaded",
            BASES.format(SHEEP.replace("sheep", "corral")).replace("bases", "metas"),
            "the meta corral is ignored: the name belongs to the core",
        ),
        ("loaded", COMMANDS_THAT.format(""), "the command run is ignored: the name belongs to the core"),
        (
            "failed",
            "corral_protocol = 99",
            "corral-herd was written for protocol 99 of Corral, and corral-core 0.1.0 has protocol 1; upgrade "
            "corral-core",
        ),
        (
            "loaded",
            COMMANDS_THAT.format("    raise RuntimeError('no grass')\n"),
            "corral_commands raised: RuntimeError: no grass",
        ),
    ],
)
def test_the_hooks_page_says_what_happens(
    status: str, source: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the table quotes is what `corral plugins` says."""
    for name, text in (("corral_herd", source), ("corral_flock", BASES.format(SHEEP))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plugin.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    flock = [EntryPoint("corral-flock", "corral_flock.plugin", "corral")] if "corral-flock" in said else []
    plugins = Plugins([*flock, EntryPoint("corral-herd", "corral_herd.plugin", "corral")])
    command_line(plugins)
    herd = plugins.records()[-1]
    assert (herd.status, herd.problems) == (status, (said,))
    assert f"`{said}`" in (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")


def test_the_reproduction_speaks_of_every_experiment_that_states_claims() -> None:
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE))
    for entry in get_registry().entries("experiment"):
        for claim in stated(read(entry.name).table).claims:
            assert f"- {claim.of}, ".replace("*", r"\*") in sections[entry.name]
