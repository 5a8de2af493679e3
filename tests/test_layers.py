"""Imports point downwards: from the layers of the design, read from every import statement, late ones too."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = ROOT / "corral_core"

# From the bottom to the top; what stands in one line may import from each other, but not in a circle.
LAYERS = [
    {"errors", "lazy", "suggestions", "terminal", "parsing", "rows", "log", "bounds", "hookspecs", "kernels"},
    {"protocols"},
    {"bases", "environments", "metas", "players"},
    {"selection"},
    {"simulation"},
    {"registry"},
    {"experiments"},
    {"engines"},
    {"runs"},
    {"analysis"},
    {"checks"},
    {"cli"},
    {"testing", "__init__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# `corral_core/__init__.py` sets up the public API with `lazy`; from outside, the root stands for all of it.
ROOT_NAMES = {"__version__"}  # what modules of the core may import from the root


def modules(root: Path, package: str) -> dict[str, Path]:
    """Every module of a package, by its dotted name."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = [package, *path.relative_to(root).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules(CORE, "corral_core")


def imported(path: Path, known: dict[str, Path]) -> Iterator[tuple[str, str]]:
    """Module and name of everything that a file imports, also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert not node.level, f"{path}: relative imports are not used here"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner, "") if inner in known else (node.module, alias.name)


def layer(module: str) -> str:
    """The part of the core that a module belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def inside(module: str) -> list[tuple[str, str]]:
    """What a module of the core imports from the core."""
    found = imported(MODULES[module], MODULES)
    return [(target, name) for target, name in found if target.split(".")[0] == "corral_core"]


def upward(source: str, target: str, name: str) -> bool:
    """Whether an import points to a higher layer."""
    if target == "corral_core":
        return name not in ROOT_NAMES
    if source == "corral_core":
        return target != "corral_core.lazy"
    return LEVEL[layer(target)] > LEVEL[layer(source)]


def test_every_part_has_a_layer() -> None:
    parts = {path.stem for path in CORE.iterdir() if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))}
    assert parts == set(LEVEL)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module: str) -> None:
    wrong = [f"{target} ({name})" for target, name in inside(module) if upward(module, target, name)]
    assert not wrong, f"{module} imports from above: {', '.join(wrong)}"


@pytest.mark.parametrize(
    ("source", "target", "wrong"),
    [
        ("corral_core.rows", "corral_core.protocols.base", True),
        ("corral_core.selection.judge", "corral_core.simulation.record", True),
        ("corral_core.experiments.point", "corral_core.engines.chunks", True),
        ("corral_core.runs.folder", "corral_core.cli.run", True),
        ("corral_core.metas.corral", "corral_core", True),
        ("corral_core.engines.chunks", "corral_core.experiments.point", False),
        ("corral_core.bases.lift", "corral_core.metas.sampling", False),
    ],
)
def test_what_points_upwards_is_seen(source: str, target: str, wrong: bool) -> None:
    assert upward(source, target, "") is wrong


def test_the_core_imports_no_plugin() -> None:
    plugins = {path.name for path in ROOT.glob("plugins/*/corral_*")}
    assert {"corral_mab", "corral_kit", "corral_report"} <= plugins
    found = [
        (module, target)
        for module, path in MODULES.items()
        for target, _ in imported(path, MODULES)
        if target.split(".")[0] in plugins
    ]
    assert not found


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Some circle of a directed graph; empty if there is none."""
    state: dict[str, int] = {}  # 1 while on the path, 2 when done
    path: list[str] = []

    def visit(node: str) -> list[str]:
        state[node] = 1
        path.append(node)
        for following in sorted(graph.get(node, ())):
            if state.get(following) == 1:
                return [*path[path.index(following) :], following]
            if following not in state and (found := visit(following)):
                return found
        state[node] = 2
        path.pop()
        return []

    return next((found for node in graph if node not in state and (found := visit(node))), [])


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}}, ["a", "b", "c", "a"]),
        ({"a": {"b", "c"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"a"}}, ["a", "a"]),
    ],
)
def test_a_circle_is_seen(graph: dict[str, set[str]], found: list[str]) -> None:
    assert circle(graph) == found


def test_no_imports_in_a_circle() -> None:
    """Of modules, and of the packages that they are in."""
    graph = {module: {target for target, _ in inside(module) if target in MODULES} - {module} for module in MODULES}
    graph["corral_core"] = set()  # the public API is imported on first use
    assert circle(graph) == []
    parts: dict[str, set[str]] = {}
    for module, targets in graph.items():
        parts.setdefault(layer(module), set()).update(layer(target) for target in targets)
    assert circle({part: targets - {part, "__init__"} for part, targets in parts.items()}) == []


@pytest.mark.parametrize("package", sorted(path.name for path in ROOT.glob("plugins/*/corral_*")))
def test_plugins_import_what_is_public_from_the_root(package: str) -> None:
    """And no plugin imports the command line of the core, but for the progress of a run that corral-report shows."""
    import corral_core

    (folder,) = ROOT.glob(f"plugins/*/{package}")
    found = [
        f"{path.name}: from {target} import {name}"
        for path in folder.rglob("*.py")
        for target, name in imported(path, {})
        if target.startswith("corral_core.")
        and (name in corral_core.__all__ or target.startswith("corral_core.cli"))
        and target != "corral_core.cli.progress.watcher"
    ]
    assert not found


def test_packages_say_what_they_are_for_in_one_line() -> None:
    for path in CORE.rglob("__init__.py"):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        assert text.partition("\n")[0].endswith("."), path


def test_the_command_that_starts_workers_has_not_loaded_numpy() -> None:
    script = (
        "import sys; from corral_core.engines import workers\n"
        "from corral_core.engines.workers import Worker\n"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
