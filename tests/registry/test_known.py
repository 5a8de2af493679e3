"""`registry/known.py` is what the script makes of the plugins in this repository."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from corral_core.registry.known import PROVIDED, known

SCRIPT = Path(__file__).parents[2] / "plugins" / "write_known.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_known", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_up_to_date(script: ModuleType) -> None:
    assert script.TARGET.read_text(encoding="utf-8") == script.text(), "run python plugins/write_known.py"


def test_every_plugin_of_the_repository_is_known() -> None:
    folders = {path.parent.name for path in SCRIPT.parent.glob("*/pyproject.toml")}
    assert set(PROVIDED) == folders - {"corral-kit"}


def test_names_have_one_plugin() -> None:
    assert known("base")["ucb"] == "corral-mab"
    assert known("command")["plot"] == "corral-report"
    for kind in ("base", "environment", "experiment", "command"):
        assert len(known(kind)) == sum(len(kinds.get(kind, ())) for kinds in PROVIDED.values())
