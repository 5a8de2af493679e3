"""The listings and the ways out of the command line.

Also tests `cli/application.py`, `cli/list_bases.py`, `cli/list_engines.py`, `cli/list_environments.py`,
`cli/list_experiments.py`, `cli/list_metas.py` and `cli/plugins.py`.
"""

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import Annotated

import pytest
import typer

from corral_core import __version__, cli
from corral_core.cli import application
from corral_core.errors import CorralError
from corral_core.kernels.twins import described
from corral_core.registry.discovery import Candidate, Plugins
from corral_core.registry.names import Registry, get_registry
from corral_core.terminal import show_table

CORRAL = (sys.executable, "-c", "from corral_core.cli import main; main()")


def corral(*arguments: str) -> int | str | None:
    """Run the command here; return its exit code."""
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    return stop.value.code


@pytest.mark.parametrize("kind", ["base", "meta", "environment", "experiment"])
def test_a_listing_in_json_has_three_fields(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert corral(f"list-{kind}s", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert all(list(each) == ["name", "plugin", "summary"] for each in listed)
    expected = [entry for entry in get_registry().plugins.entries if entry.kind == kind]
    assert [each["name"] for each in listed] == sorted(entry.name for entry in expected)


def test_a_listing_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("list-metas") == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "summary", "plugin"]
    assert [row.split()[0] for row in rows] == [entry.name for entry in get_registry().entries("meta")]


def test_a_table_in_a_pipe_keeps_rows_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    show_table(("name", "summary"), [("x" * 60, "word [b]ucket :smile: " * 30)])
    _, row = capsys.readouterr().out.splitlines()
    assert row.split() == ["x" * 60, *["word", "[b]ucket", ":smile:"] * 30]


def test_plugins_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("plugins", "--json") == 0
    core = json.loads(capsys.readouterr().out)[0]
    assert list(core) == ["name", "version", "status", "provides", "problems", "seconds"]
    assert (core["name"], core["version"], core["status"]) == ("core", __version__, "loaded")
    assert "uniform" in core["provides"]["meta"]


def test_plugins_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("plugins") == 0
    header, core, *_ = capsys.readouterr().out.splitlines()
    assert header.split() == ["plugin", "version", "status", "import", "provides"]
    assert core.split()[:3] == ["core", __version__, "loaded"]


class SlowEntry(EntryPoint):
    """An entry point whose import takes a while, on a clock that the test moves."""

    def load(self) -> object:
        clock.now += 0.75
        return super().load()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


clock = Clock()


def test_plugins_tells_how_long_imports_took_and_names_the_slow_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral_core.registry.discovery.perf_counter", clock)
    quick = EntryPoint("quick", "corral_mab.plugin", "corral")
    slow = Registry(Plugins([SlowEntry("slow", "corral_linucb.plugin", "corral"), quick]))
    monkeypatch.setattr("corral_core.cli.plugins.get_registry", lambda: slow)
    assert corral("plugins", "--json") == 0
    found = {each["name"]: each["seconds"] for each in json.loads(capsys.readouterr().out)}
    assert found == {"core": 0.0, "quick": 0.0, "slow": 0.75}
    assert corral("plugins") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[3:5] for line in lines if line.startswith("slow ")] == [["750.0", "ms"]]
    assert lines[-1] == (
        "slow: its import took 0.8 s, which delays every command; "
        "import heavy modules inside functions, not in the plugin's module"
    )
    assert not [line for line in lines if line.startswith("quick: ")]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("--version") == 0
    assert capsys.readouterr().out == f"corral {__version__} (kernels: {described()})\n"


def test_a_wrong_option_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert corral("list-bases", "--nonsense") == 2
    assert "--nonsense" in capsys.readouterr().err


def test_a_command_of_a_plugin_that_is_not_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = Registry(Plugins([]))
    monkeypatch.setattr(application, "get_registry", lambda: bare)
    assert corral("plot") == 2
    assert capsys.readouterr().err == (
        "Error: the command plot comes with corral-report, which is not installed (pip install corral-report)\n"
    )


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [(CorralError("no\n such sheep"), 2, "Error: no such sheep\n"), (KeyboardInterrupt(), 130, "Interrupted.\n")],
)
def test_errors_are_one_line(
    error: BaseException,
    code: int,
    line: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("corral_core.cli.list_metas.show", fail)
    assert corral("list-metas") == code
    assert capsys.readouterr() == ("", line)


def test_a_reader_that_leaves_is_no_error() -> None:
    with subprocess.Popen([*CORRAL, "plugins", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_commands_that_cannot_be_built_do_not_take_ours_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def good(app: typer.Typer) -> None:
        app.command("graze")(lambda: None)
        app.command("plugins")(lambda: None)

    def unbuildable(app: typer.Typer) -> None:
        def broken(one: Annotated[int, typer.Option(), typer.Option()]) -> None: ...

        app.command()(broken)

    candidates = [Candidate("good", "1"), Candidate("bad", "1")]
    plugins = get_registry().plugins
    monkeypatch.setattr(plugins, "implementations", lambda hook: zip(candidates, (good, unbuildable), strict=True))
    group = application.command_line.__wrapped__(plugins)
    first, second = (candidate.record() for candidate in candidates)
    assert {"graze", "plugins", "list-bases"} <= set(group.commands)
    assert first.provides == {"command": ("graze",)}
    assert first.problems == ("the command plugins is ignored: the name belongs to the core",)
    assert second.provides == {}
    assert second.problems[0].startswith("corral_commands raised: ")
