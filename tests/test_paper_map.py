"""The map from the paper to the code points at things that are there, and leaves out nothing that has a number."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from corral_core.registry.names import get_registry

ROOT = Path(__file__).parent.parent
MAP, ERRATA = ROOT / "docs" / "paper.md", ROOT / "docs" / "errata.md"
PLUGINS = sorted(folder for folder in (ROOT / "plugins").iterdir() if (folder / "pyproject.toml").is_file())
PLACES = (ROOT, *PLUGINS, *(plugin / "tests" for plugin in PLUGINS))  # where a path may start

NUMBERED = {
    "Algorithm": "1 2 3 4 5 6 7 8 9",
    "Assumption": "2.1",
    "Definition": "2.1 4.1 5.1 6.4",
    "Figure": "1 2 3",
    "Lemma": "3.1 4.2 4.4 4.5 4.6 4.7 4.8 4.9 6.2 A.1 B.1 B.2 B.3",
    "Proposition": "4.3 6.5",
    "Table": "1 2",
    "Theorem": "3.2 4.10 4.11 5.2 5.3 6.1 6.3 6.6 A.2",
}
ITEMS = {f"{kind} {number}" for kind, numbers in NUMBERED.items() for number in numbers.split()}

KINDS = "|".join([*NUMBERED, "Corollary"])
ITEM = re.compile(rf"(?<!their )\b({KINDS})s? ((?:[A-Z]\.)?\d+(?:\.\d+)?)(?: and ((?:[A-Z]\.)?\d+(?:\.\d+)?))?")
PATH = re.compile(r"`([\w./-]+\.py)`")
NAMED = re.compile(r"`([\w./-]+\.py)`\s+\(((?:`[\w.]+`(?:,\s+)?)+)\)")


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def find(path: str) -> Path | None:
    return next((place / path for place in PLACES if (place / path).is_file()), None)


def tables(text: str) -> list[list[list[str]]]:
    """Every table, as rows of cells; the header comes first."""
    found = re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)
    made = [[[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()] for table in found]
    return [[header, *rows] for header, _, *rows in made]


def defined(path: Path) -> set[str]:
    """Names at the top of a module, and `Class.name` for what a class declares, defines or keeps on `self`."""
    names: set[str] = set()
    for node in ast.parse(read(path)).body:
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
            inside = [name for child in node.body for name in assigned(child)]
            inside += [
                each.attr
                for each in ast.walk(node)
                if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
                if isinstance(each.value, ast.Name) and each.value.id == "self"
            ]
            names |= {f"{node.name}.{name}" for name in inside}
        else:
            names.update(assigned(node))
    return names


def assigned(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


@pytest.mark.parametrize("page", [MAP, ERRATA], ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    paths = set(PATH.findall(read(page)))
    assert len(paths) > 10
    assert not sorted(path for path in paths if find(path) is None)


@pytest.mark.parametrize("page", [MAP, ERRATA], ids=lambda page: page.name)
def test_names_are_defined_where_the_page_says(page: Path) -> None:
    pairs = {(path, name) for path, names in NAMED.findall(read(page)) for name in re.findall(r"`([\w.]+)`", names)}
    assert len(pairs) > 20
    assert not sorted((path, name) for path, name in pairs if (at := find(path)) and name not in defined(at))


def test_experiments_are_registered() -> None:
    named: set[str] = set()
    for header, *rows in tables(read(MAP)):
        named.update(name for cell in header for name in re.findall(r"`([\w-]+)`", cell))
        for column in [number for number, cell in enumerate(header) if cell == "experiment"]:
            named.update(name for row in rows for name in re.findall(r"`([a-z-]+)`", row[column]))
    for sentence in re.findall(r"\bExperiments? ([^.]+)\.", read(ERRATA)):
        named.update(re.findall(r"`([\w-]+)`", sentence))
    assert len(named) > 10
    assert not named - {entry.name for entry in get_registry().entries("experiment")}


def test_every_numbered_item_has_a_row() -> None:
    first = [row[0] for table in tables(read(MAP)) for row in table[1:]]
    listed = {" ".join(match.group(1, 2)) for cell in first if (match := ITEM.match(cell))}
    assert listed == ITEMS


@pytest.mark.parametrize("page", [MAP, ERRATA], ids=lambda page: page.name)
def test_no_item_is_made_up(page: Path) -> None:
    mentioned = {
        f"{kind} {number}" for kind, *numbers in ITEM.findall(re.sub(r"\s+", " ", read(page))) for number in numbers
    }
    assert not {item for item in mentioned if not item.endswith(" ")} - ITEMS


@pytest.mark.parametrize("page", [MAP, ERRATA], ids=lambda page: page.name)
def test_nothing_is_said_to_be_missing(page: Path) -> None:
    """Every plugin that was planned has come."""
    assert not re.findall(r"not\s+here\s+yet", read(page), flags=re.IGNORECASE)


@pytest.mark.parametrize("page", [MAP, ERRATA], ids=lambda page: page.name)
def test_rows_are_as_long_as_their_header(page: Path) -> None:
    for header, *rows in tables(read(page)):
        assert {len(row) for row in rows} == {len(header)}, header
