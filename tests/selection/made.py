"""Selections for tests, and playing them by hand."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from corral_core.protocols.problem import NOTHING, Problem
from corral_core.selection.selection import Selection

ROUNDS = 500
PROBLEM = Problem(arms=3, noise=0.5, low=0.0, high=1.0, reward_low=0.0, reward_high=1.0, horizon=1000, delta=0.01)
MEANS = np.array([0.2, 0.5, 0.8])


def selection(bases, meta, rows=4, options=None, seed=1, problem=PROBLEM) -> Selection:
    made = [base.resolve(problem) for base in bases]
    rng = np.random.default_rng(seed)
    return Selection(made, meta, problem, rows=rows, rounds=ROUNDS, rng=rng, options=options)


def play(chosen: Selection, plays: int, seed: int = 2) -> list[tuple[list[int], list[int]]]:
    """Bernoulli arms by hand; what was chosen and done at every play."""
    luck, done = np.random.default_rng(seed), []
    for _ in range(plays):
        actions, ticket = chosen.ask(NOTHING)
        done.append((ticket.chosen.tolist(), actions.tolist()))
        chosen.tell(ticket, (luck.random(chosen.rows) < MEANS[actions]).astype(float))
    return done


def digest(thing: Any) -> str:
    """A digest of every number, array, list and object that this holds, however deep."""
    found = hashlib.sha256()
    _add(found, thing, {})
    return found.hexdigest()


def _add(found: Any, thing: Any, seen: dict[int, Any]) -> None:
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        found.update(f"{thing.dtype}{thing.shape}".encode() + thing.tobytes())
    elif isinstance(thing, np.random.Generator):
        found.update(repr(thing.bit_generator.state).encode())
    elif isinstance(thing, (str, bytes, int, float, bool, type(None), type)):
        found.update(repr(thing).encode())
    elif id(thing) not in seen:
        seen[id(thing)] = thing  # kept, so that no other object gets its id
        parts = list(thing.items()) if isinstance(thing, dict) else thing
        if not isinstance(parts, (list, tuple, np.ndarray)):
            names = [*getattr(thing, "__dict__", ()), *getattr(type(thing), "__slots__", ())]
            parts = [(name, getattr(thing, name)) for name in names if hasattr(thing, name) and name != "__weakref__"]
        found.update(f"{type(thing).__name__}{len(parts)}".encode())
        for part in parts:
            _add(found, part, seen)
