"""What a name refers to: a registered thing, everything in a plugin, or "module:Class"."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Sequence

import attrs

from corral_core.checks.cases import Case, cases_of
from corral_core.checks.experiments import ExperimentCase
from corral_core.checks.rules import Check, Outcome
from corral_core.errors import CorralError, Terminated, place, reason
from corral_core.experiments.source import is_file
from corral_core.protocols.environment import Environment
from corral_core.registry.discovery import NAME, Kind, Plugin, Registered, normal_plugin
from corral_core.registry.names import Registry, get_registry

CHECKED: tuple[Kind, ...] = ("base", "meta", "environment", "experiment")


REGISTERED = Check(
    "is-registered",
    "It can be loaded, and is registered under the name of its class.",
    function=lambda case: None,
    applies=lambda case: False,
    first=True,
    warns=False,
)


@attrs.frozen
class Subject:
    """One thing to check, with all its cases."""

    kind: str
    name: str
    cases: list[Case]
    problems: tuple[str, ...] = ()  # what is wrong before any check can run

    def unregistered(self) -> list[Outcome]:
        """A failed outcome for each of its problems."""
        return [Outcome(REGISTERED, "", "failed", problem) for problem in self.problems]


def subjects_of(name: str, within: Sequence[Environment] = (), registry: Registry | None = None) -> list[Subject]:
    """Everything registered under this name or, if nothing is, everything that the plugin of this name provides."""
    if is_file(name):
        return [Subject("experiment", name, [ExperimentCase(name)])]
    registry = registry or get_registry()
    found = [entry for entry in registry.find(name) if entry.kind != "engine"]
    if ":" in name and not found and plugin_called(name.rpartition(":")[0], registry) is None:
        return [_at(name, within)]
    subjects = [_registered(entry, within, registry) for entry in found]
    if not subjects and (record := plugin_called(name, registry)):
        provided = [entry for kind in CHECKED for entry in registry.entries(kind) if entry.plugin == record.name]
        subjects = [Subject("plugin", record.name, [], record.problems)] if record.problems else []
        subjects += [_registered(entry, within, registry) for entry in provided]
        if not subjects:
            raise CorralError(f"the plugin {record.name} provides nothing that can be checked")
    if not subjects:
        raise CorralError(registry.nothing_called(name))
    return subjects


def plugin_called(name: str, registry: Registry) -> Plugin | None:
    """The plugin of this name, with or without the prefix `corral-`."""
    wanted = {normal_plugin(name), normal_plugin(f"corral-{name}")}
    return next((record for record in registry.plugins.records() if normal_plugin(record.name) in wanted), None)


def _registered(entry: Registered, within: Sequence[Environment], registry: Registry) -> Subject:
    try:
        if entry.kind == "experiment":
            return Subject(entry.kind, entry.name, [ExperimentCase(entry.qualified)])
        cls = registry.load(entry.kind, entry.qualified)
        named = getattr(cls, "name", None)
        valid = isinstance(named, str) and NAME.fullmatch(named)  # `says-what-it-is` fails if it is not
        problems = (
            (f"it is registered as {entry.name}, but its class has the name {named}",)
            if valid and named != entry.name
            else ()
        )
        return Subject(entry.kind, entry.name, cases_of(cls, within, registry), problems)
    except CorralError as error:
        return Subject(entry.kind, entry.name, [], (str(error),))


def _at(target: str, within: Sequence[Environment]) -> Subject:
    """A class that need not be registered; modules in the current folder are found too."""
    sys.path.insert(0, "")
    try:
        cls = pkgutil.resolve_name(target)
    except Terminated:
        raise
    except (Exception, SystemExit) as error:
        raise CorralError(f"{target} cannot be loaded: {reason(error)}{place(error)}") from error
    finally:
        sys.path.remove("")
    return Subject("class", target, cases_of(cls, within, get_registry()))
