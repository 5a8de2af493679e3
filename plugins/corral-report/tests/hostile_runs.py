"""Seeded damages to a run's folder, by somebody who also writes the journal, so that all digests agree."""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from corral_core.runs.checksums import digest

Rng = np.random.Generator
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    3,
    10**12,
    10**400,
    1.5,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "x",
    "7",
    "horizon",
    "x" * 200_000,
    "\x1b[2J",
    "\ud800",
    "../../etc/passwd",
    "line\nline",
    [],
    {},
    [[]],
    ["x", "x"],
    [None],
    {"name": "x"},
    {"name": 3},
    [{"name": "ucb", "grid": {"arms": 3}}],
]
ARRAYS = ("reward", "regret", "probabilities", "plays", "restarts", "dropped", "at", "bases", "curve")


def damage(folder: Path, seed: int) -> str:
    """Damage the folder in one of these ways, and say how."""
    rng = np.random.default_rng(seed)
    ways: list[Callable[[Path, Rng], str]] = [flip, cut, field, field, field, array, array, array, entry, versions, odd]
    return ways[seed % len(ways)](folder, rng)


def _one(rng: Rng, among: Any) -> Any:
    return among[int(rng.integers(len(among)))]


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def flip(folder: Path, rng: Rng) -> str:
    """A few bytes, and the journal agrees with them."""
    file = _one(rng, _files(folder))
    written = bytearray(file.read_bytes())
    for _ in range(int(rng.integers(1, 5))):
        written[int(rng.integers(len(written)))] = int(rng.integers(256))
    _write(folder, file, bytes(written))
    return f"bytes of {file.name}"


def cut(folder: Path, rng: Rng) -> str:
    file = _one(rng, _files(folder))
    written = file.read_bytes()
    part = written[: int(rng.integers(len(written)))]
    _write(folder, file, _one(rng, [part, written + part, b"", written[::-1]]))
    return f"length of {file.name}"


def field(folder: Path, rng: Rng) -> str:
    """One value of experiment.json: replaced, removed, nested very deep, or with another next to it."""
    file = folder / "experiment.json"
    content = json.loads(file.read_text())
    table, key = _one(rng, list(_places(content)))
    how = int(rng.integers(8))
    value = _one(rng, VALUES)
    if how == 0:
        del table[key]
    elif how == 1 and isinstance(table, dict):
        table["unknown"] = value
    elif how == 2:
        for _ in range(int(_one(rng, [40, 900]))):
            value = [value]
        table[key] = value
    else:
        table[key] = value
    text = json.dumps(content)
    if how == 3:
        text = "[" * 100_000 + text
    _write(folder, file, text.encode())
    return f"{key} of experiment.json: {how}, {str(value)[:40]!r}"


def _places(value: Any) -> Any:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    for key in keys:
        yield value, key
        yield from _places(value[key])


def array(folder: Path, rng: Rng) -> str:
    """One array of one chunk, or the file around it."""
    file = _one(rng, sorted((folder / "chunks").iterdir()))
    with np.load(file) as found:
        arrays = dict(found)
    name = _one(rng, ARRAYS)
    old = arrays[name]
    how = int(rng.integers(12))
    float_like = old.astype(float) if old.dtype.kind in "fib" else old
    if how == 0:
        del arrays[name]
    elif how == 1:
        arrays[name] = np.full(old.shape, np.nan).astype(old.dtype, casting="unsafe")
    elif how == 2:
        arrays[name] = np.full(old.shape, _one(rng, [np.inf, -np.inf, 1e308, np.nan]))
    elif how == 3:
        arrays[name] = np.zeros((0, *old.shape[1:]), old.dtype)
    elif how == 4:
        arrays[name] = old[..., None]
    elif how == 5:
        arrays[name] = (
            np.asfortranarray(old).astype(_one(rng, ["c16", "f2", "i1", ">f8", "S3", "M8[s]"]), casting="unsafe")
            if old.dtype.kind in "fib"
            else float_like
        )
    elif how == 6:
        arrays[name] = np.full(old.shape, None, dtype=object)
    elif how == 7:
        arrays[name] = np.zeros(3 * 10**7, np.int8)
    elif how == 8:
        arrays["another"] = old
    elif how == 9 and old.dtype.kind in "fi":
        arrays[name] = -old - 1
    _write(folder, file, _packed(arrays, how, name))
    return f"{name} of {file.name}: {how}"


def _packed(arrays: dict[str, Any], how: int, name: str) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    if how == 10:  # a header that says more than there is
        with zipfile.ZipFile(file, "a") as more:
            more.writestr(
                f"{name}.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9**9,)}"
            )
    if how == 11:  # the directory lies about a size
        written = bytearray(file.getvalue())
        place = written.rindex(f"{name}.npy".encode()) - 46
        written[place + 24 : place + 28] = (2**31).to_bytes(4, "little")
        return bytes(written)
    return file.getvalue()


def entry(folder: Path, rng: Rng) -> str:
    """Lines of the journal."""
    file = folder / "journal.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    line = _one(rng, lines)
    key = _one(rng, list(line))
    line[key] = _one(rng, VALUES)
    lines.append({_one(rng, ["versions", "experiment", "chunk", "begun"]): _one(rng, VALUES)})
    text = "\n".join(json.dumps(each) for each in lines)
    file.write_text(text + _one(rng, ["", "\n" + "[" * 100_000, '\n{"versions": {"numpy": ["x"]}}', "\n3\nnull\n"]))
    return f"{key} of the journal"


def versions(folder: Path, rng: Rng) -> str:
    value = _one(rng, [*VALUES, {"numpy": 3, "x": ["x"]}, {"numpy": "\x1b[2J"}, {"x" * 10**5: "1"}])
    _write(folder, folder / "versions.json", json.dumps(value).encode())
    return f"versions: {str(value)[:40]!r}"


def odd(folder: Path, rng: Rng) -> str:
    """Something else in the place of a file."""
    file = _one(rng, [*_files(folder), folder / "chunks"])
    shutil.rmtree(file) if file.is_dir() else file.unlink()
    how = _one(rng, ["folder", "pipe", "nothing", "file", "loop"])
    if how == "folder":
        file.mkdir()
    elif how == "pipe":
        os.mkfifo(file)
    elif how == "file":
        file.write_bytes(b"PK")
    elif how == "loop":
        file.symlink_to(file)
    return f"{how} for {file.name}"


def _write(folder: Path, file: Path, written: bytes) -> None:
    """Write a file, and a journal that agrees."""
    before = digest(file.read_bytes())
    file.write_bytes(written)
    journal = folder / "journal.jsonl"
    if file != journal:
        journal.write_bytes(journal.read_bytes().replace(before.encode(), digest(written).encode()))
