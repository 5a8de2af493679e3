"""Which plugins are installed, what they bring and what is wrong with them: no plugin can stop the others.

Keep this module light: `corral --help` imports it.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Literal, NamedTuple, cast

import pluggy

from corral_core import __version__, hookspecs
from corral_core.errors import reason
from corral_core.registry import builtin

Kind = Literal["base", "meta", "environment", "experiment", "engine"]
KINDS: tuple[Kind, ...] = ("base", "meta", "environment", "experiment", "engine")
HOOKS = (*(f"corral_{kind}s" for kind in KINDS), "corral_commands")

DISABLED = "CORRAL_DISABLED_PLUGINS"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9.]+)*")
TARGET = re.compile(r"[^\s:]+:[^\s:]+")


class Plugin(NamedTuple):
    """A plugin as `corral plugins` shows it; what it brings is the names of each kind, commands among them."""

    name: str
    version: str
    status: Literal["loaded", "failed", "disabled"]
    brings: Mapping[str, tuple[str, ...]]
    problems: tuple[str, ...]


class Registered(NamedTuple):
    """One thing that a plugin brings."""

    name: str
    plugin: str
    summary: str
    target: str
    kind: Kind


class Candidate:
    """A plugin while it is being loaded."""

    def __init__(self, name: str, version: str) -> None:
        self.name = name
        self.version = version
        self.status: Literal["loaded", "failed", "disabled"] = "loaded"
        self.brings: dict[str, list[str]] = {}
        self.problems: list[str] = []

    @contextlib.contextmanager
    def guard(self, what: str) -> Iterator[None]:
        """Turn whatever the plugin's code raises into a problem, and keep what it prints out of our output."""
        try:
            with contextlib.redirect_stdout(sys.stderr):
                yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.problems.append(f"{what}: {reason(error)}")

    def record(self) -> Plugin:
        brings = {kind: tuple(names) for kind, names in self.brings.items()}
        return Plugin(self.name, self.version, self.status, MappingProxyType(brings), tuple(self.problems))


class Holder:
    """One hook implementation, alone: pluggy takes or refuses a registered object as a whole."""

    def __init__(self, owner: Candidate, hook: str, function: object) -> None:
        self.owner = owner
        setattr(self, hook, function)


