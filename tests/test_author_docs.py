"""The pages for authors: the tutorial ends with a plugin that works, and every check is explained."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from corral_core.checks import CHECKS

sys.path.insert(0, str(Path(__file__).parent))
from documentation import ROOT, corral, install, write

TESTING = ROOT / "docs" / "testing.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"


def test_every_check_has_a_row_in_order() -> None:
    text = TESTING.read_text(encoding="utf-8")
    sections = re.split(r"^## Checks for an? .*$", text, flags=re.MULTILINE)[1:]
    for section, checks in zip(sections, CHECKS.values(), strict=True):
        rows = re.findall(r"^\| `([a-z-]+)` \|", section.partition("\n## ")[0], flags=re.MULTILINE)
        assert rows == [check.name for check in checks]


def test_the_screen_of_the_testing_page(tmp_path: Path) -> None:
    """Each line that it shows is printed."""
    write(TESTING, tmp_path)
    ran = corral(tmp_path, "check", "stray:Stray")
    assert ran.returncode == 1
    printed = [line.rstrip() for line in ran.stdout.splitlines()]
    (screen,) = re.findall(r"```text\n(.*?)```", TESTING.read_text(encoding="utf-8"), re.DOTALL)
    assert [line for line in screen.splitlines() if line != "..." and line not in printed] == []


@pytest.fixture
def moss(tmp_path: Path) -> Path:
    """The tutorial's plugin, as if it were installed."""
    assert corral(tmp_path, "new-plugin", "moss", "--into", str(tmp_path)).returncode == 0
    project = tmp_path / "corral-moss"
    shutil.copytree(project / "corral_moss", tmp_path / "corral_moss")
    write(TUTORIAL, tmp_path)
    shutil.copy(tmp_path / "moss.py", tmp_path / "corral_moss" / "base.py")
    install(project, tmp_path)
    return tmp_path


def test_the_plugin_of_the_tutorial(moss: Path) -> None:
    checked = corral(moss, "check", "corral-moss")
    assert checked.returncode == 0, checked.stdout
    ran = corral(moss, "run", "moss-experiment", "--json", "--replicates", "8")
    assert ran.returncode == 0, ran.stderr
    regret = {curve["name"]: curve["mean_regret"] for curve in json.loads(ran.stdout)["curves"]}
    assert regret["moss"] < regret["ucb"] < regret["corral"] < regret["uniform"]
