"""Generate the reference pages from the code: `python docs/generate.py`.

They show the command line, the catalogue and the public API of the core and of the plugins in this repository,
whatever else is installed. They are built from the objects themselves, not from printed output, so they do not depend
on the width of the terminal or the version of typer.
"""

from __future__ import annotations

import enum
import html
import inspect
import re
import sys
import textwrap
import tomllib
import types
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import corral_core
from corral_core.cli.abilities import abilities
from corral_core.cli.application import command_line
from corral_core.cli.describe import gives, import_line, needs, parameter_rows
from corral_core.registry.discovery import KINDS, Kind, Plugins, Registered
from corral_core.registry.names import Registry

DOCS = Path(__file__).parent
GENERATED = "*This page is generated from the code by `python docs/generate.py`.*"
TITLES = {kind: f"{kind.capitalize()}s" for kind in KINDS} | {"meta": "Meta-algorithms"}
VALUES = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH"}
ATTRIBUTES = {
    "Array": "An array whose first axis is the row, unless its name says otherwise.",
    "PRESETS": "The presets by name: `paper`, `theory` and `practice`.",
    "hookimpl": "Marks a function of a plugin's module as the implementation of a hook.",
    "__version__": "The version of the core.",
}
COMPLETION = ("--install-completion", "--show-completion")


# --- What is installed ------------------------------------------------------------------------------------------------


def repository_plugins() -> list[str]:
    """Names of the plugin distributions in this repository."""
    projects = sorted(DOCS.parent.glob("plugins/*/pyproject.toml"))
    found = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in projects]
    return sorted(project["name"] for project in found if "entry-points" in project)  # corral-kit has no hooks


def load_plugins(found: Iterable[EntryPoint]) -> Plugins:
    """The core and the plugins of this repository; exit if one is missing or has a problem."""
    wanted = repository_plugins()
    entries = [entry for entry in found if entry.dist is not None and entry.dist.name in wanted]
    plugins = Plugins(entries)
    command_line(plugins)
    records = plugins.records()
    problems = [f"{record.name}: {problem}" for record in records for problem in record.problems]
    absent = [name for name in wanted if name not in {record.name for record in records}]
    problems += [f"{name} is not installed: pip install -e plugins/{name}" for name in absent]
    if problems:
        sys.exit("\n".join(problems))
    return plugins


# --- Markdown ---------------------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """A sentence escaped so that markdown interprets only `code`."""
    parts = enumerate(re.split(r"`([^`]+)`", " ".join(text.split())))
    return "".join(code(part) if number % 2 else re.sub(r"([\\*_<>\[\]|#])", r"\\\1", part) for number, part in parts)


def code(text: str) -> str:
    return f"`{text}`" if "|" not in text else f"<code>{html.escape(text).replace('|', '&#124;')}</code>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (header, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a help text; list items stay on separate lines."""
    parts = [
        part for part in re.split(r"\n\s*\n", inspect.cleandoc(text).replace("\b\n", "").partition("\f")[0]) if part
    ]
    return ["\n".join(wrap(plain(item)) for item in re.split(r"\n(?=- )", part)) for part in parts]


def wrap(text: str) -> str:
    later = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, 120, subsequent_indent=later, break_long_words=False, break_on_hyphens=False)


def anchor(heading: str) -> str:
    return "#" + re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


def page(title: str, introduction: str, parts: Iterable[str]) -> str:
    return "\n\n".join([f"# {title}", GENERATED, wrap(introduction), *parts]) + "\n"


# --- The command line -------------------------------------------------------------------------------------------------


def command_line_page(plugins: Plugins) -> str:
    """Every command: its usage, what it does, its arguments and options."""
    group = command_line(plugins)
    owners = {name: record.name for record in plugins.records() for name in record.provides.get("command", ())}
    commands = list(walk(group, ""))
    rows = []
    for name, command in commands:
        first = (paragraphs(command.help or "") or [""])[0].replace("\n", " ")
        rows.append((f"[`corral {name}`]({anchor(f'corral {name}')})", first, owners.get(name.split()[0], "core")))
    parts = [table(("command", "what it does", "provided by"), rows), "## Options of corral itself"]
    parts += [_table("option", taken(group, "option"), group)]
    parts += ["`{}` sets up completion for the current shell, `{}` prints it.".format(*COMPLETION)]
    for name, command in commands:
        parts += described(f"corral {name}", command)
    introduction = (
        "Parts in brackets are optional. An error that you can fix is one line on standard error, with exit code 2. "
        "`-h` and `--help` explain every command."
    )
    return page("The command line", introduction, parts)


