"""Discovery survives every plugin, and says what is wrong with it.

Also tests `hookspecs.py` and `registry/builtin.py`.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from corral_core import __version__, hookspecs
from corral_core.cli.application import command_line
from corral_core.registry.discovery import HOOKS, Plugin, Plugins

Write = Callable[[str, str], EntryPoint]

HEADER = "from corral_core.hookspecs import Entry, hookimpl\n"
GOOD = "@hookimpl\ndef corral_environments():\n    return [Entry('meadow', 'Grass', 'zoo.meadow:Meadow')]\n"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a plugin's module where Python finds it, and give its entry point."""
    monkeypatch.syspath_prepend(tmp_path)
    written: list[str] = []

    def write(name: str, source: str) -> EntryPoint:
        written.append(module := f"plugin_under_test_{len(written)}")
        (tmp_path / f"{module}.py").write_text(HEADER + source, encoding="utf-8")
        return EntryPoint(name, module, "corral")

    yield write
    for module in written:
        sys.modules.pop(module, None)


def bases(*entries: str) -> str:
    return f"@hookimpl\ndef corral_bases():\n    return [{', '.join(entries)}]\n"


def only(plugins: Plugins) -> Plugin:
    _, plugin = plugins.records()
    return plugin


def names(plugins: Plugins, kind: str) -> list[tuple[str, str]]:
    return [(entry.name, entry.plugin) for entry in plugins.entries if entry.kind == kind]


def test_the_core_goes_through_the_same_hooks() -> None:
    plugins = Plugins([])
    (core,) = plugins.records()
    assert (core.name, core.version, core.status, core.problems) == ("core", __version__, "loaded", ())
    assert core.provides["meta"] == ("corral", "exp3p", "original-corral", "uniform")
    assert core.provides["engine"] == ("serial", "processes")
    assert ("corral", "core") in names(plugins, "meta")


def test_hooks_are_those_that_are_specified() -> None:
    assert set(HOOKS) == {name for name in vars(hookspecs) if name.startswith("corral_")}


