"""Chunks as files: one compressed npz of plain arrays per chunk.

Anybody may have written the file that is read. Which arrays it must contain follows from the run's description: their
types and shapes are checked before anything is unpacked, and no more bytes are unpacked than they need.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
import zlib
from typing import Any

import numpy as np

from corral_core.engines.chunks import Task
from corral_core.rows import Array
from corral_core.runs.description import PointDescription
from corral_core.selection.validation import LARGEST
from corral_core.simulation.record import TYPES, Record, checkpoints, shapes

UNCOUNTED = ("at", "bases", "curve", "quantities")  # arrays for readers without Corral


def file_name(task: Task) -> str:
    """File name of a chunk."""
    slug = re.sub(r"[^A-Za-z0-9.=+-]+", "-", task.curve).strip("-")[:80]
    return f"{task.point}-{slug}-{zlib.crc32(task.curve.encode()):08x}-{task.chunk_number:05}.npz"


def packed(task: Task, record: Record, point: PointDescription) -> bytes:
    """The content of a chunk's file."""
    curve = point.curve(task.curve)
    arrays: dict[str, Any] = {
        **record.to_arrays(),
        "at": checkpoints(point.horizon),
        "bases": np.asarray(curve.bases),
    }
    if curve.records:
        arrays["quantities"] = np.asarray(curve.records)
    else:  # also if a version that recorded nothing began the run
        arrays.pop("recorded", None)
    file = io.BytesIO()
    np.savez_compressed(file, curve=np.asarray(task.curve), **arrays)
    return file.getvalue()


def unpacked(content: bytes, task: Task, point: PointDescription) -> Record:
    """The record in the file of a chunk of this point. ValueError says what is wrong with the file."""
    curve = point.curve(task.curve)
    expected = shapes(task.rows, point.horizon, len(curve.bases), len(curve.records))
    fields: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            names = file.namelist()
            known = {f"{name}.npy" for name in (*expected, *UNCOUNTED)}
            if len(set(names)) < len(names) or not known.issuperset(names):
                raise ValueError("it has other arrays than a chunk has")
            for name in expected:
                fields[name] = _array(file, name, expected[name]) if f"{name}.npy" in names else None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, LookupError):
        raise ValueError("it is not a zip file of arrays") from None
    optional = ("regret",) if curve.meta is None else ("regret", "probabilities")
    if missing := [name for name, value in fields.items() if value is None and name not in optional]:
        raise ValueError(f"it has no {missing[0]}")
    return Record(**fields)


def _array(file: zipfile.ZipFile, name: str, shape: tuple[int, ...]) -> Array:
    """One array, of which no more is unpacked than its type and shape allow."""
    entry, dtype = file.getinfo(f"{name}.npy"), np.dtype(TYPES[name])
    size = math.prod(shape) * dtype.itemsize
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or not 0 <= entry.file_size - size < 2**12:
        raise ValueError(f"{name} has another size than the experiment says")
    with file.open(entry) as packed:
        if _header(packed) != (shape, False, dtype):
            raise ValueError(f"{name} is not an array of {dtype} of shape {shape}")
        written = packed.read(size)
        if len(written) < size or packed.read(1):
            raise ValueError(f"{name} has another size than the experiment says")
    _check_values(name, values := np.frombuffer(written, dtype).reshape(shape))
    return values.copy()


def _check_values(name: str, values: Array) -> None:
    """Refuse numbers that no curve can have."""
    if values.dtype.kind == "f" and not (np.abs(values) <= min(LARGEST, float(np.finfo(values.dtype).max))).all():
        raise ValueError(f"{name} has a value that is not a finite number")
    if values.dtype.kind == "i" and (values < 0).any():
        raise ValueError(f"{name} has a negative number")
    if values.dtype.kind == "b" and (values.view(np.uint8) > 1).any():
        raise ValueError(f"{name} has a value that is neither true nor false")


def _header(packed: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type in the header of an array."""
    try:
        if np.lib.format.read_magic(packed) != (1, 0):
            raise ValueError
        return np.lib.format.read_array_header_1_0(packed)
    except Exception:  # the header is Python source, which may be wrong in any way
        raise ValueError("an array has no header that numpy writes") from None
