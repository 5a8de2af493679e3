"""Pack what a selection holds into plain arrays and JSON, and unpack it again.

Every array, record, log, round and ticket is stored once and shared again after unpacking. Small arrays of a type are
stored together. A log is stored with its place in the player that holds it, so that it is restored from a fresh log of
the same kind. Python learners are stored as their own `to_state` describes them.

Classes of records are found by name among those that are already imported: a file can name no code to run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NoReturn

import attrs
import numpy as np

from corral_core.bases.lift import bare, fill_learner, saves_state, state_of
from corral_core.errors import CorralError, reason
from corral_core.log import Log
from corral_core.parsing import shown
from corral_core.protocols.problem import NOTHING
from corral_core.protocols.states import SAVED
from corral_core.rows import Array, Rows, object_array
from corral_core.selection.alike import demand
from corral_core.selection.round import Block, Part, Round, Ticket
from corral_core.selection.tickets import Owner

SMALL = 4096  # items; smaller arrays of a type are stored together
MADE: dict[str, type[Any]] = {"round": Round, "part": Part, "ticket": Ticket}
PLAIN = (bool, int, float, str, type(None))
LONGEST_INT = 4096  # bits; JSON holds a few thousand digits, and the state of a generator is one number


class Packer:
    """Turns values into nodes (plain JSON) and arrays."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.objects: list[Any] = []  # nodes of what is stored once
        self.large: list[Array] = []
        self._small: dict[str, list[Array]] = {}
        self._filled: dict[str, int] = {}
        self._blocks = {id(block): number for number, block in enumerate(blocks)}
        self._players = [block.player for block in blocks]
        self._seen: dict[int, tuple[Any, int]] = {}  # the object itself is kept, so that no other gets its id
        self._paths: dict[int, tuple[int, str]] = {}  # where a log stands: block, and path in its player
        for number, player in enumerate(self._players):
            for path, log in _logs_in(player.saved(), ""):
                self._paths.setdefault(id(log), (number, path))
        self._learner: tuple[int, Array] | None = None  # block and numbers of the learners that are being packed

    @property
    def arrays(self) -> dict[str, Array]:
        """All arrays by the names that nodes refer to."""
        found = {f"large{number}": array for number, array in enumerate(self.large)}
        return found | {f"small-{kind}": np.concatenate(parts) for kind, parts in self._small.items()}

    def player(self, number: int) -> Any:
        """The node of a player's state; `number` is that of its block."""
        player = self._players[number]
        self._learner = number, np.repeat(np.arange(len(player.plays)), len(player.state) // len(player.plays))
        return self.pack(player.saved(), player.base.name)

    def pack(self, value: Any, path: str) -> Any:
        """The node of a value; `path` says where it stands, for messages."""
        if type(value) in PLAIN:
            return value
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))}
        if isinstance(value, list | tuple):
            items = [self.pack(item, f"{path}[{index}]") for index, item in enumerate(value)]
            return {"list" if isinstance(value, list) else "tuple": items}
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str):
                    raise CorralError(f"{path} cannot be saved: it has the key {shown(key)}; keys must be strings")
            return {"dict": {key: self.pack(item, f"{path}.{key}") for key, item in value.items()}}
        if value is NOTHING:
            return {"nothing": 1}
        if isinstance(value, Owner):
            return {"owner": 1}
        if isinstance(value, Block):
            return {"block": self._blocks[id(value)]}
        if id(value) not in self._seen:
            node = self._node(value, path)
            self._seen[id(value)] = value, len(self.objects)
            self.objects.append(node)
        return {"ref": self._seen[id(value)][1]}

    def _node(self, value: Any, path: str) -> Any:
        if isinstance(value, np.ndarray) and value.dtype == object:
            return {"learners": [self._one(item, index, path) for index, item in enumerate(value)]}
        if isinstance(value, np.ndarray):
            return {"array": self._array(value)}
        if isinstance(value, Log):
            return self._log(value, path)
        if isinstance(value, Rows):
            fields = {name: self.pack(field, f"{path}.{name}") for name, field in value._values()}
            return {"rows": class_name(type(value)), "fields": fields}
        for name, cls in MADE.items():
            if type(value) is cls:
                return {"made": name, "fields": self._fields(value)}
        raise CorralError(
            f"{path} cannot be saved: it is {type(value).__name__} {shown(value)}, not arrays and numbers"
        )

    def _fields(self, value: Any) -> dict[str, Any]:
        fields = {}
        for field in attrs.fields(type(value)):
            inner = getattr(value, field.name)
            if isinstance(value, Ticket) and field.name == "policies":
                fields[field.name] = {
                    "list": [self._policy(*pair) for pair in zip(value.round.parts, inner, strict=True)]
                }
            else:
                fields[field.name] = self.pack(inner, f"{type(value).__name__.lower()}.{field.name}")
        return fields

    def _policy(self, part: Part, policy: Any) -> Any:
        self._learner = self._blocks[id(part.block)], part.learners
        return self.pack(policy, f"a policy of {part.block.player.base.name}")

    def _log(self, log: Log, path: str) -> Any:
        if id(log) not in self._paths:
            raise CorralError(f"{path} cannot be saved: it is a log that is not part of the base's state")
        block, place = self._paths[id(log)]
        before, self._learner = self._learner, (block, np.repeat(np.arange(log.rows), log.length))
        length = self.pack(log.length, path)
        columns = {name: self.pack(array, f"{path}.{name}") for name, array in log.entries().items()}
        like = log._like.replace(**dict.fromkeys(columns)) if columns else Rows()
        found = {"log": [block, place], "length": length, "columns": columns, "like": self.pack(like, path)}
        self._learner = before
        return found

    def _one(self, item: Any, index: int, path: str) -> Any:
        """The node of a Python object: the learner of a row."""
        if id(item) in self._seen:
            return {"ref": self._seen[id(item)][1]}
        if self._learner is None or index >= len(self._learner[1]):
            raise CorralError(f"{path} cannot be saved: it holds Python objects")
        block, learners = self._learner
        base, field = self._players[block].base, path.rpartition(".")[2]
        if not base.saves or not saves_state(item):
            name = type(bare(item)).__name__
            raise CorralError(
                f"{base.name} cannot be saved: its learner {name} needs to_state() and from_state(state); "
                f"write both, or leave this base out"
            )
        own = getattr(self._players[block].state, field, None)
        if own is None or type(bare(own[0])) is not type(bare(item)):
            raise CorralError(f"{base.name} cannot be saved: snapshot must return a learner of its own class")
        state = self.pack(_state_of(item, base.name), f"to_state of {base.name}")
        node = {"learner": [block, int(learners[index]), field], "state": state}
        self._seen[id(item)] = item, len(self.objects)
        self.objects.append(node)
        return {"ref": len(self.objects) - 1}

    def _array(self, array: Array) -> Any:
        if array.dtype.kind not in SAVED:
            raise CorralError(f"an array of {array.dtype} cannot be saved")
        if array.size > SMALL:
            self.large.append(array)
            return ["large", len(self.large) - 1]
        kind, begin = array.dtype.str, self._filled.get(array.dtype.str, 0)
        order: Literal["F", "C"] = (
            "F" if array.flags.fnc else "C"
        )  # products may round differently if the order of axes does
        self._small.setdefault(kind, []).append(array.reshape(-1, order=order))
        self._filled[kind] = begin + array.size
        return [kind, begin, list(array.shape), order]


