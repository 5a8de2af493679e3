"""The generated pages say what the code says."""

from __future__ import annotations

import importlib.util
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from corral_core.cli.application import command_line
from corral_core.registry.discovery import Plugins
from corral_core.registry.names import Registry

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("command-line.md", "catalogue.md", "api.md")


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def complaint(name: str, generated: str) -> str | None:
    """What is wrong with a page as it is written."""
    path = DOCS / name
    if path.exists() and path.read_text(encoding="utf-8") == generated:
        return None
    return f"docs/{name} is out of date: run python docs/generate.py"


def fresh(generator: ModuleType) -> Plugins:
    plugins: Plugins = generator.load_plugins(entry_points(group="corral"))
    return plugins


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_up_to_date(name: str, generator: ModuleType) -> None:
    if said := complaint(name, generator.generate()[name]):
        pytest.fail(said, pytrace=False)


def test_all_pages_are_generated(generator: ModuleType) -> None:
    assert tuple(generator.generate()) == PAGES


def test_a_changed_summary_is_noticed(generator: ModuleType) -> None:
    plugins = fresh(generator)
    assert complaint("catalogue.md", generator.catalogue_page(Registry(plugins))) is None
    plugins.entries = tuple(
        entry._replace(summary="Something else") if entry.name == "uniform" else entry for entry in plugins.entries
    )
    said = complaint("catalogue.md", generator.catalogue_page(Registry(plugins)))
    assert said == "docs/catalogue.md is out of date: run python docs/generate.py"


def test_a_changed_help_is_noticed(generator: ModuleType) -> None:
    plugins = fresh(generator)
    command: Any = command_line(plugins).commands["bench"]
    command.help = "Something else."
    said = complaint("command-line.md", generator.command_line_page(plugins))
    assert said == "docs/command-line.md is out of date: run python docs/generate.py"


def test_other_plugins_widths_and_switches_change_nothing(
    generator: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = EntryPoint("stray", "no_such_module_anywhere", "corral")
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("CORRAL_DISABLED_PLUGINS", "corral-mab")
    assert generator.generate([stray, *entry_points(group="corral")]) == generator.generate()


def test_a_missing_plugin_is_named(generator: ModuleType) -> None:
    with pytest.raises(SystemExit, match="corral-mab is not installed: pip install -e plugins/corral-mab"):
        generator.generate([])


def test_text_means_nothing_to_markdown(generator: ModuleType) -> None:
    assert generator.plain("d* of <z, x_1>\n  and `a_b`") == r"d\* of \<z, x\_1\> and `a_b`"
    assert generator.plain("`a|b`, c|d") == r"<code>a&#124;b</code>, c\|d"  # a bar would end the cell of a table
