"""Meta: chooses among the bases of each row; what it is told, what it may request, and what it guarantees."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.bounds import Bound, Term
from corral_core.errors import CorralError
from corral_core.protocols.named import Named
from corral_core.protocols.states import state_arrays, state_from_arrays
from corral_core.rows import Array, Rows

NeedsBounds = Literal["none", "one", "every"]  # "one" bound that holds for all bases, or "every" base's own
Players = Literal["any", "plain", "smooth", "boosted"]  # how the bases of a meta are played
FeedbackKind = Literal["raw", "importance-weighted"]
Restarts = Literal["optional", "required"]  # whether bases restart if an option is on, or always, when a verdict asks


@attrs.frozen(eq=False)
class MetaProblem:
    """What a meta-algorithm is told before the first round. Gains are scaled so that mean rewards span [0, 1]."""

    bases: int
    horizon: int | None  # rounds; None if unknown, which only a meta with needs_horizon = False is told
    delta: float
    gains: tuple[float, float] = (0.0, 1.0)  # range of the mean gains: (-1, 1) if a bias is subtracted
    bounds: tuple[Bound | None, ...] = ()  # of the bases, scaled like the gains
    plays: int | None = None  # plays in these rounds, if they are not the same number

    @property
    def rounds(self) -> int:
        """The number of rounds, for a meta that needs it; raises a `CorralError` if it is unknown."""
        if self.horizon is None:
            raise CorralError("the number of rounds is unknown; set it, or take a meta-algorithm that does not need it")
        return self.horizon


class Verdict(Rows):
    """What a meta requests from selection: (bases, rows) masks. A base that is dropped may be readmitted later."""

    restart: Array | None = None
    drop: Array | None = None
    readmit: Array | None = None


def _plain(holds: Any) -> Any:
    return bool(holds) if isinstance(holds, np.bool_) else holds


@attrs.frozen
class Condition:
    """A precondition of a guarantee: it holds, it fails, or it cannot be checked (None)."""

    text: str
    holds: bool | None = attrs.field(converter=_plain)


@attrs.frozen(eq=False)
class Guarantee:
    """What theory promises for a meta-algorithm: the order of its regret, and when it holds.

    `order(term, rounds)` is the order of the regret if the best base has the bound c s^alpha (a `Term`), in the units
    of the bounds, without constants and logarithms.
    """

    source: str  # the theorem, for people to read
    formula: str
    order: Callable[[Term, float], float]
    row: str = ""  # which row of the meta's table of rates applies, if it has one
    requires: Mapping[str, Any] = attrs.field(factory=dict)  # options: {"player": "smooth", "bias": 1.0}
    conditions: tuple[Condition, ...] = ()  # of the meta's own parameters and of what it was told


@attrs.frozen
class Meta(Named):
    """Chooses among the bases of each row. All its arrays are (bases, rows): bases first."""

    needs_horizon: ClassVar[bool] = True  # must know the number of rounds
    needs_bounds: ClassVar[NeedsBounds] = "none"
    player: ClassVar[Players] = "any"
    feedback: ClassVar[FeedbackKind] = "raw"
    clip: ClassVar[tuple[float, float]] = (0.0, 1.0)  # scaled rewards are clipped to this, before a bias
    per_step: ClassVar[bool] = False  # `update` gets the gain of every step, (steps, rows), instead of the round's
    restarts: ClassVar[Restarts] = "optional"
    records: ClassVar[tuple[str, ...]] = ()  # names of the quantities that `recorded` returns

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
    def probabilities(self, state: Any) -> Array | None:
        """The probability of each base, (bases, rows), for the curves; None if choices are deterministic."""

    def recorded(self, state: Any) -> dict[str, Array]:
        """The quantities named in `records`, each (bases, rows), to keep at every checkpoint of a curve."""
        return {}

    def to_arrays(self, state: Any) -> dict[str, Array]:
        """The state as plain arrays by name, to be saved.

        The default saves an attrs class whose fields are arrays, numbers, strings, None, `Rows`, or attrs classes of
        the same kinds. Override both methods if the state is anything else.
        """
        return state_arrays(state, self.name)

    def from_arrays(self, state: Any, arrays: Mapping[str, Array]) -> Any:
        """The state that was saved as these arrays; `state` is a fresh one, which may be filled and returned."""
        return state_from_arrays(state, arrays)

    def guarantee(self, told: MetaProblem) -> Guarantee | None:
        """What theory promises for this meta over these bases; None if nothing is known."""
        return None

    def choices(self, problem: MetaProblem) -> list[str]:
        """The parameters that it chose itself and why, one sentence each."""
        return []
