"""Everything that plugins bring, by kind and name; a thing is imported when it is asked for."""

from __future__ import annotations

import difflib
import functools
import pkgutil
from typing import TYPE_CHECKING, Any, Literal

from corral_core.errors import CorralError, place, reason
from corral_core.registry.discovery import KINDS, Kind, Plugins, Registered
from corral_core.registry.known import known

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


class Registry:
    """What some plugins bring."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins
        self._entries = {(entry.kind, entry.name): entry for entry in plugins.entries}

    def entries(self, kind: Kind) -> list[Registered]:
        """Everything of one kind, by name."""
        return sorted(entry for entry in self._entries.values() if entry.kind == kind)

    def find(self, name: str) -> list[Registered]:
        """Everything called so, of whatever kind."""
        return [self._entries[kind, name] for kind in KINDS if (kind, name) in self._entries]

    def get(self, kind: Kind, name: str) -> Registered:
        """The one thing of this kind and name."""
        if (kind, name) not in self._entries:
            raise CorralError(self._unknown(kind, name))
        return self._entries[kind, name]

    def load(self, kind: Kind, name: str) -> Any:
        """The thing itself: a class, or the text of an experiment."""
        entry = self.get(kind, name)
        try:
            if kind == "experiment":
                return experiment_file(entry).read_text(encoding="utf-8")
            found = pkgutil.resolve_name(entry.target)
            if kind != "engine":
                from corral_core.registry.classes import check_class

                check_class(found, kind)
            return found
        except (Exception, SystemExit) as error:
            why = str(error) if isinstance(error, CorralError) else f"{reason(error)}{place(error)}"
            raise CorralError(
                f"the {kind} {name} of {entry.plugin} cannot be loaded from {entry.target}: {why}"
            ) from error

    def missing(self, kind: Kind | Literal["command"], name: str) -> str | None:
        """Where one of Corral's own plugins would bring this: which one, and what keeps it from doing so."""
        plugin = known(kind).get(name)
        if plugin is None:
            return None
        remedy = {
            "loaded": "is installed but does not bring it (see corral plugins)",
            "failed": "fails to load (see corral plugins)",
            "disabled": "CORRAL_DISABLED_PLUGINS switches off",
            "absent": f"is not installed (pip install {plugin})",
        }
        status = {record.name: record.status for record in self.plugins.records()}
        return f"the {kind} {name} comes with {plugin}, which {remedy[status.get(plugin, 'absent')]}"

    def nothing_called(self, name: str) -> str:
        """What to say of a name that means nothing, of whatever kind."""
        from corral_core.suggestions import suggestion

        for kind in KINDS:
            if missing := self.missing(kind, name):
                return missing
        names = sorted({entry.name for kind in KINDS if kind != "engine" for entry in self.entries(kind)})
        word = name.lower()
        near = (
            suggestion(word, names)
            if difflib.get_close_matches(word, names)
            else "; corral list-bases and the like tell"
        )
        return f"there is nothing called {name}{near}"

    def _unknown(self, kind: Kind, name: str) -> str:
        if missing := self.missing(kind, name):
            return missing
        if others := self.find(name):
            return f"{name} is {' and '.join(_one(other.kind) for other in others)}, not {_one(kind)}"
        elsewhere = known(kind)
        here = [entry.name for entry in self.entries(kind)]
        near = difflib.get_close_matches(name.lower(), here)
        hints = near or [f"{each} of {elsewhere[each]}" for each in difflib.get_close_matches(name.lower(), elsewhere)]
        if hints:
            return f"there is no {kind} {name}; did you mean {' or '.join(hints)}?"
        if here:
            return f"there is no {kind} {name}; there are {', '.join(here)}"
        return f"there is no {kind} {name}, nor any other; corral-mab brings some (pip install corral-mab)"


def experiment_file(entry: Registered) -> Traversable:
    """Where a registered experiment is written down."""
    from importlib.resources import files

    package, _, file = entry.target.partition(":")
    return files(package) / file


@functools.cache
def get_registry() -> Registry:
    """What the installed plugins bring, found once a process."""
    return Registry(Plugins.installed())


def _one(kind: Kind) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
