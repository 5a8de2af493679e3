"""What the documentation shows works, and it leaves nothing out."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from corral_core.cli import COMMANDS
from corral_core.experiment import parse, sweep
from corral_core.plugins import HOOKS
from corral_core.registry import get_registry

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_blocks_run(
    page: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All blocks of a page, one after the other, in one namespace."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "documentation"}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)
    printed = capsys.readouterr().out
    if page.name == "plugins.md":
        regret = dict(line.split() for line in printed.splitlines())
        uniform = 1000 * 0.2 * 4 / 5
        assert {name: float(value) < uniform / 2 for name, value in regret.items()} == {
            "thompson": True,
            "simple-thompson": True,
            "greedy-meta": True,
        }
    if page.name == "README.md":
        assert "probability of each base: [" in printed
    if page.name == "live.md":
        assert float(re.findall(r"\[(\S+) ", printed)[0]) > 0.9, "the base that learns should be preferred"
    if page.name == "experiments.md":
        assert "after 400 plays, over ucb, epsilon-greedy(c=1)" in printed


def test_the_readme_experiment_is_valid() -> None:
    (text,) = blocks(ROOT / "README.md", "toml")
    for point in sweep(tomllib.loads(text)):
        assert parse(point).curves[0].name == "corral"


def test_every_command_hook_and_meta_is_documented() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = [name.replace("_", "-") for name in COMMANDS]
    metas = [entry.name for entry in get_registry().entries("meta") if entry.plugin == "core"]
    missing = [name for name in (*commands, *HOOKS, *metas) if f"`{name}" not in text and f"corral {name}" not in text]
    assert not missing
