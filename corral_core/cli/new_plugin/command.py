"""`corral new-plugin`: write a working plugin for its author to change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from corral_core.errors import CorralError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Licence = Literal["MIT", "BSD-3-Clause", "Apache-2.0", "none"]

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST = 40  # longer names would make lines of the template longer than 120 characters

# Names that would hide something. The template's modules import or define these classes.
CLASSES = (
    "any array base bound class-var feedback generator learner lifted observation policy problem rows self state term"
)
TAKEN = {
    "core": "the package corral_core is Corral itself",
    "corral": "it is the name of Corral itself",
    "kit": "corral-kit is the library that plugins share",
    "conformance": "the template already has a tests/test_conformance.py",
    **dict.fromkeys(CLASSES.split(), "the template uses a class with that name"),
}


def register(app: typer.Typer) -> None:
    app.command("new-plugin")(new_plugin)


def new_plugin(
    name: Annotated[str, typer.Argument(help="Name of the plugin, in lower case with hyphens, like my-algo.")],
    simple: Annotated[
        bool, typer.Option("--simple", help="Write the base in plain Python, one learner at a time, without arrays.")
    ] = False,
    licence: Annotated[Licence, typer.Option(help="Licence of the plugin.")] = "MIT",
    author: Annotated[str | None, typer.Option(help="Author, for LICENSE and pyproject.toml.")] = None,
    into: Annotated[Path, typer.Option(help="Folder to create the plugin in.")] = Path("."),
) -> None:
    """Create a new plugin that works.

    It has a base, an environment, an experiment and their tests.
    """
    name = name.removeprefix("corral-")
    _check_name(name)
    author = _checked_author(name, author)
    folder = into / f"corral-{name}"
    _write(folder, _files(name, simple, licence, author))
    _say_what_next(name, folder)


# --- Checking names and authors -------------------------------------------------------------------------------------


def _check_name(name: str) -> None:
    """Refuse a name that is not valid or that is taken."""
    from keyword import iskeyword

    from corral_core.parsing import shown
    from corral_core.registry.known import PROVIDED

    if not NAME.fullmatch(name):
        rule = "use lower-case letters and digits, in words joined by hyphens, starting with a letter"
        raise CorralError(f"{shown(name)} is not a valid name: {rule}, like {_respelt(name) or 'my-algo'}")
    if len(name) > LONGEST:
        raise CorralError(f"the name {shown(name)} has {len(name)} characters; it must have at most {LONGEST}")
    if iskeyword(name) or iskeyword(_class(name)):
        raise CorralError(f"{name} is a word of the Python language; choose another name, like {name}-bandit")
    if name in TAKEN:
        raise CorralError(f"a plugin cannot be called {name}: {TAKEN[name]}; choose another name, like {name}-bandit")
    if f"corral-{name}" in PROVIDED:
        raise CorralError(f"corral-{name} is one of Corral's own plugins; choose another name, like my-{name}")
    _check_free(name)


def _check_free(name: str) -> None:
    """Refuse a name if another plugin already registers what this plugin would."""
    from corral_core.registry.discovery import KINDS, Kind
    from corral_core.registry.known import known
    from corral_core.registry.names import get_registry

    registry = get_registry()
    provides: list[tuple[Kind, str]] = [("environment", f"{name}-arms"), ("experiment", f"{name}-experiment")]
    provides += [(kind, name) for kind in KINDS]  # a name with two meanings would confuse users
    for kind, called in provides:
        here = {entry.name: entry.plugin for entry in registry.entries(kind)}
        owner = here.get(called) or known(kind).get(called)
        if owner:
            what = "the core" if owner == "core" else owner
            raise CorralError(f"{what} already provides the {kind} {called}; choose another name, like my-{name}")


def _respelt(name: str) -> str | None:
    """The name spelt correctly: MyAlgo, my_algo and "my algo" become my-algo. None if that is impossible."""
    from unicodedata import normalize

    plain = normalize("NFKD", name[: 2 * LONGEST]).encode("ascii", "ignore").decode()
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", plain).lower()
    words = re.sub(r"[^a-z0-9]+", "-", apart).lstrip("-0123456789").rstrip("-").removeprefix("corral-")
    return words if NAME.fullmatch(words) and len(words) <= LONGEST else None


def _checked_author(name: str, author: str | None) -> str:
    from corral_core.parsing import shown

    if author is None:
        return f"The corral-{name} authors"
    if not author.strip() or not author.isprintable():
        raise CorralError(f'--author must be a line of text, like "Ada Lovelace", not {shown(author)}')
    return author.strip()


# --- The template -----------------------------------------------------------------------------------------------------


def _class(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))


def _files(name: str, simple: bool, licence: Licence, author: str) -> dict[str, str]:
    """The text of every file, by its path in the folder."""
    import json
    from datetime import date
    from importlib.resources import files
    from string import Template

    package = f"corral_{name.replace('-', '_')}"
    values = {
        "name": name,
        "distribution": f"corral-{name}",
        "package": package,
        "cls": _class(name),
        "test_file": f"test_{name.replace('-', '_')}.py",
        "core": _compatible(),
        "licence": "" if licence == "none" else f'license = "{licence}"\nlicense-files = ["LICENSE"]\n',
        "author": author,
        "quoted_author": json.dumps(author, ensure_ascii=False),
        "year": str(date.today().year),
    }
    places = {
        "gitignore": ".gitignore",
        "package": package,
        "test_plugin.py": values["test_file"],
    }
    root = files("corral_core.cli.new_plugin") / "template"
    parts = [*_walk(root / "shared"), *_walk(root / ("simple" if simple else "array"))]
    if licence != "none":
        parts.append((("LICENSE",), root / "licences" / f"{licence}.in"))
    return {
        "/".join(places.get(part, part) for part in path): Template(file.read_text("utf-8")).substitute(values)
        for path, file in parts
    }


def _walk(folder: Traversable, above: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Traversable]]:
    """Every template below a folder, with its relative path."""
    found = []
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if each.is_dir():
            found += _walk(each, (*above, each.name))
        elif each.name.endswith(".in"):
            found.append(((*above, each.name.removesuffix(".in")), each))
    return found


def _compatible() -> str:
    """The versions of the core that are compatible with this one."""
    from corral_core import __version__

    major, minor = (int(number) for number in __version__.split(".")[:2])
    return f">={major}.{minor},<{major}.{minor + 1}" if major == 0 else f">={major}.{minor},<{major + 1}"


# --- Writing it -------------------------------------------------------------------------------------------------------


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Write all files or none: into a temporary folder, which is then renamed."""
    import os
    import shutil

    if not folder.parent.is_dir():
        raise CorralError(f"the folder {folder.parent} does not exist; create it, or choose another with --into")
    if os.path.lexists(folder):
        raise CorralError(f"{folder} already exists; move it away, or choose another folder with --into")
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        for path, text in texts.items():
            file = unfinished / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        unfinished.rename(folder)
    except OSError as error:
        raise CorralError(
            f"{folder} cannot be written ({error.strerror or error}); choose another folder with --into"
        ) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _say_what_next(name: str, folder: Path) -> None:
    import os
    from shlex import quote
    from subprocess import list2cmdline

    def quoted(path: str) -> str:
        return list2cmdline([path]) if os.name == "nt" else quote(path)

    path = str(folder)
    steps = {
        f"pip install {quoted(path if os.path.isabs(path) else os.path.join('.', path))}": "install it",
        "corral list-bases": f"lists {name}",
        f"corral check corral-{name}": "check that it follows Corral's rules",
        f"corral run {name}-experiment": "play its experiment",
        f"pytest {quoted(path)}": "run its tests (pip install pytest)",
    }
    print(f"{path} is a plugin with a base, an environment, an experiment and their tests. Try it:\n")
    widest = max(map(len, steps))
    for command, meaning in steps.items():
        print(f"  {command:{widest}}  {meaning}")
    print(f"\nThen put your own algorithm into {folder / ('corral_' + name.replace('-', '_')) / 'base.py'}.")
