"""The public API: imported on first use, documented, and the same for people, type checkers and the documentation."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
from pluggy import HookimplMarker

import corral_core
from corral_core.lazy import public_names

ROOT = Path(__file__).parent.parent
API = ROOT / "docs" / "api.md"
STUB = ROOT / "corral_core" / "__init__.pyi"
PACKAGES = sorted(path.parent.name for path in ROOT.glob("plugins/*/corral_*/__init__.pyi"))


def attribute_docstring(module: str, name: str) -> str:
    """The string that follows the assignment of a name in a module."""
    body = ast.parse(Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8")).body
    for statement, following in itertools.pairwise(body):
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = following.value if isinstance(following, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                return value.value
    return ""


def documented(package: str, name: str) -> bool:
    """Whether a public name has a docstring of its own; attributes have one that follows them."""
    module = public_names(package)[name]
    thing = getattr(importlib.import_module(module), name)
    if callable(thing) and not isinstance(thing, HookimplMarker | types.GenericAlias):
        return bool((thing.__doc__ or "").strip())
    return bool(attribute_docstring(module, name).strip())


@pytest.mark.parametrize("name", sorted(public_names("corral_core")))
def test_every_public_name_is_documented(name: str) -> None:
    assert documented("corral_core", name), f"{name} has no docstring"
    assert re.search(rf"^\| `{name}", API.read_text(encoding="utf-8"), re.MULTILINE), f"docs/api.md has no {name}"


def test_a_name_without_a_docstring_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("corral_of_tests")
    module.Bare = type("Bare", (), {"__doc__": None})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "corral_of_tests", module)
    monkeypatch.setitem(public_names("corral_core"), "Bare", "corral_of_tests")
    assert not documented("corral_core", "Bare")


def test_the_list_is_the_same_everywhere() -> None:
    (listed,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(STUB.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
    )
    assert set(listed) == {*public_names("corral_core"), "__version__"}
    assert set(corral_core.__all__) == set(public_names("corral_core")) <= set(dir(corral_core))
    names: dict[str, object] = {}
    exec("from corral_core import *", names)
    assert set(corral_core.__all__) <= set(names)


def test_a_public_name_is_the_thing_itself() -> None:
    from corral_core.protocols.base import Base

    assert corral_core.Base is Base
    with pytest.raises(AttributeError, match="module 'corral_core' has no attribute 'Bsae'"):
        _ = corral_core.Bsae  # type: ignore[attr-defined]


@pytest.mark.parametrize("package", PACKAGES)
def test_plugins_have_a_public_api_too(package: str) -> None:
    """Every class that a plugin registers can be imported from its root."""
    module = importlib.import_module(package)
    assert module.__all__
    for name in module.__all__:
        assert inspect.isclass(getattr(module, name))
        assert documented(package, name)
    targets = {
        entry.target.partition(":")[2]
        for entry in corral_core.get_registry().plugins.entries
        if entry.target.startswith(f"{package}.") and entry.kind in ("base", "meta", "environment")
    }
    assert targets <= set(module.__all__)


@pytest.mark.parametrize("package", ["corral_core", *PACKAGES])
def test_importing_a_package_is_light(package: str) -> None:
    script = f"import sys, {package}; print(sorted({{'numpy', 'attrs', 'typer', 'rich'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_type_checkers_see_it(tmp_path: Path) -> None:
    """mypy knows the types behind the names, and names that do not exist."""
    file = tmp_path / "user.py"
    file.write_text(
        "from corral_core import Bandit, Corral, Nonsense, Problem\n"
        "from corral_mab import Ucb\n"
        "reveal_type(Problem().arms)\n"
        "reveal_type(Corral().mixing)\n"
        "Ucb(sclae=1.0)\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file=", "--cache-dir", str(tmp_path / "cache"), str(file)]
    # mypy does not follow the hooks of editable installs.
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(map(str, (ROOT, ROOT / "plugins" / "corral-mab")))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert re.search(r"Revealed type is .*int.*None", done.stdout)
    assert re.search(r"Revealed type is .*'separate'.*'overwrite'", done.stdout)
    assert 'Module "corral_core" has no attribute "Nonsense"' in done.stdout
    assert 'Unexpected keyword argument "sclae"' in done.stdout
