"""What a name on the command line stands for: a registered thing, all that a plugin brings, or "module:Class"."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Sequence

import attrs

from corral_core.checks.cases import Case, cases_of
from corral_core.checks.experiments import ExperimentCase
from corral_core.errors import CorralError
from corral_core.plugins import Registered, normal, reason
from corral_core.protocols import Environment
from corral_core.registry import Registry, get_registry


@attrs.frozen
class Subject:
    """One thing to be checked, in all its cases."""

    kind: str
    name: str
    cases: list[Case]
    problems: tuple[str, ...] = ()  # what is wrong before any check can be asked


def subjects_of(name: str, within: Sequence[Environment] = (), registry: Registry | None = None) -> list[Subject]:
    """Everything that is called so, or that a plugin called so brings."""
    if ":" in name:
        return [_at(name, within)]
    registry = registry or get_registry()
    found = [entry for entry in registry.find(name) if entry.kind != "engine"]
    subjects: list[Subject] = []
    for record in registry.plugins.records():
        if normal(record.name) in (normal(name), f"corral-{normal(name)}"):
            brought = [
                entry for kind in ("base", "meta", "environment", "experiment") for entry in registry.entries(kind)
            ]
            found = [entry for entry in brought if entry.plugin == record.name or entry in found]
            if record.problems:
                subjects.append(Subject("plugin", record.name, [], record.problems))
    subjects += [_registered(entry, within, registry) for entry in found]
    if not subjects:
        raise CorralError(registry.nothing_called(name))
    return subjects


def _registered(entry: Registered, within: Sequence[Environment], registry: Registry) -> Subject:
    try:
        if entry.kind == "experiment":
            return Subject(entry.kind, entry.name, [ExperimentCase(entry.name)])
        cls = registry.load(entry.kind, entry.name)
        named = getattr(cls, "name", None)
        problems = (
            () if named == entry.name else (f"it is registered as {entry.name}, and its class is called {named}",)
        )
        return Subject(entry.kind, entry.name, cases_of(cls, within, registry), problems)
    except CorralError as error:
        return Subject(entry.kind, entry.name, [], (str(error),))


def _at(target: str, within: Sequence[Environment]) -> Subject:
    """A class that nobody has registered yet; modules of the current folder are found too."""
    sys.path.insert(0, "")
    try:
        cls = pkgutil.resolve_name(target)
    except (Exception, SystemExit) as error:
        raise CorralError(f"{target} cannot be loaded: {reason(error)}") from error
    finally:
        sys.path.remove("")
    return Subject("class", target, cases_of(cls, within, get_registry()))
