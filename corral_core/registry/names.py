"""Names: what plugins provide, by kind and name. A thing is imported when it is asked for.

A bare name, `ucb`, works while one plugin provides it; the qualified name, `corral-mab:ucb`, always works.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from corral_core.errors import CorralError, Terminated, place, reason, shortened
from corral_core.registry.discovery import KINDS, Kind, Plugins, Registered, normal, normal_plugin
from corral_core.registry.known import PROVIDED, known
from corral_core.suggestions import near as close

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


CLOSE = 0.75  # how similar a name must be to be suggested; all our plugins begin alike
MOST_NAMES = 8  # that a sentence lists
LONGEST = 80  # characters of a name that is quoted and compared with others


class Registry:
    """What some plugins provide."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins
        self._entries = plugins.entries

    def entries(self, kind: Kind) -> list[Registered]:
        """Everything of one kind, by name."""
        return sorted(entry for entry in self._entries if entry.kind == kind)

    def find(self, name: str) -> list[Registered]:
        """Everything of this name, bare or qualified, of every kind."""
        return [entry for kind in KINDS for entry in self._called(kind, name)]

    def get(self, kind: Kind, name: str, owner: str | None = None) -> Registered:
        """The one thing of this kind and name. A bare name refers to what the plugin `owner` provides first."""
        found = self._called(kind, name)
        if len(found) > 1:
            found = [entry for entry in found if entry.plugin == owner] or found
        if len(found) > 1:
            plugins = " and ".join(entry.plugin for entry in found)
            raise CorralError(
                f"the {kind} {name} is provided by {plugins}; write {' or '.join(entry.qualified for entry in found)}"
            )
        if not found:
            raise CorralError(self._unknown(kind, name))
        return found[0]

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
        except Terminated:
            raise
        except (Exception, SystemExit) as error:
            why = str(error) if isinstance(error, CorralError) else f"{reason(error)}{place(error)}"
            raise CorralError(
                f"the {kind} {entry.name} of {entry.plugin} cannot be loaded from {entry.target}: {why}"
            ) from error

    def missing(self, kind: Kind | Literal["command"], name: str) -> str | None:
        """One sentence if one of Corral's own plugins would provide this: which plugin, and why it does not."""
        asked, qualified, bare = name.rpartition(":")
        plugin = known(kind).get(bare)
        if plugin is None or (qualified and normal(asked) != plugin):
            return None
        remedy = {
            "loaded": "is installed but does not provide it (see corral plugins)",
            "failed": "fails to load (see corral plugins)",
            "disabled": "CORRAL_DISABLED_PLUGINS switches off",
            "absent": f"is not installed (pip install {plugin})",
        }
        status = {record.name: record.status for record in self.plugins.records()}
        return f"the {kind} {bare} comes with {plugin}, which {remedy[status.get(plugin, 'absent')]}"

    def nothing_called(self, name: str) -> str:
        """What to say about a name that no plugin provides, of any kind."""
        if len(name) > LONGEST:
            return f"there is nothing called {shortened(name)}; see corral list-bases, list-metas, ..."
        for kind in KINDS:
            if missing := self.missing(kind, name):
                return missing
        if normal_plugin(name) in self._installed:
            return f"{name} is a plugin; see corral plugins"
        if ":" in name:
            return f"there is nothing called {name}{self._elsewhere(KINDS, name)}"
        names = {entry.name for entry in self._entries if entry.kind != "engine"} | set(self._installed.values())
        near = close(name.lower(), sorted(names), cutoff=CLOSE)
        hint = f"did you mean {' or '.join(near)}?" if near else "see corral list-bases, list-metas, ..."
        return f"there is nothing called {name}; {hint}"

    @property
    def _installed(self) -> dict[str, str]:
        """The installed plugins, by the normal form of their names."""
        return {normal_plugin(record.name): record.name for record in self.plugins.records()}

    def _called(self, kind: Kind, name: str) -> list[Registered]:
        plugin, qualified, bare = name.rpartition(":")
        found = [entry for entry in self._entries if entry.kind == kind and entry.name == bare]
        return (
            [entry for entry in found if normal_plugin(entry.plugin) == normal_plugin(plugin)] if qualified else found
        )

    def _unknown(self, kind: Kind, name: str) -> str:
        if len(name) > LONGEST:
            return f"there is no {kind} {shortened(name)}; see corral list-{kind}s"
        if missing := self.missing(kind, name):
            return missing
        if others := self.find(name):
            return f"{name} is {' and '.join(_one(other.kind) for other in others)}, not {_one(kind)}"
        if ":" in name:
            return f"there is no {kind} {name}{self._elsewhere((kind,), name)}"
        here = sorted({entry.name for entry in self.entries(kind)})
        elsewhere = known(kind)
        near = close(name.lower(), here)
        hints = near or [f"{each} of {elsewhere[each]}" for each in close(name.lower(), elsewhere)]
        if hints:
            return f"there is no {kind} {name}; did you mean {' or '.join(hints)}?"
        if len(here) > MOST_NAMES:
            return f"there is no {kind} {name}; see corral list-{kind}s"
        if here:
            return f"there is no {kind} {name}; there are {', '.join(here)}"
        return f"there is no {kind} {name}, nor any other; corral-mab provides some (pip install corral-mab)"

    def _elsewhere(self, kinds: Sequence[Kind], name: str) -> str:
        """The end of a sentence about a qualified name that is unknown."""
        plugin, _, bare = name.rpartition(":")
        if normal_plugin(plugin) not in self._installed:
            if normal(plugin) in PROVIDED:
                return f"; {plugin} is not installed (pip install {plugin})"
            near = close(normal(plugin), [*self._installed, *PROVIDED], most=1, cutoff=CLOSE)
            return f"; no plugin {plugin} is installed" + (f", did you mean {near[0]}?" if near else "")
        mine = [entry for kind in kinds for entry in self.entries(kind)]
        mine = [entry for entry in mine if normal_plugin(entry.plugin) == normal_plugin(plugin)]
        if near := close(bare, [entry.name for entry in mine]):
            return f"; did you mean {' or '.join(f'{plugin}:{each}' for each in near)}?"
        what = f"{kinds[0]} of that name" if len(kinds) == 1 else "such thing"
        return f"; {plugin} provides no {what}, see corral plugins"


def experiment_file(entry: Registered) -> Traversable:
    """The file of a registered experiment."""
    from importlib.resources import files

    package, _, file = entry.target.partition(":")
    return files(package) / file


@functools.cache
def get_registry() -> Registry:
    """What the installed plugins provide, found once per process."""
    return Registry(Plugins.installed())


def _one(kind: Kind) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
