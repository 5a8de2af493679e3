"""Meta: a distribution over the bases of each row, what it is told, and what it may request."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import attrs
from numpy.random import Generator

from corral_core.bounds import Bound
from corral_core.protocols.named import Named
from corral_core.rows import Array, Rows

NeedsBounds = Literal["none", "one", "every"]  # "one" bound that holds for all bases, or "every" base's own
Players = Literal["any", "plain", "smooth", "boosted"]  # how the bases of a meta are played
FeedbackKind = Literal["raw", "importance-weighted", "shared"]


@attrs.frozen(eq=False)
class MetaProblem:
    """What a meta-algorithm is told before the first round. Gains are scaled so that mean rewards span [0, 1]."""

    bases: int
    horizon: int  # rounds
    delta: float
    gains: tuple[float, float] = (0.0, 1.0)  # range of the gains: (-1, 1) if a bias is subtracted
    bounds: tuple[Bound | None, ...] = ()  # of the bases, scaled like the gains
    plays: int | None = None  # plays in these rounds, if they are not the same number


class Verdict(Rows):
    """What a meta requests from selection: (bases, rows) masks."""

    restart: Array | None = None
    drop: Array | None = None


@attrs.frozen
class Meta(Named):
    """A distribution over the bases of each row. All its arrays are (bases, rows): bases first."""

    needs_horizon: ClassVar[bool] = True  # must know the number of rounds
    needs_bounds: ClassVar[NeedsBounds] = "none"
    player: ClassVar[Players] = "any"
    feedback: ClassVar[FeedbackKind] = "raw"
    clip: ClassVar[tuple[float, float]] = (0.0, 1.0)  # scaled rewards are clipped to this, before a bias

    @abstractmethod
    def init(self, rows: int, problem: MetaProblem) -> Any:
        """The state of a fresh meta-algorithm in every row."""

    @abstractmethod
    def choose(self, state: Any, active: Array, rng: Generator) -> tuple[Array, Array | None]:
        """The base each row plays, and its probability (None if the choice is deterministic)."""

    @abstractmethod
    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Verdict | None:
        """Learn, in place, what the chosen bases gained."""

    @abstractmethod
    def probabilities(self, state: Any) -> Array:
        """The probability of each base, (bases, rows), for the curves."""

    def choices(self, problem: MetaProblem) -> list[str]:
        """The parameters that it chose itself and why, one sentence each."""
        return []
