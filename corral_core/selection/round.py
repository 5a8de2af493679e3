"""A round in progress: one choice of the meta-algorithm, the learners that take part, and the tickets of its steps."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from corral_core.parsing import shown
from corral_core.players.plain import Player
from corral_core.protocols.problem import Observation
from corral_core.rows import Array


@attrs.define(eq=False)
class Block:
    """Kin bases, played as one block: the learner of a base and row has the number slot * rows + row."""

    members: Array  # numbers of its bases
    player: Player


@attrs.define(eq=False)
class Part:
    """The learners of one block that take part in a round."""

    block: Block
    rows: Array  # the row of each learner that takes part
    learners: Array
    at: Array  # index of each learner's base and row in flat (bases, rows) arrays
    restarts: Array | None  # restarts of each learner when the round began; None if learners never restart
    whole: bool  # whether the rows are all rows, in order


@attrs.define(eq=False)
class Round:
    """One choice of the meta-algorithm, and its results so far."""

    chosen: Array
    probability: Array | None
    at: Array  # index of the chosen bases in flat (bases, rows) arrays
    restarts: Array  # restarts of the chosen bases when the round began
    parts: list[Part]
    alone: bool  # whether only the chosen bases take part, so that every row is in exactly one part
    plays: Array | None = None  # s of the chosen bases, if the judge needs it
    gain: Array | None = None  # the sum so far
    difference: Array | None = None  # reward of step 2 minus reward of step 1, for the base test
    asked: int = 0
    unpaid: int = 0  # steps that count for the gain and whose rewards are missing
    told: int = 0
    steps: Array | None = None  # (steps, rows), the gain of every step told so far, for metas with `per_step`
    order: Array | None = None  # the rows in the order of their parts

    def merged(self, proposed: list[Array]) -> Array:
        """One action per row: that of the chosen base, from what every part proposed."""
        if len(self.parts) == 1 and self.parts[0].whole:
            return proposed[0]
        if self.alone:
            joined = np.concatenate(proposed)
            actions = np.empty_like(joined)
            if self.order is None:
                self.order = np.concatenate([part.rows for part in self.parts])
            actions[self.order] = joined
            return actions
        actions = np.empty((len(self.chosen), *proposed[0].shape[1:]), dtype=np.result_type(*proposed))
        for part, each in zip(self.parts, proposed, strict=True):
            played = self.at.take(part.rows) == part.at
            actions[part.rows[played]] = each[played]
        return actions


@attrs.define(eq=False, repr=False)
class Ticket:
    """One step of a round: which base acts, with which policy, what it observed and decided."""

    owner: object  # stands for the selection that issued it
    round: Round
    step: int
    policies: list[Any]
    observation: Observation
    decisions: list[list[Any]]  # of every part, one decision per call of `ask`
    actions: Array
    seen: list[Observation] = attrs.Factory(list)  # the rows of the observation that each part sees
    told: bool = False  # it was told or abandoned
    abandoned: bool = False
    number: int = -1  # in the order of asking, from 0
    action_probability: Array | None = None  # of the actions, over bases and their randomness, if it was asked for
    renewed: Array | None = None  # (rows, arms), true if an arm was renewed since: no base learns from it

    def __repr__(self) -> str:
        return f"Ticket(number={self.number}, step={self.step}, actions={shown(self.actions.tolist())})"

    @property
    def chosen(self) -> Array:
        """The base of each row."""
        return self.round.chosen

    @property
    def probability(self) -> Array | None:
        """The probability with which it was chosen; None if the choice was deterministic."""
        return self.round.probability