class Unpacker:
    """Turns nodes and arrays back into values, for a selection that was just made."""

    def __init__(
        self, blocks: Sequence[Block], owner: Owner | None, objects: list[Any], arrays: dict[str, Array]
    ) -> None:
        self._blocks, self._owner, self._nodes, self._arrays = blocks, owner, objects, arrays
        self._done: dict[int, Any] = {}
        self._classes = dict(_record_classes())
        for block in blocks:
            for record in _records_in(block.player.state):
                self._classes[class_name(type(record))] = type(record)
        self._logs = [dict(_logs_in(block.player.saved(), "")) for block in blocks]
        self._learners = self._fresh_learners()

    def unpack(self, node: Any) -> Any:
        """The value of a node."""
        if not isinstance(node, dict):
            return node
        (kind, value), *_ = node.items()
        if kind == "ref":
            if value not in self._done:
                self._done[value] = self._object(self._nodes[value], value)
            return self._done[value]
        if kind == "list":
            return [self.unpack(item) for item in value]
        if kind == "tuple":
            return tuple(self.unpack(item) for item in value)
        if kind == "dict":
            return {key: self.unpack(item) for key, item in value.items()}
        if kind == "scalar":
            return self._array(value)[()]
        if kind == "block":
            return self._blocks[value]
        return {"nothing": NOTHING, "owner": self._owner}[kind]

    def _object(self, node: Any, number: int) -> Any:
        if "array" in node:
            return self._array(node["array"])
        if "learners" in node:
            return object_array([self.unpack(item) for item in node["learners"]])
        if "learner" in node:
            return self._filled(node, number)
        if "log" in node:
            return self._log(node)
        values = {name: self.unpack(field) for name, field in node["fields"].items()}
        if "made" in node:
            return MADE[node["made"]](**values)
        record = object.__new__(self._class(node["rows"]))
        demand(values.keys() <= set(record.names), "a record has other fields than its class")
        record.__dict__.update(dict.fromkeys(record.names), **values)
        return record

    def _class(self, name: str) -> type[Rows]:
        if name not in self._classes:
            raise CorralError(f"{name} is not there any more; load it with the versions that saved it")
        return self._classes[name]

    def _log(self, node: Any) -> Log:
        block, path = node["log"]
        fresh = self._logs[block].get(path, Log(0))
        columns = {name: self.unpack(column) for name, column in node["columns"].items()}
        length = self.unpack(node["length"])
        demand(length.dtype.kind in "iu" and length.ndim == 1 and (length >= 0).all(), "a log has no lengths")
        entries = int(length.sum()) if columns else 0
        demand(length.max(initial=0) <= entries, "a log is longer than its entries")
        demand(all(len(column) == entries for column in columns.values()), "a log is longer than its entries")
        found: Log = fresh.filled(length, columns, self.unpack(node["like"]))
        return found

    def _filled(self, node: Any, number: int) -> Any:
        learner, base = self._learners[number], self._blocks[node["learner"][0]].player.base
        try:
            fill_learner(learner, self.unpack(node["state"]))
        except Exception as error:
            raise CorralError(f"{base.name}: from_state refused what to_state returned ({reason(error)})") from error
        return learner

    def _fresh_learners(self) -> dict[int, Any]:
        """A fresh learner for every one that was saved, made by its base in one call per block."""
        wanted: dict[tuple[int, str], list[tuple[int, int]]] = {}
        for number, node in enumerate(self._nodes):
            if "learner" in node and self._blocks:
                block, learner, field = node["learner"]
                wanted.setdefault((block, field), []).append((number, learner))
        made: dict[int, Any] = {}
        for (block, field), pairs in wanted.items():
            player = self._blocks[block].player
            given = player.given.take(np.array([learner for _, learner in pairs]))
            fresh = getattr(player.base.init(given, np.random.default_rng(0)), field)
            made |= {number: fresh[index] for index, (number, _) in enumerate(pairs)}
        return made

    def _array(self, place: Any) -> Array:
        if place[0] == "large":
            return self._arrays[f"large{place[1]}"]
        kind, begin, shape, order = place
        size = int(np.prod(shape, dtype=np.int64))
        return self._arrays[f"small-{kind}"][begin : begin + size].copy().reshape(shape, order=order)


