"""Meta-algorithms that break no rule."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from corral_core.metas.sampling import among, draw
from corral_core.protocols.meta import Condition, Guarantee, Meta, Verdict
from corral_core.protocols.parameters import parameter
from corral_core.rows import Array


@attrs.define(eq=False)
class State:
    total: Array  # (bases, rows), of gains
    sampled: Array
    rounds: int = 0


@attrs.frozen
class Sound(Meta):
    """Exponential weights of the gains, mixed with uniform play."""

    name: ClassVar[str] = "sound"

    rate: float = parameter(0.3, help="of learning")

    def init(self, rows: int, problem: Any) -> Any:
        total = np.zeros((problem.bases, rows))
        return State(total, self.weights(total))

    def weights(self, total: Array) -> Array:
        weights = np.exp(self.rate * (total - total.max(axis=0)))
        return np.asarray(0.8 * weights / weights.sum(axis=0) + 0.2 / len(total))

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        state.sampled = among(active, state.sampled)
        return draw(state.sampled, rng)

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        state.total[chosen, np.arange(len(chosen))] += gain
        state.sampled = self.weights(state.total)

    def probabilities(self, state: Any) -> Array:
        found: Array = state.sampled
        return found


@attrs.frozen
class SoundAndSure(Sound):
    """The base of the largest total gain: no draw, no probability."""

    name: ClassVar[str] = "sound-and-sure"

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        return np.where(active, state.total, -np.inf).argmax(axis=0), None

    def probabilities(self, state: Any) -> Array:
        best = state.total.argmax(axis=0)
        return np.asarray(np.arange(len(state.total))[:, None] == best, dtype=float)


@attrs.frozen
class SoundAndSilent(SoundAndSure):
    """The base of the largest total gain: no draw, and nothing to say about probabilities."""

    name: ClassVar[str] = "sound-and-silent"

    def probabilities(self, state: Any) -> Any:
        return None


@attrs.frozen
class SoundByStep(Sound):
    """Learns the mean gain of the steps of a round, and records the totals."""

    name: ClassVar[str] = "sound-by-step"
    per_step: ClassVar[bool] = True
    records: ClassVar[tuple[str, ...]] = ("total-gains",)

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        return super().update(state, chosen, probability, gain.mean(axis=0), active)

    def recorded(self, state: Any) -> dict[str, Array]:
        return {"total-gains": state.total}


@attrs.frozen
class SoundAndWavering(Sound):
    """Drops the base of the lowest total in every third round, and readmits all in the next."""

    name: ClassVar[str] = "sound-and-wavering"
    restarts: ClassVar[str] = "required"

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        super().update(state, chosen, probability, gain, active)
        state.rounds += 1
        if state.rounds % 3 == 1:
            return Verdict(readmit=~active, restart=~active)
        lowest = np.arange(len(active))[:, None] == state.total.argmin(axis=0)
        return Verdict(drop=lowest) if state.rounds % 3 == 0 else None


@attrs.frozen
class SoundAndPledged(Sound):
    """It needs no horizon, and states a guarantee."""

    name: ClassVar[str] = "sound-and-pledged"
    needs_horizon: ClassVar[bool] = False

    def guarantee(self, told: Any) -> Any:
        return Guarantee(
            source="a lemma",
            formula="M c T^alpha",
            order=lambda term, rounds: told.bases * term.c * rounds**term.alpha,
            requires={"player": "plain", "bias": 0.0},
            conditions=(Condition("the rate is at most 1", self.rate <= 1),),
        )


SOUND = (Sound, SoundAndSure, SoundAndSilent, SoundByStep, SoundAndWavering, SoundAndPledged)
