"""Discovery: which plugins are installed, what they provide and what is wrong with them.

No plugin can stop the others. Keep this module light: `corral --help` imports it.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import Distribution, EntryPoint, distributions
from time import perf_counter
from types import MappingProxyType
from typing import Literal, NamedTuple, cast

import pluggy

from corral_core import __version__, hookspecs
from corral_core.errors import Terminated, reason
from corral_core.registry import builtin
from corral_core.terminal import reserved_output

Kind = Literal["base", "meta", "environment", "experiment", "engine"]
KINDS: tuple[Kind, ...] = ("base", "meta", "environment", "experiment", "engine")
HOOKS = (*(f"corral_{kind}s" for kind in KINDS), "corral_commands")

CORE = "core"  # the core, where a plugin has the name of its distribution
DISABLED = "CORRAL_DISABLED_PLUGINS"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9.]+)*")
TARGET = re.compile(r"[^\s:]+:[^\s:]+")


class Plugin(NamedTuple):
    """A plugin as `corral plugins` shows it. `provides` has the names of each kind that it provides, also commands."""

    name: str
    version: str
    status: Literal["loaded", "failed", "disabled"]
    provides: Mapping[str, tuple[str, ...]]
    problems: tuple[str, ...]
    seconds: float  # that its import took


class Registered(NamedTuple):
    """One thing that a plugin provides."""

    name: str
    plugin: str
    summary: str
    target: str
    kind: Kind

    @property
    def qualified(self) -> str:
        """The name that no other plugin can claim, such as `corral-mab:ucb`."""
        return f"{self.plugin}:{self.name}"


class Candidate:
    """A plugin while it is being loaded."""

    def __init__(self, name: str, version: str) -> None:
        self.name = name
        self.version = version
        self.status: Literal["loaded", "failed", "disabled"] = "loaded"
        self.provides: dict[str, list[str]] = {}
        self.problems: list[str] = []
        self.seconds = 0.0

    @contextlib.contextmanager
    def guard(self, what: str) -> Iterator[None]:
        """Turn every exception of the plugin's code into a problem, and keep what it prints out of our output."""
        try:
            with reserved_output():
                yield
        except (KeyboardInterrupt, Terminated):
            raise
        except BaseException as error:
            self.problems.append(f"{what}: {reason(error)}")

    def record(self) -> Plugin:
        provides = MappingProxyType({kind: tuple(names) for kind, names in self.provides.items()})
        return Plugin(self.name, self.version, self.status, provides, tuple(self.problems), self.seconds)


class Holder:
    """One hook implementation, alone: pluggy takes or refuses a registered object as a whole."""

    def __init__(self, owner: Candidate, hook: str, function: object) -> None:
        self.owner = owner
        setattr(self, hook, function)


