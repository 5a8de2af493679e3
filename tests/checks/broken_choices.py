"""Metas that record, drop, readmit, learn steps or do not draw, each of which breaks one rule and no other."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from breaking import rules
from sound_metas import Sound, SoundAndSilent, SoundAndWavering, SoundByStep

from corral_core.metas.sampling import among
from corral_core.protocols.meta import Verdict
from corral_core.rows import Array

BROKEN, breaks = rules()


@breaks("shapes")
class ShapesOfReadmissions(SoundAndWavering):
    """Drops and readmits a base at the same time."""

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        verdict = super().update(state, chosen, probability, gain, active)
        return verdict if verdict is None or verdict.drop is None else Verdict(drop=verdict.drop, readmit=verdict.drop)


@breaks("only-active-bases-are-chosen")
class TrustsItsReadmissions(SoundAndWavering):
    """Takes a base that it readmitted for active, although it failed the base test."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        readmitted = state.rounds % 3 == 1 and state.rounds > 1
        return np.where(active | readmitted, state.total, -np.inf).argmax(axis=0), None

    def probabilities(self, state: Any) -> Any:
        return None


@breaks("active-bases-have-a-chance")
class ReadmitsWithoutAChance(SoundAndWavering):
    """A base that once had no probability gets none again."""

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        before = state.sampled > 0
        verdict = super().update(state, chosen, probability, gain, active)
        state.sampled = among(before, state.sampled)
        return verdict


@breaks("probability-is-that-of-the-choice")
class ProbabilitiesLeftOut(Sound):
    """Draws, says with which probability, and has no probabilities."""

    def probabilities(self, state: Any) -> Any:
        return None


@breaks("probability-is-that-of-the-choice")
class HalfWhereNothingIsDrawn(SoundByStep):
    """Draws nothing, and says that it chose among two bases with a probability of one half."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        chosen, _ = super().choose(state, active, rng)
        return chosen, np.full(len(chosen), 0.5 if len(active) > 1 else 1.0)


@breaks("without-probabilities-nothing-is-drawn")
class DrawsInSilence(Sound):
    """Draws, and says nothing about probabilities."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        return super().choose(state, active, rng)[0], None

    def probabilities(self, state: Any) -> Any:
        return None


@breaks("recorded-is-what-records-names")
class RecordsRowsFirst(SoundByStep):
    """What it records has rows first."""

    def recorded(self, state: Any) -> dict[str, Array]:
        return {"total-gains": state.total.T}


@breaks("recorded-is-what-records-names")
class RecordsSomethingElse(SoundByStep):
    """Records a quantity under another name than it announced."""

    records: ClassVar[tuple[str, ...]] = ("gains-in-total",)


@breaks("recorded-is-what-records-names")
class RecordsInfinity(SoundAndSilent):
    """The mean gain of a base that was not played yet is infinite."""

    records: ClassVar[tuple[str, ...]] = ("mean-gains",)

    def recorded(self, state: Any) -> dict[str, Array]:
        return {"mean-gains": np.where(state.total > 0, state.total, np.inf)}


@breaks("any-number-of-steps")
class AnyNumberOfSteps(SoundByStep):
    """Takes it that a round has two steps."""

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        first, second = gain
        return super().update(state, chosen, probability, np.stack([first, second]), active)
