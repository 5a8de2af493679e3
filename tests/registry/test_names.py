"""Names become things, or one sentence that says what to do.

Also tests `registry/classes.py` and `suggestions.py`.
"""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from corral_core.errors import CorralError
from corral_core.registry.discovery import Kind, Plugins
from corral_core.registry.names import Registry, experiment_file, get_registry

PLUGIN = """
from corral_core.hookspecs import Entry, hookimpl

@hookimpl
def corral_bases():
    return [
        Entry("sheep", "Follows", "zoo_of_tests.animals:Sheep"),
        Entry("cow", "Stays", "zoo_of_tests.animals:Cow"),
        Entry("ghost", "Is not there", "zoo_of_tests.ghosts:Ghost"),
        Entry("bomb", "Goes off", "zoo_of_tests.bomb:Bomb"),
    ]

@hookimpl
def corral_environments():
    return [Entry("meadow", "Grass", "zoo_of_tests.animals:Sheep")]

@hookimpl
def corral_experiments():
    return [
        Entry("meadow", "Sheep on grass", "zoo_of_tests:experiments/meadow.toml"),
        Entry("lost", "No such file", "zoo_of_tests:experiments/lost.toml"),
    ]
"""

ANIMALS = """
from corral_core.protocols.base import Base
from corral_core.protocols.parameters import fitted, parameter

class Sheep(Base):
    name = "sheep"
    init = policy = act = learn = lambda *arguments: None

class Lamb(Sheep):
    age: int = parameter(1, help="in years")

class Egg(Base):
    name = "egg"
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "zoo_of_tests"
    (folder / "experiments").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "plugin.py").write_text(PLUGIN, encoding="utf-8")
    (folder / "animals.py").write_text(ANIMALS, encoding="utf-8")
    (folder / "bomb.py").write_text("raise SystemExit('boom')\n", encoding="utf-8")
    (folder / "experiments" / "meadow.toml").write_text('name = "méadow"\n', encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("zoo_of_tests")]:
        del sys.modules[name]


def zoo(disabled: str = "", name: str = "zoo") -> Registry:
    return Registry(Plugins([EntryPoint(name, "zoo_of_tests.plugin", "corral")], disabled))


def refusal(registry: Registry, kind: Kind, name: str) -> str:
    with pytest.raises(CorralError) as caught:
        registry.load(kind, name)
    return str(caught.value)


def test_entries_are_sorted_by_name(package: Path) -> None:
    assert [entry.name for entry in zoo().entries("base")] == ["bomb", "cow", "ghost", "sheep"]


def test_a_target_is_imported_when_it_is_loaded(package: Path) -> None:
    registry = zoo()
    assert "zoo_of_tests.animals" not in sys.modules
    assert registry.load("base", "sheep").__name__ == "Sheep"
    assert "zoo_of_tests.animals" in sys.modules


@pytest.mark.parametrize(
    ("kind", "target", "sentence"),
    [
        ("environment", "Sheep", "Sheep is not a class derived from Environment"),
        ("base", "Egg", "Egg does not define act and init and learn and policy"),
        ("base", "Lamb", "Lamb has parameters of its own; write @attrs.frozen above the class"),
        ("base", "fitted", "fitted is not a class derived from Base"),
    ],
)
def test_a_target_that_cannot_be_what_it_is_registered_as(
    kind: Kind, target: str, sentence: str, package: Path
) -> None:
    text = PLUGIN.replace('"zoo_of_tests.animals:Sheep"', f'"zoo_of_tests.animals:{target}"')
    (package / "plugin.py").write_text(text, encoding="utf-8")
    name = "meadow" if kind == "environment" else "sheep"
    said = refusal(zoo(), kind, name)
    assert said == f"the {kind} {name} of zoo cannot be loaded from zoo_of_tests.animals:{target}: {sentence}"


def test_an_experiment_is_its_text(package: Path) -> None:
    registry = zoo()
    assert registry.load("experiment", "meadow") == 'name = "méadow"\n'
    assert Path(str(experiment_file(registry.get("experiment", "meadow")))) == package / "experiments" / "meadow.toml"


def test_find_looks_through_every_kind(package: Path) -> None:
    assert [entry.kind for entry in zoo().find("meadow")] == ["environment", "experiment"]
    assert zoo().find("nothing") == []


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("base", "shep", "there is no base shep; did you mean sheep?"),
        ("base", "meadow", "meadow is an environment and an experiment, not a base"),
        ("environment", "sheep", "sheep is a base, not an environment"),
        (
            "base",
            "linucb",
            "the base linucb comes with corral-linucb, which is not installed (pip install corral-linucb)",
        ),
        ("base", "knn-ucbb", "there is no base knn-ucbb; did you mean knn-ucb of corral-nonparam?"),
        ("engine", "zzz", "there is no engine zzz; there are processes, serial"),
        ("base", "cow", "the base cow of zoo cannot be loaded from zoo_of_tests.animals:Cow: AttributeError"),
        ("base", "ghost", "ModuleNotFoundError: No module named 'zoo_of_tests.ghosts'"),
        ("base", "bomb", "SystemExit: boom"),
        ("experiment", "lost", "the experiment lost of zoo cannot be loaded"),
    ],
)
def test_a_refusal_says_what_to_do(package: Path, kind: Kind, name: str, said: str) -> None:
    sentence = refusal(zoo(), kind, name)
    assert said in sentence
    assert "\n" not in sentence


def test_without_plugins_a_refusal_says_where_bases_come_from() -> None:
    assert "pip install corral-mab" in refusal(Registry(Plugins([])), "base", "zzz")


def test_a_plugin_that_is_there_is_not_to_be_installed(package: Path) -> None:
    assert refusal(zoo("corral-glm", "corral-glm"), "base", "ucb-glm").endswith("CORRAL_DISABLED_PLUGINS switches off")
    assert "is installed but does not provide it" in refusal(zoo(name="corral-glm"), "base", "ucb-glm")
    failed = Registry(Plugins([EntryPoint("corral-glm", "zoo_of_tests.bomb", "corral")]))
    assert "fails to load (see corral plugins)" in refusal(failed, "base", "ucb-glm")


def test_the_registry_is_found_once() -> None:
    assert get_registry() is get_registry()
