"""Chunks as files: one compressed npz of plain arrays per chunk."""

from __future__ import annotations

import io
import re
import zlib
from typing import Any

import numpy as np

from corral_core.engines.chunks import Task
from corral_core.runs.description import PointDescription
from corral_core.simulation.record import Record, checkpoints


def file_name(task: Task) -> str:
    """File name of a chunk."""
    slug = re.sub(r"[^A-Za-z0-9.=+-]+", "-", task.curve).strip("-")[:80]
    return f"{task.point}-{slug}-{zlib.crc32(task.curve.encode()):08x}-{task.chunk_number:05}.npz"


def packed(task: Task, record: Record, point: PointDescription) -> bytes:
    """The content of a chunk's file."""
    arrays: dict[str, Any] = {
        **record.to_arrays(),
        "at": checkpoints(point.horizon),
        "bases": np.asarray(point.curve(task.curve).bases),
    }
    file = io.BytesIO()
    np.savez_compressed(file, curve=np.asarray(task.curve), **arrays)
    return file.getvalue()


def unpacked(content: bytes) -> Record:
    """The record in a chunk's file."""
    with np.load(io.BytesIO(content)) as arrays:
        fields: dict[str, Any] = {name: arrays.get(name) for name in Record.names}
    return Record(**fields)
