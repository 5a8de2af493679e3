"""`corral new-plugin`: what it refuses, what it writes, and that what it writes works once installed.

Also tests `cli/new_plugin/command.py`.
"""

from __future__ import annotations

import ast
import errno
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corral_core import cli
from corral_core.cli.new_plugin import command as new_plugin
from corral_core.registry.discovery import NAME

ROOT = Path(__file__).parents[3]
LONG = "a-very-long-name-of-forty-characters-yes"
FORMS = {"array": (), "simple": ("--simple",)}

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Write:
    """Runs the command in an empty folder and returns what it wrote."""
    monkeypatch.chdir(tmp_path)

    def written(name: str, *options: str) -> Path:
        with pytest.raises(SystemExit) as stop:
            cli.main(["new-plugin", name, *options])
        said = capfd.readouterr()
        assert (stop.value.code, said.err) == (0, "")
        return tmp_path / said.out.partition(" is a plugin with")[0]

    return written


def refused(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        cli.main(["new-plugin", *arguments])
    said = capfd.readouterr()
    assert (stop.value.code, said.out) == (2, "")
    assert said.err.startswith("Error: ") and said.err.count("\n") == 1
    return said.err


def contents(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# --- What it refuses ------------------------------------------------------------------------------------------------

WRONG = [
    ("MyAlgo", "like my-algo\n"),
    ("my_algo", "like my-algo\n"),
    ("my algo", "like my-algo\n"),
    ("my.algo", "like my-algo\n"),
    ("corral_demo", "like demo\n"),
    ("../demo", "like demo\n"),
    ("/tmp/demo", "like tmp-demo\n"),
    ("3rd-algo", "like rd-algo\n"),
    ("demo-", "like demo\n"),
    ("-demo", "like demo\n"),
    ("de--mo", "like de-mo\n"),
    ("naïve", "like naive\n"),
    ("demo\n", "like demo\n"),
    ("", "like my-algo\n"),
    ("42", "like my-algo\n"),
    ("corral-", "like my-algo\n"),
    ("猫", "like my-algo\n"),
    ("\ud800", "like my-algo\n"),
    (f"{LONG}s", "has 41 characters; it must have at most 40\n"),
    ("x" * 5000, "has 5000 characters; it must have at most 40\n"),
    ("X" * 5000, "like my-algo\n"),
    ("class", "a word of the Python language"),
    ("none", "a word of the Python language"),
    ("core", "the package corral_core is Corral itself"),
    ("corral", "it is the name of Corral itself"),
    ("conformance", "the template already has a tests/test_conformance.py"),
    ("mab", "corral-mab is one of Corral's own plugins; choose another name, like my-mab\n"),
    ("corral-glm", "corral-glm is one of Corral's own plugins"),
    ("ucb", "corral-mab already provides the base ucb; choose another name, like my-ucb\n"),
    ("ucb-glm", "corral-glm already provides the base ucb-glm"),
    ("gaussian", "corral-mab already provides the environment gaussian-arms"),
]


@pytest.mark.parametrize(("name", "sentence"), WRONG, ids=lambda text: repr(text)[:20])
def test_a_name_that_cannot_be(
    name: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(capfd, "--", name)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("author", ["", "  ", "Ada\nLovelace", "\x7f"])
def test_an_author_is_a_line_of_text(author: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "--author must be a line of text" in refused(capfd, "demo", "--author", author, "--into", str(tmp_path))
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_nothing_is_overwritten(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    there = tmp_path / "corral-demo"
    {"folder": there.mkdir, "file": there.touch, "dangling link": lambda: there.symlink_to("nowhere")}[kind]()
    assert f"{there} already exists; move it away" in refused(capfd, "demo", "--into", str(tmp_path))
    assert list(tmp_path.iterdir()) == [there]


def test_the_folder_to_write_into_must_be_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    for into in ("missing", "file"):
        assert f"the folder {tmp_path / into} does not exist" in refused(capfd, "demo", "--into", str(tmp_path / into))
    assert contents(tmp_path) == {"file"}


FULL = OSError(errno.ENOSPC, "No space left on device")
FORBIDDEN = OSError(errno.EACCES, "Permission denied")


@pytest.mark.parametrize(
    ("method", "raised", "code", "sentence"),
    [
        (
            "write_text",
            FULL,
            2,
            "corral-demo cannot be written (No space left on device); choose another folder with --into",
        ),
        ("mkdir", FORBIDDEN, 2, "corral-demo cannot be written (Permission denied); choose another folder with --into"),
        (
            "rename",
            FORBIDDEN,
            2,
            "corral-demo cannot be written (Permission denied); choose another folder with --into",
        ),
        ("write_text", KeyboardInterrupt(), 130, "Interrupted."),
    ],
)
def test_no_half_written_folder_stays(
    method: str,
    raised: BaseException,
    code: int,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Files are written until the fifth, if any."""
    done, calls = getattr(Path, method), []

    def fails(self: Path, *arguments: Any, **options: Any) -> Any:
        calls.append(self)
        if method != "write_text" or len(calls) == 5:
            raise raised
        return done(self, *arguments, **options)

    monkeypatch.setattr(Path, method, fails)
    with pytest.raises(SystemExit) as stop:
        cli.main(["new-plugin", "demo", "--into", str(tmp_path)])
    said = capfd.readouterr().err
    assert stop.value.code == code
    assert sentence in said and said.count("\n") == 1
    assert calls and not any(tmp_path.iterdir())


# --- What it writes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_whole_distribution(form: str, write: Write) -> None:
    folder = write("my-algo", *FORMS[form])
    assert folder.name == "corral-my-algo"
    package = {"__init__.py", "base.py", "environment.py", "experiment.toml", "plugin.py", "py.typed"}
    assert contents(folder) == {
        *(".gitignore", "LICENSE", "README.md", "pyproject.toml"),
        *(f"corral_my_algo/{file}" for file in package),
        *("tests/test_my_algo.py", "tests/test_conformance.py"),
    }
    assert {path.name for path in folder.parent.iterdir()} == {"corral-my-algo"}
    assert not [path for path in folder.rglob("*") if path.is_file() and "$" in path.read_text(encoding="utf-8")]
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "corral-my-algo"
    assert project["dependencies"][0] == "corral-core>=0.1,<0.2"
    assert project["entry-points"]["corral"] == {"my-algo": "corral_my_algo.plugin"}
    assert project["optional-dependencies"] == {"test": ["pytest>=8"]}
    assert project["authors"] == [{"name": "The corral-my-algo authors"}]
    base = ast.parse((folder / "corral_my_algo/base.py").read_text(encoding="utf-8"))
    assert "MyAlgo" in [node.name for node in base.body if isinstance(node, ast.ClassDef)]


def test_the_prefix_may_be_written_too(write: Write) -> None:
    assert write("corral-demo").name == "corral-demo"


def test_both_forms_are_the_same_algorithm(write: Write) -> None:
    """The docstring, the parameters and the bound of base.py, and every other file."""
    texts = {}
    for form, options in FORMS.items():
        folder = write("demo", *options)
        texts[form] = {file: (folder / file).read_text(encoding="utf-8") for file in contents(folder)}
        folder.rename(folder.with_name(form))
    array, simple = texts["array"].pop("corral_demo/base.py"), texts["simple"].pop("corral_demo/base.py")
    assert texts["array"] == texts["simple"]
    assert shared_parts(array) == shared_parts(simple)


def shared_parts(source: str) -> list[str]:
    """The docstring of a module; of its class Demo the parameters and the bound."""
    tree = ast.parse(source)
    (demo,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Demo")
    fields = [ast.dump(node) for node in demo.body if isinstance(node, ast.AnnAssign)]
    (bound,) = (node for node in demo.body if isinstance(node, ast.FunctionDef) and node.name == "bound")
    return [ast.get_docstring(tree) or "", *fields, ast.dump(bound)]


LICENCES = {"MIT": "MIT License", "BSD-3-Clause": "BSD 3-Clause License", "Apache-2.0": "Apache License"}


@pytest.mark.parametrize("licence", [*LICENCES, "none"])
def test_licences(licence: str, write: Write) -> None:
    author = 'Zoë "Z" O\'Neil \\ $5 & Co.'
    folder = write("demo", "--licence", licence, "--author", author)
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["authors"] == [{"name": author}]
    assert project.get("license", "none") == licence
    assert (folder / "LICENSE").exists() == ("license-files" in project) == (licence != "none")
    if licence == "none":
        return
    text = (folder / "LICENSE").read_text(encoding="utf-8")
    assert text.strip().startswith(LICENCES[licence])
    assert (author in text) == (licence != "Apache-2.0")
    if licence == "MIT":
        ours = (ROOT / "LICENSE").read_text(encoding="utf-8")
        assert text.partition("\n\nPerm")[2] == ours.partition("\n\nPerm")[2]
    if licence == "Apache-2.0":  # as its stewards publish it
        digest = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
        assert hashlib.sha256((folder / "LICENSE").read_bytes()).hexdigest() == digest


@pytest.mark.parametrize(
    ("version", "range_"), [("0.1.0", ">=0.1,<0.2"), ("0.12.3.dev1", ">=0.12,<0.13"), ("2.3.1", ">=2.3,<3")]
)
def test_the_versions_of_the_core(version: str, range_: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral_core.__version__", version)
    assert new_plugin._compatible() == range_


def test_classes_that_the_template_uses_are_taken(write: Write) -> None:
    """A plugin called base would define a class Base beside the one it imports."""
    used = set()
    for form, options in FORMS.items():
        folder = write("demo", *options)
        for path in (*folder.glob("corral_demo/base.py"), *folder.glob("tests/*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            used |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
            used |= {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
        folder.rename(folder.with_name(form))
    names = {name for name in used if name[0].isupper() and not name.isupper()} - {"Demo", "DemoArms", "Callable"}
    assert names <= {new_plugin._class(name) for name in new_plugin.TAKEN}


@pytest.mark.parametrize("name", ["a", "demo", "my-2nd-algo", LONG, "x" * 40])
def test_it_is_tidy_whatever_the_name(name: str, write: Write) -> None:
    assert NAME.fullmatch(name)
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    for options in FORMS.values():
        folder = write(name, *options)
        for command in (
            ["check", "--config", f"lint.select={json.dumps(lint['select'])}", "--config", "lint.ignore=['RUF009']"],
            ["format", "--check"],
        ):
            ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", str(folder)]
            done = subprocess.run(ruff, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
        folder.rename(folder.with_name(f"tidy-{len(options)}"))


def test_it_is_fully_typed(write: Write, tmp_path: Path) -> None:
    folders = [write("demo"), write("plain", "--simple")]
    sources = [str(path) for folder in folders for path in (*folder.glob("corral_*"), *folder.glob("tests/test_[dp]*"))]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *sources],
        env={**os.environ, "MYPYPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_says_what_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my work").mkdir()
    with pytest.raises(SystemExit):
        cli.main(["new-plugin", "demo", "--into", "my work"])
    said = capfd.readouterr().out
    commands = [line.strip().partition("  ")[0] for line in said.splitlines() if line.startswith("  ")]
    assert commands == [
        "pip install './my work/corral-demo'",
        "corral list-bases",
        "corral check corral-demo",
        "corral run demo-experiment",
        "pytest 'my work/corral-demo'",
    ]


# --- That it works --------------------------------------------------------------------------------------------------


def run(*command: str | Path) -> str:
    """What a command prints, once it has succeeded."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "CORRAL"))}
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """The programs of a fresh Python that has the core, built as for release, and what it needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [*project["project"]["dependencies"], "hatchling>=1.27", "pytest>=8"]
    run(sys.executable, "-m", "venv", tmp_path / "clean")
    programs = tmp_path / "clean" / ("Scripts" if os.name == "nt" else "bin")
    run(programs / "pip", "install", "--quiet", *needed)
    install(programs, ROOT)
    return programs


def install(programs: Path, *folders: Path) -> None:
    """Not editable, and without asking any index."""
    run(programs / "pip", "install", "--quiet", "--no-index", "--no-build-isolation", *folders)


def test_both_forms_work_once_installed(clean: Path, tmp_path: Path) -> None:
    """Written, built, installed and tried with the core's wheel alone: nothing of this folder is on the way."""
    run(clean / "corral", "new-plugin", "demo", "--into", tmp_path)
    run(clean / "corral", "new-plugin", "my-plain", "--simple", "--licence", "none", "--into", tmp_path)
    install(clean, tmp_path / "corral-demo", tmp_path / "corral-my-plain")
    plugins = {plugin["name"]: plugin for plugin in json.loads(run(clean / "corral", "plugins", "--json"))}
    assert list(plugins) == ["core", "corral-demo", "corral-my-plain"]
    assert not any(plugin["problems"] for plugin in plugins.values())
    bases = {base["name"]: base["plugin"] for base in json.loads(run(clean / "corral", "list-bases", "--json"))}
    assert bases == {"demo": "corral-demo", "my-plain": "corral-my-plain"}
    for name in bases:
        assert "Cesa-Bianchi" in run(clean / "corral", "describe", name)
        experiment = (f"{name}-experiment", "--replicates", "2", "--horizon", "200", "--json")
        curves = json.loads(run(clean / "corral", "run", *experiment))["curves"]
        assert [curve["name"] for curve in curves] == [
            *("corral", "uniform"),
            *(f"{name}(scale={scale})" for scale in ("0.2", "1", "10")),
        ]
        run(clean / "corral", "check", name)
        run(clean / "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", tmp_path / f"corral-{name}")