def test_a_good_plugin_is_registered(write: Write) -> None:
    source = bases("Entry('sheep', 'Follows\\n  the others', 'zoo.sheep:Sheep')", "('cow', 'Stays', 'zoo:Cow')") + GOOD
    plugins = Plugins([write("zoo", source)])
    plugin = only(plugins)
    assert (plugin.name, plugin.status, plugin.problems) == ("zoo", "loaded", ())
    assert dict(plugin.provides) == {"base": ("sheep", "cow"), "environment": ("meadow",)}
    (sheep,) = [entry for entry in plugins.entries if entry.name == "sheep"]
    assert sheep == ("sheep", "zoo", "Follows the others", "zoo.sheep:Sheep", "base")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise RuntimeError('the barn\\nis on fire')", "cannot be imported: RuntimeError: the barn is on fire"),
        ("import no_such_module_anywhere", "No module named 'no_such_module_anywhere'"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("class Odd(BaseException): pass\nraise Odd", "cannot be imported: Odd"),
        ("class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute", "cannot be imported: Mute"),
        ("def broken(:", "SyntaxError"),
    ],
)
def test_a_plugin_that_cannot_be_imported_fails_alone(write: Write, source: str, said: str) -> None:
    plugins = Plugins([write("bad", source), write("good", GOOD)])
    _, bad, good = plugins.records()
    assert bad.status == "failed"
    (problem,) = bad.problems
    assert said in problem
    assert "\n" not in problem
    assert good.status == "loaded"
    assert names(plugins, "environment") == [("meadow", "good")]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "@hookimpl\ndef corral_basis():\n    pass\n",
            "there is no hook corral_basis (did you mean corral_bases?)",
        ),
        ("@hookimpl(specname='coral_metas')\ndef anything():\n    return []\n", "(did you mean corral_metas?)"),
        ("@hookimpl\ndef corral_bases(app):\n    return []\n", "it must be defined as corral_bases()"),
        ("@hookimpl\ndef corral_commands(app=None):\n    pass\n", "it must be defined as corral_commands(app)"),
        ("@hookimpl\ndef corral_commands():\n    pass\n", "it must be defined as corral_commands(app)"),
        ("@hookimpl(wrapper=True)\ndef corral_commands(app):\n    yield\n", "cannot be a wrapper"),
        ("@hookimpl\ndef corral_commands(typer):\n    pass\n", "it must be defined as corral_commands(app)"),
        ("@hookimpl\ndef corral_bases():\n    1 / 0\n", "corral_bases raised: ZeroDivisionError: division by zero"),
        ("@hookimpl\ndef corral_bases():\n    raise SystemExit\n", "corral_bases raised: SystemExit"),
        ("@hookimpl\ndef corral_bases():\n    pass\n", "corral_bases returned NoneType, not a list of Entry"),
        ("@hookimpl\ndef corral_bases():\n    yield Entry('a', 'b', 'c:d')\n", "corral_bases returned generator"),
        ("@hookimpl\ndef corral_bases():\n    return Entry('a', 'b', 'c:d')\n", "corral_bases returned Entry"),
        (bases("'abc'"), "entry 1: it is not an Entry of three non-empty strings"),
        (bases("('a', 'b')"), "not an Entry"),
        (bases("Entry('a', ' ', 'c:d')"), "not an Entry"),
        (bases("Entry('a', None, 'c:d')"), "not an Entry"),
        (bases("Entry('Upper_Case', 'b', 'c:d')"), "the name 'Upper_Case' is not written in lower case"),
        (bases("Entry('a', 'b', 'c.d')"), "the target 'c.d' of a is not written"),
        (bases("Entry('a', 'b', ':d')"), "the target ':d' of a is not written"),
    ],
)
def test_a_broken_hook_is_reported_and_the_others_work(write: Write, source: str, said: str) -> None:
    plugins = Plugins([write("zoo", source + GOOD)])
    plugin = only(plugins)
    assert plugin.status == "loaded"
    (problem,) = plugin.problems
    assert said in problem
    assert names(plugins, "environment") == [("meadow", "zoo")]
    assert names(plugins, "base") == []


def test_one_bad_entry_does_not_spoil_its_neighbours(write: Write) -> None:
    plugins = Plugins([write("zoo", bases("Entry('a', 'first', 'm:a')", "7", "Entry('c', 'third', 'm:c')"))])
    assert names(plugins, "base") == [("a", "zoo"), ("c", "zoo")]
    assert only(plugins).problems == ("corral_bases, entry 2: it is not an Entry of three non-empty strings",)


def test_a_plugin_without_hooks_is_told_so(write: Write) -> None:
    (problem,) = only(Plugins([write("zoo", "def corral_bases():\n    return []\n")])).problems
    assert "is @hookimpl missing?" in problem


@pytest.mark.parametrize("order", [1, -1])
def test_a_name_that_two_claim_is_neithers_and_one_of_the_core_stays_the_cores(write: Write, order: int) -> None:
    mine = "@hookimpl(tryfirst=True)\ndef corral_metas():\n    return [Entry('corral', 'Mine', 'm:a')]\n"
    found = [write("ant", bases("Entry('x', 'y', 'm:a')")), write("bee", bases("Entry('x', 'y', 'm:b')") + mine)]
    plugins = Plugins(found[::order])
    _, ant, bee = plugins.records()
    assert names(plugins, "base") == [("x", "ant"), ("x", "bee")]
    assert [entry.plugin for entry in plugins.entries if entry.name == "corral"] == ["core"]
    assert ant.problems == ("the base x is also provided by bee; write ant:x or bee:x",)
    assert bee.problems == (
        "the base x is also provided by ant; write bee:x or ant:x",
        "the meta corral is ignored: the name belongs to the core",
    )