class Plugins:
    """The core and the plugins behind some entry points, loaded."""

    def __init__(self, found: Iterable[EntryPoint], disabled: str = "", problems: Iterable[str] = ()) -> None:
        self._manager = pluggy.PluginManager("corral")
        self._manager.add_hookspecs(hookspecs)
        core = Candidate(CORE, __version__)
        self._candidates = [core]
        self._register(core, builtin)
        entries: list[EntryPoint] = []
        with core.guard("the installed distributions cannot be read"):
            entries = sorted(found, key=lambda entry: (*_identity(entry), entry.name))
        core.problems += problems  # complete only now: listing the entry points fills it
        unwanted = {normal(name): name.strip() for name in disabled.split(",") if name.strip()}
        unmatched = dict(unwanted)
        for entry in entries:
            candidate = Candidate(*_identity(entry))
            self._candidates.append(candidate)
            aliases = {normal(candidate.name), normal(entry.name)}
            if normal_plugin(candidate.name) == CORE:
                candidate.status = "failed"
                candidate.problems.append("it is ignored: the name of its distribution belongs to Corral itself")
            elif aliases & unwanted.keys():
                candidate.status = "disabled"
                for alias in aliases:
                    unmatched.pop(alias, None)
            else:
                self._load(candidate, entry)
        core.problems += [f"{DISABLED} names {name}, which is not an installed plugin" for name in unmatched.values()]
        self.entries = tuple(self._collect())

    @classmethod
    def installed(cls) -> Plugins:
        """The plugins of this Python, except those that CORRAL_DISABLED_PLUGINS names."""
        problems: list[str] = []
        return cls(installed_entry_points(problems), os.environ.get(DISABLED, ""), problems)

    def records(self) -> tuple[Plugin, ...]:
        """The core, then every plugin by name. Commands are included once the command line is built."""
        return tuple(candidate.record() for candidate in self._candidates)

    def implementations(self, hook: str) -> Iterator[tuple[Candidate, Callable[..., object]]]:
        """A hook's implementations with their plugins: the core's first, then by the plugin's name."""
        found = [(cast(Holder, each.plugin).owner, each) for each in getattr(self._manager.hook, hook).get_hookimpls()]
        for owner, implementation in sorted(found, key=lambda pair: self._candidates.index(pair[0])):
            yield owner, implementation.function

    def _load(self, candidate: Candidate, entry: EntryPoint) -> None:
        candidate.status = "failed"
        with candidate.guard(f"{entry.value} cannot be imported"):
            begun = perf_counter()
            try:
                module = entry.load()
            finally:
                candidate.seconds = perf_counter() - begun
            if problem := _other_protocol(candidate.name, module):
                candidate.problems.append(problem)
                return
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
                owner.problems.append(f"{hook} is ignored: a hook returns what it provides and cannot be a wrapper")
                continue
            function, wanted = getattr(module, attribute), getattr(self._manager.hook, hook).spec.argnames
            if _required(function) != tuple(wanted):
                owner.problems.append(f"{hook} is ignored: it must be defined as {hook}({', '.join(wanted)})")
                continue
            self._manager.register(Holder(owner, hook, function))
        return marked

    def _collect(self) -> Iterator[Registered]:
        """Everything that the plugins register. A name of the core stays the core's."""
        for kind in KINDS:
            found: list[Registered] = []
            for owner, implementation in self.implementations(hook := f"corral_{kind}s"):
                returned: object = None
                with owner.guard(f"{hook} raised"):
                    returned = implementation()
                    if not isinstance(returned, list):
                        owner.problems.append(f"{hook} returned {type(returned).__name__}, not a list of Entry")
                for number, entry in enumerate(returned if isinstance(returned, list) else (), start=1):
                    if problem := _problem(entry):
                        owner.problems.append(f"{hook}, entry {number}: {problem}")
                        continue
                    name = entry[0]
                    owners = {each.plugin for each in found if each.name == name}
                    if owner.name in owners:
                        owner.problems.append(f"the {kind} {name} is registered twice; the second entry is ignored")
                        continue
                    if CORE in owners:
                        owner.problems.append(f"the {kind} {name} is ignored: the name belongs to the core")
                        continue
                    owner.provides.setdefault(kind, []).append(name)
                    found.append(Registered(name, owner.name, " ".join(entry[1].split()), entry[2], kind))
            for name in dict.fromkeys(entry.name for entry in found):
                self.report_contested(kind, name, [entry.plugin for entry in found if entry.name == name])
            yield from found

    def report_contested(self, kind: str, name: str, owners: Sequence[str]) -> None:
        """Note in the record of every owner that others claim the same name, if there are several."""
        for candidate in self._candidates if len(owners) > 1 else ():
            if candidate.name in owners and name in candidate.provides.get(kind, ()):
                others = [owner for owner in owners if owner != candidate.name]
                qualified = " or ".join(f"{owner}:{name}" for owner in (candidate.name, *others))
                candidate.problems.append(
                    f"the {kind} {name} is also provided by {' and '.join(others)}; write {qualified}"
                )


def installed_entry_points(problems: list[str]) -> Iterator[EntryPoint]:
    """The entry points of the group `corral`. What cannot be read is skipped, with a sentence in `problems`."""
    used: dict[str, str] = {}  # versions, by the normal name of the distribution: the first one found is in use
    for distribution in distributions():
        name, version = _name_and_version(distribution)
        first = used.setdefault(normal(name), version)
        try:
            entries = [entry for entry in distribution.entry_points if entry.group == "corral"]
        except Exception:
            problems.append(f"{name} {version} is skipped: its entry_points.txt cannot be read")
            continue
        if entries and first is version:
            yield from entries
        elif entries and first != version:
            problems.append(f"{name} is installed twice, as {first} (in use) and {version}; uninstall one of them")


def _name_and_version(distribution: Distribution) -> tuple[str, str]:
    """The name and version in the name of the folder; only if it has another form, metadata are read, which is slow."""
    folder = os.path.basename(str(getattr(distribution, "_path", "")))
    name, *version = folder.removesuffix(".dist-info").split("-")
    if folder.endswith(".dist-info") and len(version) == 1:
        return name.replace("_", "-"), version[0]
    try:
        return distribution.name or folder, distribution.version or "unknown"
    except Exception:
        return folder or "a distribution without a name", "unknown"


def _other_protocol(plugin: str, module: object) -> str | None:
    """One sentence if a plugin was written for another protocol; one that declares none was written for the first."""
    declared = getattr(module, "corral_protocol", 1)
    if type(declared) is int and declared == hookspecs.PROTOCOL:
        return None
    newer = isinstance(declared, int) and declared > hookspecs.PROTOCOL
    return (
        f"{plugin} was written for protocol {declared!r} of Corral, and corral-core {__version__} has protocol "
        f"{hookspecs.PROTOCOL}; upgrade {'corral-core' if newer else plugin}"
    )


def _required(function: object) -> tuple[str, ...] | None:
    """Names of the arguments that a function requires."""
    try:
        parameters = inspect.signature(cast(Callable[..., object], function)).parameters.values()
    except (TypeError, ValueError):
        return None
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(each.name for each in parameters if each.kind in named and each.default is inspect.Parameter.empty)


def _identity(entry: EntryPoint) -> tuple[str, str]:
    """The name and version of the distribution that an entry point comes from."""
    return (entry.name, "unknown") if entry.dist is None else _name_and_version(entry.dist)


def normal(name: str) -> str:
    """The normal form of a distribution's name, the same for all its spellings."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def normal_plugin(name: str) -> str:
    """The normal form of a plugin's name; the core also has the name of its distribution."""
    return CORE if normal(name) == "corral-core" else normal(name)


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
