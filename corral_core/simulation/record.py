"""What is recorded of a curve: its numbers at up to 200 checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from corral_core.errors import CorralError
from corral_core.rows import Array, Rows
from corral_core.selection.round import Ticket
from corral_core.selection.selection import Selection
from corral_core.simulation.curve import Curve

CHECKPOINTS = 200


class Record(Rows):
    """The numbers of a curve, one row per replicate: (replicates, checkpoints) or (replicates, checkpoints, bases)."""

    reward: Array  # summed over plays
    regret: Array | None  # summed over plays; None if the environment does not report regret
    probabilities: Array
    plays: Array  # plays of each base
    restarts: Array
    dropped: Array


TYPES: dict[str, type[np.generic]] = {
    "reward": np.float64,
    "regret": np.float64,
    "probabilities": np.float32,
    "plays": np.int32,
    "restarts": np.int32,
    "dropped": np.bool_,
}
PER_BASE = ("probabilities", "plays", "restarts", "dropped")
MOST_BYTES = 2**28  # of a record, so that reading one takes bounded memory

Listener = Callable[[int, int, Record], None]
"""Called at each checkpoint with its number, the plays so far, and the record up to it."""


def checkpoints(horizon: int) -> Array:
    """The numbers of plays after which a curve is recorded."""
    return np.unique(np.ceil(np.linspace(0, horizon, min(CHECKPOINTS, horizon) + 1)[1:]).astype(np.int64))


def shapes(rows: int, horizon: int, bases: int) -> dict[str, tuple[int, ...]]:
    """The shape of every array of a record."""
    shape = (rows, len(checkpoints(horizon)), bases)
    return {name: shape if name in PER_BASE else shape[:2] for name in TYPES}


def record_bytes(rows: int, horizon: int, bases: int) -> int:
    """Bytes of a record."""
    found = shapes(rows, horizon, bases)
    return sum(math.prod(found[name]) * np.dtype(kind).itemsize for name, kind in TYPES.items())


class Recorder:
    """Copies the numbers of the selection at each checkpoint."""

    def __init__(self, curve: Curve, rows: int, horizon: int) -> None:
        self.at = checkpoints(horizon)
        self.steps = curve.options.steps
        arrays: dict[str, Any] = {
            name: np.zeros(shape, TYPES[name]) for name, shape in shapes(rows, horizon, len(curve.bases)).items()
        }
        self.record = Record(**arrays)

    def keep(self, checkpoint: int, reward: Array, regret: Array | None, selection: Selection, ticket: Ticket) -> None:
        record = self.record
        if regret is not None and not np.isfinite(regret).all():
            raise CorralError("the environment gave a regret that is not a finite number")
        record.reward[:, checkpoint] = reward
        if regret is None or record.regret is None:
            record.regret = None
        else:
            record.regret[:, checkpoint] = regret
        plays = selection.rounds_of * self.steps
        unplayed = self.steps - ticket.round.asked
        plays[ticket.chosen, np.arange(len(reward))] -= unplayed
        record.plays[:, checkpoint] = plays.T
        record.probabilities[:, checkpoint] = selection.probabilities.T
        record.restarts[:, checkpoint] = selection.restarts.T
        record.dropped[:, checkpoint] = ~selection.active.T