def test_no_plugin_can_be_the_core(write: Write) -> None:
    plugins = Plugins([write("Core", GOOD)])
    assert (only(plugins).status, only(plugins).problems) == (
        "failed",
        ("it is ignored: the name of its distribution belongs to Corral itself",),
    )
    assert names(plugins, "environment") == []


def test_two_entry_points_of_one_name_both_load(write: Write) -> None:
    plugins = Plugins([write("zoo", bases("Entry('a', 'b', 'm:a')")), write("zoo", GOOD)])
    assert [record.status for record in plugins.records()] == ["loaded"] * 3
    assert {entry.name for entry in plugins.entries} >= {"a", "meadow"}


def test_one_module_behind_two_entry_points_registers_once(write: Write) -> None:
    entry = write("ant", GOOD)
    plugins = Plugins([entry, EntryPoint("ant", entry.value, "corral")])
    assert names(plugins, "environment") == [("meadow", "ant")]
    assert plugins.records()[2].problems == ("the environment meadow is registered twice; the second entry is ignored",)


@pytest.mark.parametrize("declared", ["2", "'1'", "None", "True"])
def test_a_plugin_for_another_protocol_is_refused_in_one_sentence(write: Write, declared: str) -> None:
    plugins = Plugins([write("zoo", f"corral_protocol = {declared}\n" + GOOD)])
    older = "corral-core" if declared == "2" else "zoo"
    versions = f"protocol {declared} of Corral, and corral-core {__version__} has protocol 1"
    said = f"zoo was written for {versions}; upgrade {older}"
    assert (only(plugins).status, only(plugins).problems) == ("failed", (said,))
    assert names(plugins, "environment") == []


@pytest.mark.parametrize("source", ["corral_protocol = 1\n", ""])
def test_a_plugin_for_this_protocol_loads(write: Write, source: str) -> None:
    plugin = only(Plugins([write("zoo", source + GOOD)]))
    assert (plugin.status, plugin.problems) == ("loaded", ())


def test_what_a_plugin_prints_stays_out_of_the_output(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    Plugins([write("loud", "print('hello')\n" + GOOD)])
    assert capsys.readouterr() == ("", "hello\n")


def test_an_interrupt_is_no_problem_of_a_plugin(write: Write) -> None:
    with pytest.raises(KeyboardInterrupt):
        Plugins([write("zoo", "raise KeyboardInterrupt")])


def test_plugins_are_switched_off_by_name(write: Write) -> None:
    found = [write("zoo", "raise RuntimeError"), write("other", GOOD)]
    plugins = Plugins(found, disabled=" Zoo ,, nosuch, ")
    core, other, zoo = plugins.records()
    assert (zoo.status, zoo.problems) == ("disabled", ())
    assert other.status == "loaded"
    assert core.problems == ("CORRAL_DISABLED_PLUGINS names nosuch, which is not an installed plugin",)


def test_unreadable_metadata_leaves_the_core_working() -> None:
    def unreadable() -> Iterable[EntryPoint]:
        raise ValueError("mangled entry_points.txt")
        yield

    (core,) = Plugins(unreadable()).records()
    assert core.problems == ("the installed distributions cannot be read: ValueError: mangled entry_points.txt",)
    assert core.provides["meta"]


def test_records_cannot_be_changed() -> None:
    (core,) = Plugins([]).records()
    with pytest.raises(AttributeError):
        core.name = "mine"  # type: ignore[misc]
    with pytest.raises(TypeError):
        core.provides["base"] = ("mine",)  # type: ignore[index]


def test_a_plugin_that_registers_a_command_twice_keeps_the_first(write: Write) -> None:
    source = "@hookimpl\ndef corral_commands(app):\n    @app.command()\n    def graze():\n        'Eat {}.'\n"
    plugins = Plugins([write("zoo", source.format("grass")), write("zoo", source.format("hay"))])
    group = command_line(plugins)
    assert group.commands["graze"].help == "Eat grass."
    assert plugins.records()[2].problems == ("the command graze is registered twice; the second one is ignored",)
