"""Save a selection in one file, and load it again: it continues with the same bits.

The file is an `.npz` of plain arrays, one of which is JSON; nothing in it is pickled. It holds a format number, a
description of bases, meta-algorithm, problem and options, the versions it was written with, and everything that the
selection has learned or waits for. Loading makes a fresh selection and fills it. The file is replaced as a whole: if
the disk is full, the old one is still there.
"""

from __future__ import annotations

import io
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import get_ident
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.random import Generator, SeedSequence

from corral_core.errors import CorralError, shortened_path
from corral_core.parsing import quoted, shown
from corral_core.selection.alike import demand_alike, demand_failures, demand_round, demand_tickets
from corral_core.selection.described import check_same, described
from corral_core.selection.options import Options
from corral_core.selection.packing import Packer, Unpacker

FORMAT = 2
GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
T = TypeVar("T", bound=Any)
HEADER = "corral"  # the array that holds the JSON


def saved(selection: Any) -> bytes:
    """The file of a selection, as bytes."""
    for base in selection.bases:
        if not base.saves:
            raise CorralError(f"{base.name} cannot be saved: its state is made of Python objects; leave this base out")
    packer = Packer(selection.blocks)
    kept = {
        "players": [packer.player(number) for number in range(len(selection.blocks))],
        "judge": packer.pack(selection.judge.saved(), "the judge"),
        "generator": packer.pack(_generator_state(selection.rng), "the generator"),
        "rounds_of": packer.pack(selection.rounds_of, "rounds_of"),
        "round": packer.pack(selection._round, "the round"),
        "tickets": packer.pack(selection.open_tickets, "tickets"),
        "issued": selection._tickets.issued,
        "failures": packer.pack(selection._failures.saved(), "failures"),
        "shown": packer.pack(selection.shown, "shown"),
    }
    header = {
        "format": FORMAT,
        "versions": _versions(selection),
        "described": described(selection.bases, selection.meta, selection.problem, selection.options),
        "rows": int(selection.rows),
        "rounds": None if selection.rounds is None else int(selection.rounds),
        "live": selection.live,
        "objects": packer.objects,
        **kept,
    }
    file = io.BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(file, allow_pickle=False, **{HEADER: text, **packer.arrays})
    return file.getvalue()


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file that a crash or a full disk cannot leave half written."""
    try:
        target = Path(path).resolve()  # a link stays a link
        part = target.with_name(f".{target.name}.{os.getpid()}-{get_ident()}.part")
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except (OSError, ValueError, TypeError) as problem:
        raise CorralError(f"{_path(path)} cannot be written: {_reason(problem)}") from None


def read(path: str | os.PathLike[str]) -> SavedSelection:
    """The content of a saved file."""
    try:
        if not Path(path).is_file() and Path(path).exists():
            raise ValueError("Not a file")
        content = Path(path).read_bytes()
    except (OSError, ValueError, TypeError) as problem:
        raise CorralError(f"{_path(path)} cannot be read: {_reason(problem)}") from None
    return SavedSelection(content, _path(path))


def _path(path: Any) -> str:
    return shortened_path(path) if isinstance(path, str | Path) and str(path).isprintable() else shown(path)


def _reason(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem)


class SavedSelection:
    """The content of a saved file, checked as far as it can be without the bases."""

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        with self._understood("is damaged, or not a saved selection"):
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                if sum(each.file_size for each in file.zip.infolist()) > len(content):
                    raise ValueError("it is compressed, so its size in memory is unknown")
                self.arrays = {key: file[key] for key in file.files}
            self.header: dict[str, Any] = json.loads(self.arrays.pop(HEADER).tobytes())
            number, self.versions = int(self.header["format"]), dict(self.header["versions"])
        if number != FORMAT:
            raise CorralError(
                f"{name} has format {shown(number)}, but this version of Corral reads format {FORMAT}: use the version "
                f"that saved it ({quoted(self.versions.get('corral-core', 'unknown'))})"
            )

    @contextmanager
    def _understood(self, otherwise: str) -> Iterator[None]:
        """What a file that was not saved here makes fail, in any way, is one sentence."""
        try:
            yield
        except CorralError:
            raise
        except Exception as problem:
            raise CorralError(f"{self.name} {otherwise}") from problem

    def check(self, bases: Any, meta: Any, problem: Any, options: Any) -> None:
        """Refuse if it was saved with other bases, meta-algorithm, problem or options."""
        with self._understood(self._unlike):
            check_same(self.header["described"], bases, meta, problem, options, self.name)

    def options(self) -> Options:
        """The options it was saved with."""
        with self._understood(self._unlike):
            found = {name: self.header["described"]["options"].get(name) for name in attrs.fields_dict(Options)}
            clip = found["clip"]
            return Options(**found | {"clip": tuple(clip) if isinstance(clip, list) else clip})

    def filled(self, make: Callable[..., T]) -> T:
        """A fresh selection, made with what was saved, that continues where the saved one stopped."""
        with self._understood(self._unlike):
            header = self.header
            plain = Unpacker([], None, header["objects"], self.arrays)
            generator = plain.unpack(header["generator"])
            made = {name: header[name] for name in ("rows", "rounds", "live")}
            shape = len(header["described"]["bases"]), made["rows"]
            if plain.unpack(header["rounds_of"]).shape != shape or type(made["live"]) is not bool:
                raise ValueError("it has other rows than it says")
            fresh = make(**made, rng=_fresh_generator(generator), shown=plain.unpack(header["shown"]))
            self._fill(fresh)
            fresh.rng.bit_generator.state = generator["state"]
        return fresh

    @property
    def _unlike(self) -> str:
        wrote = quoted(", ".join(f"{name} {number}" for name, number in self.versions.items()))
        return f"is damaged, or was saved by other versions ({wrote})"

    def _fill(self, selection: Any) -> None:
        header = self.header
        unpacker = Unpacker(selection.blocks, selection._tickets.owner, header["objects"], self.arrays)
        bases, rows = selection.rounds_of.shape
        for block, node in zip(selection.blocks, header["players"], strict=True):
            player = unpacker.unpack(node)
            demand_alike(player, block.player.saved(), block.player.base.name)
            block.player.restore(player)
        selection.judge.restore(unpacker.unpack(header["judge"]))
        selection.rounds_of[...] = unpacker.unpack(header["rounds_of"])
        selection._round = unpacker.unpack(header["round"])
        demand_round(selection._round, bases, rows)
        tickets = unpacker.unpack(header["tickets"])
        demand_tickets(tickets, header["issued"], bases, rows, len(selection._weights))
        selection._tickets.restore(header["issued"], tickets)
        failures = unpacker.unpack(header["failures"])
        demand_failures(failures, bases, rows)
        selection._failures.restore(failures)


def _generator_state(rng: Generator) -> dict[str, Any]:
    bits = rng.bit_generator
    kind, seed = type(bits).__name__, getattr(bits, "seed_seq", None)
    if kind not in GENERATORS:
        raise CorralError(f"the generator {kind} cannot be saved; take one of {', '.join(GENERATORS)}")
    return {"kind": kind, "state": bits.state, "seed": seed.state if isinstance(seed, SeedSequence) else None}


def _fresh_generator(saved: dict[str, Any]) -> Generator:
    """A generator of the kind that was saved; its state is set when all is filled, because making bases draws."""
    if saved["kind"] not in GENERATORS:
        raise ValueError(f"unknown generator {saved['kind']}")
    seed = 0 if saved["seed"] is None else SeedSequence(**saved["seed"])
    return Generator(getattr(np.random, saved["kind"])(seed))


def _versions(selection: Any) -> dict[str, str]:
    """The versions of Python, numpy, the core and the packages of bases and meta; for people, never compared."""
    found = {"python": platform.python_version(), "numpy": version("numpy")}
    packages = {type(thing).__module__.partition(".")[0] for thing in (*selection.bases, selection.meta) if thing}
    for name in sorted({"corral_core", *packages}):
        distribution = name.replace("_", "-")
        try:
            found[distribution] = version(distribution)
        except PackageNotFoundError:
            continue
    return found
