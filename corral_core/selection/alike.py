"""Compare what was loaded with a fresh selection: the same classes, fields, shapes and types.

A file may come from anybody. What cannot belong to this selection is a `ValueError`, before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from corral_core.log import Log
from corral_core.protocols.problem import action_of
from corral_core.rows import Array, Rows
from corral_core.selection.round import Part, Round, Ticket


def demand_alike(loaded: Any, fresh: Any, where: str) -> None:
    """What was loaded has the kind of the fresh value; a value that is missing in either may be missing.

    Arrays have the same number of axes and the same length, and a type that holds the fresh one's values. The other
    axes may have grown.
    """
    if loaded is None or fresh is None:
        return
    if type(loaded) is not type(fresh):
        raise ValueError(f"{where} is {type(loaded).__name__}, not {type(fresh).__name__}")
    if isinstance(fresh, np.ndarray):
        if loaded.shape[:1] != fresh.shape[:1] or loaded.ndim != fresh.ndim:
            raise ValueError(f"{where} has shape {loaded.shape}, not {fresh.shape}")
        if not np.can_cast(fresh.dtype, loaded.dtype, "safe"):
            raise ValueError(f"{where} is {loaded.dtype}, not {fresh.dtype}")
    elif isinstance(fresh, Log):
        demand(loaded.rows == fresh.rows, f"{where} has {loaded.rows} rows, not {fresh.rows}")
    elif isinstance(fresh, Rows):
        for name in fresh.names:
            demand_alike(getattr(loaded, name), getattr(fresh, name), f"{where}.{name}")
    elif isinstance(fresh, Mapping):
        demand(loaded.keys() == fresh.keys(), f"{where} has the keys {list(loaded)}, not {list(fresh)}")
        for name, value in fresh.items():
            demand_alike(loaded[name], value, f"{where}.{name}")


def demand_arrays(loaded: Any, fresh: Mapping[str, Array], where: str) -> None:
    """These arrays have the names, shapes and types of the fresh ones."""
    demand(isinstance(loaded, dict) and loaded.keys() == fresh.keys(), f"{where} has other arrays")
    for name, array in fresh.items():
        found = loaded[name]
        same = isinstance(found, np.ndarray) and (found.shape, found.dtype) == (array.shape, array.dtype)
        demand(same, f"{where}.{name} is not {array.dtype} of {array.shape}")


def demand_round(turn: Any, bases: int, rows: int) -> None:
    """A round of this many bases and rows, or None."""
    if turn is None:
        return
    demand(type(turn) is Round, "the round is none")
    for name in ("chosen", "at", "restarts", "plays", "gain", "difference", "order"):
        kinds = "f" if name in ("gain", "difference") else "iu"
        if getattr(turn, name) is not None or name in ("chosen", "at", "restarts"):
            _demand_row(getattr(turn, name), kinds, rows, f"{name} of a round")
    _demand_below(turn.chosen, bases, "chosen of a round")
    _demand_below(turn.at, bases * rows, "at of a round")
    if turn.order is not None:
        _demand_below(turn.order, rows, "order of a round")
    if turn.probability is not None:
        _demand_row(turn.probability, "f", rows, "probability of a round")
    demand(isinstance(turn.parts, list) and all(type(part) is Part for part in turn.parts), "a round has no parts")
    for part in turn.parts:
        _demand_row(part.rows, "iu", len(part.learners), "rows of a part")
        _demand_row(part.at, "iu", len(part.learners), "at of a part")
        _demand_below(part.rows, rows, "rows of a part")
        _demand_below(part.at, bases * rows, "at of a part")
        _demand_below(part.learners, len(part.block.members) * rows, "learners of a part")
    demand(type(turn.alone) is bool, "alone of a round is no truth value")
    for name in ("asked", "unpaid", "told"):
        demand(type(getattr(turn, name)) is int, f"{name} of a round is no number")


def demand_tickets(tickets: Any, issued: Any, bases: int, rows: int, steps: int) -> None:
    """Open tickets of this many bases and rows, in the order of asking, of those that were issued."""
    demand(type(issued) is int and isinstance(tickets, list), "tickets are none")
    demand(all(type(ticket) is Ticket and type(ticket.number) is int for ticket in tickets), "a ticket is none")
    numbers = [-1, *(ticket.number for ticket in tickets), issued]
    demand(all(one < other for one, other in pairwise(numbers)), "tickets are out of order")
    for ticket in tickets:
        demand(type(ticket.round) is Round, "a ticket has no round")
        demand_round(ticket.round, bases, rows)
        parts = len(ticket.round.parts)
        demand(len(ticket.policies) == parts == len(ticket.decisions), "a ticket has other parts than its round")
        for part, decided in zip(ticket.round.parts, ticket.decisions, strict=True):
            sizes = [len(action_of(decision)) for decision in decided]
            demand(all(size == len(part.rows) for size in sizes), "a ticket has other decisions than rows")
        demand(type(ticket.step) is int and 0 <= ticket.step < steps, "a ticket has no step")
        demand(isinstance(ticket.actions, np.ndarray) and len(ticket.actions) == rows, "a ticket has no actions")


def demand_failures(saved: Any, bases: int, rows: int) -> None:
    """What `Failures` keeps, of this many bases and rows."""
    reasons = saved["reasons"]
    demand(all(type(number) is int and 0 <= number < bases and type(why) is str for number, why in reasons), "reasons")
    _demand_row(saved["at"], "b", bases * rows, "the bases that were set aside")
    demand(isinstance(saved["unsaid"], list) and all(type(text) is str for text in saved["unsaid"]), "warnings")


def demand(holds: bool, otherwise: str) -> None:
    """Raise a `ValueError` unless this holds."""
    if not holds:
        raise ValueError(otherwise)


def _demand_row(array: Any, kinds: str, length: int, what: str) -> None:
    fits = isinstance(array, np.ndarray) and array.shape == (length,) and array.dtype.kind in kinds
    demand(fits, f"{what} is not an array of {length}")


def _demand_below(array: Array, limit: int, what: str) -> None:
    demand(not array.size or (array.min() >= 0 and array.max() < limit), f"{what} is out of range")
