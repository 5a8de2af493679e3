"""Meta-algorithms at play without bases: what their checks run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from corral_core.bounds import Bound, Term
from corral_core.checks.rules import broken, same, shown
from corral_core.checks.streams import Streams
from corral_core.checks.trial import named
from corral_core.metas.sampling import among
from corral_core.protocols.meta import Meta, MetaProblem, Verdict
from corral_core.rows import Array
from corral_core.selection.validation import choice_of, recorded_of, verdict_of

ROUNDS = 20
STEPS = 2  # of a round, for metas that learn every step
SQRT = Bound(np.sqrt, (Term(1.0, 0.5),))


@attrs.frozen(eq=False)
class MetaCase:
    """A meta-algorithm over bases with or without bounds."""

    meta: Meta
    bounded: bool
    place: ClassVar[str] = ""  # it plays in no environment

    @property
    def label(self) -> str:
        return f"{named(self.meta)} over bases {'with' if self.bounded else 'without'} bounds"

    def contest(
        self,
        rows: Sequence[int] = (0, 1, 2, 3, 4),
        bases: int = 3,
        horizon: int = ROUNDS,
        rng: Any = None,
        steps: int = STEPS,
        seed: int = 2,
    ) -> Contest:
        bounds = ((SQRT,) if self.bounded else (None,)) * bases
        problem = MetaProblem(bases=bases, horizon=horizon, delta=1 / (horizon + 1), bounds=bounds)
        return Contest(self.meta, problem, rows, rng, steps, seed)


class Contest:
    """A meta-algorithm over bases that gain 1 with a probability that depends on row and base, else 0."""

    def __init__(
        self,
        meta: Meta,
        problem: MetaProblem,
        rows: Sequence[int],
        rng: Any = None,
        steps: int = STEPS,
        seed: int = 2,
    ) -> None:
        self.meta, self.problem, self.rows = meta, problem, len(rows)
        self.steps = steps
        self.luck = Streams.seeded(1, rows) if rng is None else rng
        self.draws: Any = Streams.seeded(seed, rows) if rng is None else rng
        self.mean = self.luck.random((len(rows), problem.bases))
        self.passed = np.ones((problem.bases, len(rows)), dtype=bool)  # the base test
        self.wanted = self.passed  # by the meta
        self.state = meta.init(len(rows), problem)
        self.drawn_from: Array | None = None  # the probabilities of the last choice
        self.history: list[tuple[Array, Array | None]] = []

    @property
    def active(self) -> Array:
        """The bases that passed the test and that the meta wants, (bases, rows)."""
        return self.passed & self.wanted

    def choose(self) -> tuple[Array, Array | None]:
        before = self.chances
        choice = self.meta.choose(self.state, self.active, self.draws)
        chosen, probability = choice_of(self.meta, choice, self.problem.bases, self.rows)
        self.drawn_from = None if before is None else among(self.active, before)
        if probability is not None and not same(probability, self.chance_of(chosen)):
            after = self.chances  # `choose` may have changed them
            self.drawn_from = None if after is None else among(self.active, after)
        return chosen, probability

    def chance_of(self, chosen: Array) -> Array:
        """The probability that each row's base had among the active ones at the last choice; NaN if unknown."""
        if self.drawn_from is None:
            return np.full(self.rows, np.nan)
        found: Array = self.drawn_from[chosen, np.arange(self.rows)]
        return found

    @property
    def chances(self) -> Array | None:
        """The probabilities as selection uses them; None if the meta does not draw."""
        found = self.meta.probabilities(self.state)
        wanted = (self.problem.bases, self.rows)
        if found is not None and (not isinstance(found, np.ndarray) or found.shape != wanted):
            broken(f"probabilities must have the shape (bases, rows) = {wanted}, not {shown(found)}")
        return found

    @property
    def finite(self) -> bool:
        """Whether the probabilities, if there are any, are finite."""
        chances = self.chances
        return chances is None or bool(np.isfinite(chances).all())

    def check_recorded(self) -> None:
        """Raises a `CorralError` if what it records is not what `records` names, of the right shape and finite."""
        recorded_of(self.meta, self.meta.recorded(self.state), self.problem.bases, self.rows)

    def gain(self, gain: Array) -> Array:
        """These gains as the meta learns them: if it learns every step, (steps, rows)."""
        return np.tile(gain, (self.steps, 1)) if self.meta.per_step else gain

    def round(self, gain: Array | None = None) -> tuple[Array, Array | None]:
        """Choose, gain, update. Returns the chosen bases and their probabilities."""
        chosen, probability = self.choose()
        self.history.append((np.array(chosen), None if probability is None else np.array(probability)))
        if gain is None:
            uniform = self.luck.random((self.rows, self.steps if self.meta.per_step else 1))
            lucky = (uniform < self.mean[np.arange(self.rows), chosen][:, None]).astype(np.float64).T
            told = lucky if self.meta.per_step else lucky[0]
        else:
            told = self.gain(gain)
        verdict = self.meta.update(self.state, chosen, probability, told, self.active)
        verdict = verdict_of(self.meta, verdict, self.problem.bases, self.rows)
        if verdict is not None:
            self._want(verdict)
        return chosen, probability

    def drop(self, bases: Array) -> None:
        """These bases fail the base test; the last active base of a row is never dropped."""
        left = self.passed & ~bases
        self.passed = np.where((left & self.wanted).any(axis=0), left, self.passed)

    def _want(self, verdict: Verdict) -> None:
        wanted = self.wanted if verdict.drop is None else self.wanted & ~verdict.drop
        wanted = wanted if verdict.readmit is None else wanted | verdict.readmit
        self.wanted = np.where((self.passed & wanted).any(axis=0), wanted, self.wanted)

    def drop_in_places(self) -> None:
        """Drop base 1 in every second row."""
        bases = np.zeros_like(self.passed)
        bases[1, ::2] = True
        self.drop(bases)

    def run(self, rounds: int = ROUNDS) -> Contest:
        for _ in range(rounds):
            self.round()
        return self


def draws(case: MetaCase) -> bool:
    """Whether the choice is random; a deterministic meta returns no probability."""
    try:
        return case.contest().choose()[1] is not None
    except Exception:
        return True