def walk(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Commands with their full names, including those of nested groups."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from walk(command, f"{prefix}{name} ")
        else:
            yield prefix + name, command


def described(name: str, command: Any) -> Iterator[str]:
    yield f"## {name}"
    arguments, options = taken(command, "argument"), taken(command, "option")
    yield f"```text\n{' '.join([name, *['[OPTIONS]'] * bool(options), *map(_usage, arguments)])}\n```"
    yield from paragraphs(command.help or "")
    if arguments:
        yield _table("argument", arguments, command)
    if options:
        yield _table("option", options, command)


def taken(command: Any, what: str) -> list[Any]:
    """A command's arguments or options, without those that typer adds."""
    mine = [each for each in command.params if each.param_type_name == what and not each.hidden]
    return [each for each in mine if not set(each.opts) & set(COMPLETION)]


def _usage(argument: Any) -> str:
    name = str(argument.name).upper()
    return (name if argument.required else f"[{name}]") + ("..." if argument.nargs == -1 else "")


def _table(what: str, parameters: Sequence[Any], command: Any) -> str:
    hints = get_type_hints(inspect.unwrap(command.callback), include_extras=True)
    rows = []
    for each in parameters:
        kind, meaning = _value(hints.get(each.name, str))
        if what == "argument":
            name = code(each.name.upper())
        else:
            names = ", ".join(each.opts) + "".join(f" or {other}" for other in each.secondary_opts)
            name = code(names if kind is bool else f"{names} {each.metavar or VALUES.get(kind, each.name.upper())}")
        default = "required" if each.required and what == "option" else ""
        if not each.required and each.default not in (None, False, ..., ()):
            default = code(str(getattr(each.default, "value", each.default)))
        rows.append((name, default, plain(meaning or each.help or "")))
    if any(default for _, default, _ in rows):
        return table((what, "default", "meaning"), rows)
    return table((what, "meaning"), [(name, meaning) for name, _, meaning in rows])


def _value(hint: Any) -> tuple[Any, str]:
    """A parameter's kind of value, and its help and limits, from the annotation of the command's function."""
    meaning = ""
    if hasattr(hint, "__metadata__"):
        for note in hint.__metadata__:
            least, most = getattr(note, "min", None), getattr(note, "max", None)
            meaning += getattr(note, "help", None) or ""
            meaning += f" At least {least}." * (least is not None) + f" At most {most}." * (most is not None)
        hint = get_args(hint)[0]
    while get_origin(hint) in (Union, types.UnionType, list, tuple):
        hint = next(each for each in get_args(hint) if each is not type(None))
    choices = _choices(hint)
    return hint, f"{' or '.join(choices)}: {meaning}" if choices else meaning


def _choices(kind: Any) -> list[str]:
    """The allowed values of a parameter, if they can be listed."""
    if get_origin(kind) is Literal:
        return [str(choice) for choice in get_args(kind)]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [str(each.value) for each in kind]
    return []


# --- The catalogue ----------------------------------------------------------------------------------------------------


def catalogue_page(registry: Registry) -> str:
    """Everything that is registered: by plugin, then by kind."""
    introduction = (
        "Everything that the core and the plugins of this repository provide. `corral describe NAME` shows the same "
        "for anything that is installed, with its source. A parameter whose default is *from the environment* is taken "
        "from the problem that is played, unless you set it. Bases that differ only in *knobs* advance together. In "
        "bounds, s counts the plays of the base. The columns of a base say whether arms may be unavailable (*masks*), "
        "whether it uses features of the arms that change from play to play (*contexts*) or one context for all arms "
        "(*shared contexts*), learns from the plays of other bases (*sharing*), can be saved with a live selection "
        "(*saving*) and can forget an arm that is replaced (*renewing*); *some*: it depends on its parameters."
    )
    parts = []
    for record in registry.plugins.records():
        parts.append(f"## {record.name}")
        for kind in KINDS:
            if mine := [entry for entry in registry.entries(kind) if entry.plugin == record.name]:
                parts += _kind(registry, kind, mine)
    return page("Catalogue", introduction, parts)


def _kind(registry: Registry, kind: Kind, entries: Sequence[Registered]) -> Iterator[str]:
    yield f"### {TITLES[kind]} of {entries[0].plugin}"
    if kind == "experiment":
        rows = [(code(each.name), plain(each.summary), *_size(registry, each)) for each in entries]
        yield table(("name", "question", "environment", "plays", "replicates"), rows)
        return
    if kind == "engine":
        yield table(("name", "summary"), [(code(each.name), plain(each.summary)) for each in entries])
        return
    rows = [(f"[{code(each.name)}]({anchor(f'{kind} {each.name}')})", plain(each.summary)) for each in entries]
    columns: list[dict[str, str]] = [{} for _ in entries]
    if kind == "base":
        columns = [dict(abilities(registry.load(kind, each.qualified))) for each in entries]
    cells = [("" if has == "no" else has for has in found.values()) for found in columns]
    yield table(("name", "summary", *columns[0]), [(*row, *more) for row, more in zip(rows, cells, strict=True)])
    for entry in entries:
        yield from _thing(registry, entry)


def _thing(registry: Registry, entry: Registered) -> Iterator[str]:
    cls = registry.load(entry.kind, entry.qualified)
    yield f"#### {entry.kind.capitalize()} {code(entry.name)}"
    yield f"{plain(entry.summary)}."
    yield code(import_line(entry.target))
    if entry.kind == "base":
        yield wrap(f"Bound U(s, delta): {plain(cls.formula)}")
    if entry.kind == "meta":
        yield wrap(f"Needs {'; '.join(needs(cls))}. It {' and '.join(gives(cls))}.")
    if rows := parameter_rows(cls):
        defaults = ("required", "from the environment", "none")
        yield table(
            ("parameter", "default", "meaning"),
            [
                (code(name), default if default in defaults else code(default), plain(meaning))
                for name, default, meaning in rows
            ],
        )
    else:
        yield "It has no parameters."


def _size(registry: Registry, entry: Registered) -> tuple[str, str, str]:
    source = tomllib.loads(registry.load("experiment", entry.qualified))
    environment = source.get("environment", {}).get("name", "")
    sizes = (source.get(key, "") for key in ("horizon", "replicates"))
    plays, replicates = (f"{size:,}" if isinstance(size, int) else str(size) for size in sizes)
    return code(environment), plays, replicates


# --- The public API ---------------------------------------------------------------------------------------------------


def api_page() -> str:
    """The public names of the core, in the groups of `corral_core/__init__.pyi`."""
    introduction = (
        "Import these names from `corral_core`; they are loaded on first use. Deeper paths are internal and may "
        "change. The pages for authors name the few other modules that you can rely on: `corral_core.testing` and "
        "`corral_core.checks`; the starting points in `corral_core.bases` and `corral_core.environments`; "
        "`corral_core.metas.sampling` for metas, `corral_core.engines.engine` for engines, "
        "`corral_core.kernels.twins` and `corral_core.kernels.sums` for kernels, and "
        "`corral_core.analysis.statistics`. Import the classes of a plugin from its package in the same way: "
        "`from corral_mab import Ucb`."
    )
    parts = []
    for title, names in api_groups():
        parts += [f"## {title}", table(("name", "what it is"), [(_signature(name), _first(name)) for name in names])]
    return page("Public API", introduction, parts)


def api_groups() -> list[tuple[str, list[str]]]:
    """The comments of `__all__` in the stub, each with the names that follow it."""
    stub = (DOCS.parent / "corral_core" / "__init__.pyi").read_text(encoding="utf-8")
    groups: list[tuple[str, list[str]]] = []
    for line in stub.partition("__all__")[2].splitlines()[1:]:
        if heading := re.fullmatch(r"\s*# (.*)", line):
            groups.append((heading[1], []))
        elif name := re.fullmatch(r'\s*"(\w+)",', line):
            groups[-1][1].append(name[1])
    return groups


def _signature(name: str) -> str:
    thing = getattr(corral_core, name)
    if inspect.isclass(thing) or name in ATTRIBUTES:
        return code(name)
    parameters = inspect.signature(thing).parameters.values()
    shown = [f"**{each.name}" if each.kind is each.VAR_KEYWORD else each.name for each in parameters]
    return code(f"{name}({', '.join(shown)})")


def _first(name: str) -> str:
    """The first sentence of a docstring; of an attribute, the string that follows it."""
    thing = getattr(corral_core, name)
    text = ATTRIBUTES[name] if name in ATTRIBUTES else inspect.getdoc(thing)
    first = " ".join((text or "").split("\n\n")[0].split())
    return plain(re.split(r"(?<=[.])\s", first)[0])


# --- All of them ------------------------------------------------------------------------------------------------------


def generate(found: Iterable[EntryPoint] | None = None) -> dict[str, str]:
    """The pages by file name."""
    plugins = load_plugins(entry_points(group="corral") if found is None else found)
    return {
        "command-line.md": command_line_page(plugins),
        "catalogue.md": catalogue_page(Registry(plugins)),
        "api.md": api_page(),
    }


def main() -> None:
    for name, text in generate().items():
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
