"""The tree: tests mirror the core, names are full and used once, and no file is too long."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = ROOT / "corral_core"
TESTS = ROOT / "tests"
PACKAGES = [CORE, *sorted(ROOT.glob("plugins/*/corral_*"))]
MODULES = sorted(path.relative_to(CORE) for path in CORE.rglob("*.py") if path.name != "__init__.py")
DOCSTRINGS = {
    path.relative_to(TESTS): ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    for path in TESTS.rglob("test_*.py")
}


def has_test(module: Path) -> bool:
    """Whether a module has a test of its name at the same place, or a test's docstring names it."""
    mirror = module.with_name(f"test_{module.name}")
    return mirror in DOCSTRINGS or any(f"`{module.as_posix()}`" in text for text in DOCSTRINGS.values())


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_module_has_its_test(module: Path) -> None:
    assert has_test(module), f"write tests/{module.with_name('test_' + module.name)}, or name `{module}` in a docstring"


def test_a_module_without_a_test_is_noticed() -> None:
    assert not has_test(Path("selection/nowhere.py"))


def test_docstrings_name_modules_that_exist() -> None:
    named = {name for text in DOCSTRINGS.values() for name in re.findall(r"`([a-z_/]+\.py)`", text)}
    assert not [name for name in named if not (CORE / name).exists()]


def test_folders_of_tests_are_those_of_the_core() -> None:
    here = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    assert not [folder for folder in here if not (CORE / folder).is_dir()]


FILES = "__init__ errors parsing suggestions terminal lazy hookspecs rows log bounds testing"
STAGES = "kernels protocols bases environments metas players selection simulation registry"
LATER = "experiments engines runs analysis checks cli"


def test_the_top_level_shows_the_architecture() -> None:
    there = {path.name for path in CORE.iterdir() if path.name != "__pycache__"}
    files = {f"{name}.py" for name in FILES.split()} | {"__init__.pyi", "py.typed"}
    assert there == files | set(f"{STAGES} {LATER}".split())
    assert len(there) <= 28


def test_files_are_shorter_than_400_lines() -> None:
    """All but tests, which may be lists of cases."""
    lengths = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for root in PACKAGES for path in root.rglob("*.py")
    }
    assert not {str(path.relative_to(ROOT)): length for path, length in lengths.items() if length >= 400}


def classes() -> Iterator[tuple[str, Path]]:
    for root in PACKAGES:
        for path in root.rglob("*.py"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    yield node.name, path


def test_no_two_classes_share_a_name() -> None:
    counts = Counter(name for name, _ in classes() if not name.startswith("_"))
    assert not [name for name, count in counts.items() if count > 1]


def test_nothing_outside_tests_looks_like_a_test() -> None:
    assert not [(name, path) for name, path in classes() if name.startswith("Test")]
    for root in PACKAGES:
        names = [path.name for path in root.rglob("*.py")]
        assert not [name for name in names if name.startswith("test_") or name.endswith("_test.py")]
        for path in root.rglob("*.py"):
            functions = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]
            assert not [function.name for function in functions if function.name.startswith("test_")], path
