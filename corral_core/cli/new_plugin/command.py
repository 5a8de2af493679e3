"""`corral new-plugin`: write a plugin that works, for its author to change."""

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
LONGEST = 40  # with longer names the template's lines would pass 120 characters

# Names that would hide something; the classes are those that the template's modules import or define.
CLASSES = (
    "any array base bound class-var feedback generator learner lifted observation policy problem rows self state term"
)
TAKEN = {
    "core": "the package corral_core is Corral itself",
    "corral": "Corral itself is called so",
    "kit": "corral-kit is the library that plugins share",
    "conformance": "tests/test_conformance.py is there already",
    **dict.fromkeys(CLASSES.split(), "the template uses a class of that name"),
}


def register(app: typer.Typer) -> None:
    app.command("new-plugin")(new_plugin)


def new_plugin(
    name: Annotated[str, typer.Argument(help="What it is called, in lower case with hyphens, like my-algo.")],
    simple: Annotated[
        bool, typer.Option("--simple", help="One learner at a time, in plain Python: no arrays.")
    ] = False,
    licence: Annotated[Licence, typer.Option(help="What LICENSE says.")] = "MIT",
    author: Annotated[str | None, typer.Option(help="Who wrote it, for LICENSE and pyproject.toml.")] = None,
    into: Annotated[Path, typer.Option(help="The folder to write it into.")] = Path("."),
) -> None:
    """Write a new plugin: a base, an environment, an experiment and their tests, all working."""
    name = name.removeprefix("corral-")
    _check_name(name)
    author = _checked_author(name, author)
    folder = into / f"corral-{name}"
    _write(folder, _files(name, simple, licence, author))
    _say_what_next(name, folder)


# --- What may not be ------------------------------------------------------------------------------------------------


def _check_name(name: str) -> None:
    """Refuse a name that cannot be one, or that is somebody else's."""
    from keyword import iskeyword

    from corral_core.parsing import shown
    from corral_core.registry.known import PROVIDED

    if not NAME.fullmatch(name):
        rule = "a plugin's name is lower-case letters and digits, in words joined by hyphens, and begins with a letter"
        raise CorralError(f"{shown(name)} is not a name: {rule}, like {_respelt(name) or 'my-algo'}")
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
    """Refuse a name under which somebody registers what this plugin would."""
    from corral_core.registry.discovery import KINDS, Kind
    from corral_core.registry.known import known
    from corral_core.registry.names import get_registry

    registry = get_registry()
    brings: list[tuple[Kind, str]] = [("environment", f"{name}-arms"), ("experiment", f"{name}-experiment")]
    brings += [(kind, name) for kind in KINDS]  # a name that means two things confuses whoever asks for it
    for kind, called in brings:
        here = {entry.name: entry.plugin for entry in registry.entries(kind)}
        owner = here.get(called) or known(kind).get(called)
        if owner:
            what = "the core" if owner == "core" else owner
            raise CorralError(f"{what} brings the {kind} {called} already; choose another name, like my-{name}")


def _respelt(name: str) -> str | None:
    """The name as it would be right: MyAlgo, my_algo and "my algo" are my-algo."""
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
    """Every template below a folder, with its path there."""
    found = []
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if each.is_dir():
            found += _walk(each, (*above, each.name))
        elif each.name.endswith(".in"):
            found.append(((*above, each.name.removesuffix(".in")), each))
    return found


def _compatible() -> str:
    """The versions of the core that promise to work like this one."""
    from corral_core import __version__

    major, minor = (int(number) for number in __version__.split(".")[:2])
    return f">={major}.{minor},<{major}.{minor + 1}" if major == 0 else f">={major}.{minor},<{major + 1}"


# --- Writing it -------------------------------------------------------------------------------------------------------


def _write(folder: Path, texts: dict[str, str]) -> None:
    """All files or none: they are written beside the folder, which then gets its name."""
    import os
    import shutil

    if not folder.parent.is_dir():
        raise CorralError(f"there is no folder {folder.parent}; make it first, or give another with --into")
    if os.path.lexists(folder):
        raise CorralError(f"{folder} exists already; move it away, or write into another folder with --into")
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        for path, text in texts.items():
            file = unfinished / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        unfinished.rename(folder)
    except OSError as error:
        raise CorralError(
            f"{folder} cannot be written ({error.strerror or error}); --into takes another folder"
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
        "corral list-bases": f"{name} is among them",
        f"corral check corral-{name}": "does it keep Corral's rules?",
        f"corral run {name}-experiment": "play its experiment",
        f"pytest {quoted(path)}": "run its tests (pip install pytest)",
    }
    print(f"{path} is a plugin with a base, an environment, an experiment and their tests. Try it:\n")
    widest = max(map(len, steps))
    for command, meaning in steps.items():
        print(f"  {command:{widest}}  {meaning}")
    print(f"\nThen put your own algorithm into {folder / ('corral_' + name.replace('-', '_')) / 'base.py'}.")