class Plugins:
    """The core and the plugins behind some entry points, loaded."""

    def __init__(self, found: Iterable[EntryPoint], disabled: str = "") -> None:
        self._manager = pluggy.PluginManager("corral")
        self._manager.add_hookspecs(hookspecs)
        core = Candidate("core", __version__)
        self._candidates = [core]
        self._register(core, builtin)
        entries: list[EntryPoint] = []
        with core.guard("the installed distributions cannot be listed"):
            entries = sorted(found, key=lambda entry: (*_identity(entry), entry.name))
        unwanted = {normal(name): name.strip() for name in disabled.split(",") if name.strip()}
        unmatched = dict(unwanted)
        for entry in entries:
            candidate = Candidate(*_identity(entry))
            self._candidates.append(candidate)
            aliases = {normal(candidate.name), normal(entry.name)}
            if aliases & unwanted.keys():
                candidate.status = "disabled"
                for alias in aliases:
                    unmatched.pop(alias, None)
            else:
                self._load(candidate, entry)
        core.problems += [f"{DISABLED} names {name}, which is not an installed plugin" for name in unmatched.values()]
        self.entries = tuple(self._collect())

    @classmethod
    def installed(cls) -> Plugins:
        """The plugins of this Python, less those that CORRAL_DISABLED_PLUGINS names."""

        def found() -> Iterator[EntryPoint]:
            yield from entry_points(group="corral")

        return cls(found(), os.environ.get(DISABLED, ""))

    def records(self) -> tuple[Plugin, ...]:
        """The core, then every plugin by name; commands are among what they bring once the command line is built."""
        return tuple(candidate.record() for candidate in self._candidates)

    def implementations(self, hook: str) -> Iterator[tuple[Candidate, Callable[..., object]]]:
        """A hook's implementations with their plugins: the core's first, then by the plugin's name."""
        found = [(cast(Holder, each.plugin).owner, each) for each in getattr(self._manager.hook, hook).get_hookimpls()]
        for owner, implementation in sorted(found, key=lambda pair: self._candidates.index(pair[0])):
            yield owner, implementation.function

    def _load(self, candidate: Candidate, entry: EntryPoint) -> None:
        candidate.status = "failed"
        with candidate.guard(f"{entry.value} cannot be imported"):
            module = entry.load()
            candidate.status = "loaded"
            if not self._register(candidate, module):
                candidate.problems.append(f"{entry.value} implements no hook (is @hookimpl missing?)")

    def _register(self, owner: Candidate, module: object) -> int:
        """Register every function marked as a hook implementation, one by one; return how many there are."""
        marked = 0
        for attribute in dir(module):
            options = self._manager.parse_hookimpl_opts(module, attribute)
            if options is None:
                continue
            marked += 1
            hook = options.get("specname") or attribute
            if hook not in HOOKS:
                nearest = difflib.get_close_matches(hook, HOOKS, n=1, cutoff=0)[0]
                owner.problems.append(f"there is no hook {hook} (did you mean {nearest}?)")
                continue
            if options.get("wrapper") or options.get("hookwrapper"):
                owner.problems.append(f"{hook} is ignored: a hook returns what it brings and cannot be a wrapper")
                continue
            function, wanted = getattr(module, attribute), getattr(self._manager.hook, hook).spec.argnames
            if _required(function) != tuple(wanted):
                owner.problems.append(f"{hook} is ignored: it must be defined as {hook}({', '.join(wanted)})")
                continue
            self._manager.register(Holder(owner, hook, function))
        return marked

    def _collect(self) -> Iterator[Registered]:
        """Everything that the plugins register; of two that claim one name the first keeps it."""
        for kind in KINDS:
            taken: dict[str, str] = {}
            for owner, implementation in self.implementations(hook := f"corral_{kind}s"):
                returned: object = None
                with owner.guard(f"{hook} raised"):
                    returned = implementation()
                    if not isinstance(returned, list):
                        owner.problems.append(f"{hook} returned {type(returned).__name__}, not a list of Entry")
                for number, entry in enumerate(returned if isinstance(returned, list) else (), start=1):
                    if problem := _problem(entry):
                        owner.problems.append(f"{hook}, entry {number}: {problem}")
                    elif (name := entry[0]) in taken:
                        owner.problems.append(f"the {kind} {name} is ignored: {taken[name]} already brings one")
                    else:
                        taken[name] = owner.name
                        owner.brings.setdefault(kind, []).append(name)
                        yield Registered(name, owner.name, " ".join(entry[1].split()), entry[2], kind)


def _required(function: object) -> tuple[str, ...] | None:
    """The names of the arguments that a function must be given."""
    try:
        parameters = inspect.signature(cast(Callable[..., object], function)).parameters.values()
    except (TypeError, ValueError):
        return None
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(each.name for each in parameters if each.kind in named and each.default is inspect.Parameter.empty)


def _identity(entry: EntryPoint) -> tuple[str, str]:
    """The name and version of the distribution that an entry point comes from."""
    try:
        distribution = entry.dist
        assert distribution is not None
        return distribution.name or entry.name, distribution.version or "unknown"
    except Exception:
        return entry.name, "unknown"


def normal(name: str) -> str:
    """A distribution's name as all its spellings have it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def _problem(entry: object) -> str | None:
    """What keeps this from being an Entry."""
    match entry:
        case [str(name), str(summary), str(target)] if name.strip() and summary.strip() and target.strip():
            if not NAME.fullmatch(name):
                return f"the name {name!r} is not written in lower case with hyphens, like epsilon-greedy"
            if not TARGET.fullmatch(target):
                return f'the target {target!r} of {name} is not written "module:name"'
            return None
    return "it is not an Entry of three non-empty strings"
