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
from corral_core.selection.validation import LARGEST
from corral_core.simulation.curve import Curve

CHECKPOINTS = 200


class Record(Rows):
    """The numbers of a curve, one row per replicate: (replicates, checkpoints) or (replicates, checkpoints, bases).

    What the meta records is (replicates, checkpoints, quantities, bases), in the order of its `records`.
    """

    reward: Array  # summed over plays
    regret: Array | None  # summed over plays; None if the environment does not report regret
    probabilities: Array | None  # None if the choices of the meta are deterministic
    plays: Array  # plays of each base
    restarts: Array
    dropped: Array
    recorded: Array | None = None  # None if the meta records nothing


TYPES: dict[str, type[np.generic]] = {
    "reward": np.float64,
    "regret": np.float64,
    "probabilities": np.float32,
    "plays": np.int32,
    "restarts": np.int32,
    "dropped": np.bool_,
    "recorded": np.float64,
}
PER_BASE = ("probabilities", "plays", "restarts", "dropped")
MOST_BYTES = 2**28  # of a record, so that reading one takes bounded memory

Listener = Callable[[int, int, Record], None]
"""Called at each checkpoint with its number, the plays so far, and the record up to it."""


def checkpoints(horizon: int) -> Array:
    """The numbers of plays after which a curve is recorded."""
    return np.unique(np.ceil(np.linspace(0, horizon, min(CHECKPOINTS, horizon) + 1)[1:]).astype(np.int64))


def shapes(rows: int, horizon: int, bases: int, quantities: int = 0) -> dict[str, tuple[int, ...]]:
    """The shape of every array of a record whose meta records so many quantities."""
    shape = (rows, len(checkpoints(horizon)), bases)
    found: dict[str, tuple[int, ...]] = {name: shape if name in PER_BASE else shape[:2] for name in TYPES}
    if quantities:
        found["recorded"] = (*shape[:2], quantities, bases)
    else:
        del found["recorded"]
    return found


def record_bytes(rows: int, horizon: int, bases: int, quantities: int = 0) -> int:
    """Bytes of a record."""
    found = shapes(rows, horizon, bases, quantities)
    return sum(math.prod(shape) * np.dtype(TYPES[name]).itemsize for name, shape in found.items())


def interval_shares(plays: Array, at: Array) -> Array:
    """Shares of the plays since the previous checkpoint, from (..., checkpoints, bases) plays at these checkpoints."""
    return np.asarray(np.diff(plays, axis=-2, prepend=0) / np.diff(at, prepend=0)[:, None])


def latest_choices(record: Record, checkpoint: int) -> Array:
    """The probabilities of the bases at a checkpoint; without any, their shares of plays since the previous one."""
    if record.probabilities is not None:
        found: Array = record.probabilities[:, checkpoint]
        return found
    since: Array = record.plays[:, checkpoint] - (record.plays[:, checkpoint - 1] if checkpoint else 0)
    return np.asarray(since / since.sum(axis=1, keepdims=True))


class Recorder:
    """Copies the numbers of the selection at each checkpoint."""

    def __init__(self, curve: Curve, rows: int, horizon: int) -> None:
        self.at = checkpoints(horizon)
        self.steps = curve.options.steps
        self.quantities = curve.records
        found = shapes(rows, horizon, len(curve.bases), len(self.quantities))
        arrays: dict[str, Any] = {name: np.zeros(shape, TYPES[name]) for name, shape in found.items()}
        self.record = Record(**arrays)

    def keep(self, checkpoint: int, reward: Array, regret: Array | None, selection: Selection, ticket: Ticket) -> None:
        record = self.record
        _check_sums(reward, "reward")
        if regret is not None:
            _check_sums(regret, "regret")
        record.reward[:, checkpoint] = reward
        if regret is None or record.regret is None:
            record.regret = None
        else:
            record.regret[:, checkpoint] = regret
        plays = selection.rounds_of * self.steps
        unplayed = self.steps - ticket.round.asked
        plays[ticket.chosen, np.arange(len(reward))] -= unplayed
        record.plays[:, checkpoint] = plays.T
        probabilities = selection.probabilities
        if probabilities is None or record.probabilities is None:
            record.probabilities = None
        else:
            record.probabilities[:, checkpoint] = probabilities.T
        record.restarts[:, checkpoint] = selection.restarts.T
        record.dropped[:, checkpoint] = ~selection.active.T
        if record.recorded is not None:
            recorded = selection.recorded
            for place, name in enumerate(self.quantities):
                record.recorded[:, checkpoint, place] = recorded[name].T


def _check_sums(sums: Array, what: str) -> None:
    """Refuse what a chunk file cannot hold."""
    if not np.isfinite(sums).all():
        raise CorralError(f"the environment gave a {what} that is not a finite number")
    if not (np.abs(sums) <= LARGEST).all():
        most = float(np.abs(sums).max())
        raise CorralError(f"the {what} of the environment adds up to {most:.3g}; curves hold at most {LARGEST:g}")