def class_name(cls: type[Any]) -> str:
    """How a class of records is called in a file."""
    return f"{cls.__module__}:{cls.__qualname__}"


def _record_classes(root: type[Any] = Rows) -> Iterator[tuple[str, type[Any]]]:
    """All classes of records by name; of several with one name, the latest comes last."""
    yield class_name(root), root
    for cls in root.__subclasses__():
        yield from _record_classes(cls)


def _records_in(value: Any) -> Iterator[Rows]:
    if isinstance(value, Rows):
        yield value
        for _, field in value._values():
            yield from _records_in(field)


def _logs_in(value: Any, path: str) -> Iterator[tuple[str, Log]]:
    """Every log in what a player saves, with its path."""
    if isinstance(value, Log):
        yield path, value
    elif isinstance(value, dict | Rows):
        for name, field in value.items() if isinstance(value, dict) else value._values():
            yield from _logs_in(field, f"{path}.{name}".removeprefix("."))


def _state_of(learner: Any, name: str) -> Any:
    """What `to_state` of a learner returns, checked."""
    try:
        return _plain(state_of(learner), name)
    except CorralError:
        raise
    except Exception as error:
        raise CorralError(f"{name}: to_state failed ({reason(error)})") from error


def _plain(state: Any, name: str, path: str = "") -> Any:
    """What `to_state` returned, checked: plain values that can be saved."""
    if isinstance(state, dict) and all(isinstance(key, str) for key in state):
        return {key: _plain(value, name, f"{path}[{key!r}]") for key, value in state.items()}
    if isinstance(state, list | tuple):
        found = [_plain(value, name, f"{path}[{index}]") for index, value in enumerate(state)]
        return found if isinstance(state, list) else tuple(found)
    if isinstance(state, int) and abs(state) >= 2**LONGEST_INT:
        raise CorralError(
            f"{name}: to_state must return integers of at most {LONGEST_INT} bits; to_state(){path} has more"
        )
    if isinstance(state, (*PLAIN, np.generic)):
        return state
    if isinstance(state, np.ndarray) and state.dtype.kind in SAVED:
        return state
    return _not_plain(state, name, path)


def _not_plain(state: Any, name: str, path: str) -> NoReturn:
    raise CorralError(f"{name}: to_state must return plain values and arrays; to_state(){path} is {shown(state)}")
