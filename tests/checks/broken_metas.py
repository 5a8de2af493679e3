"""For every check of meta-algorithms one that breaks that rule and no other."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs
import broken_choices
import broken_guarantees
import numpy as np
import sound_metas
from breaking import rules
from sound_metas import Sound, SoundAndSure

from corral_core.metas.sampling import among, draw
from corral_core.protocols.meta import Verdict
from corral_core.rows import Array

SOUND = sound_metas.SOUND
BROKEN, breaks = rules()
BROKEN |= broken_choices.BROKEN | broken_guarantees.BROKEN


@breaks("draws-have-rows-first")
class DrawsHaveRowsFirst(Sound):
    """Draws bases first."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        rng.random(active.shape)
        return super().choose(state, active, rng)


@breaks("shapes")
class Shapes(Sound):
    """Probabilities have rows first."""

    def probabilities(self, state: Any) -> Array:
        return np.asarray(state.sampled.T)


@breaks("shapes")
class ShapesOfVerdicts(Sound):
    """The verdict has rows first."""

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        super().update(state, chosen, probability, gain, active)
        return Verdict(restart=np.zeros(active.T.shape, dtype=bool))


@breaks("single-row")
class SingleRow(Sound):
    """An array of one becomes a number."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        chosen, probability = super().choose(state, active, rng)
        return chosen.squeeze(), probability


@breaks("same-seed-same-choices")
class SameSeedSameChoices(Sound):
    """Draws from a generator of its own."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        return super().choose(state, active, np.random.default_rng())


@breaks("rows-are-independent")
class RowsAreIndependent(Sound):
    """Learns the mean gain of all rows."""

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        super().update(state, chosen, probability, np.full_like(gain, gain.mean()), active)


@breaks("arguments-are-left-alone")
class ArgumentsAreLeftAlone(Sound):
    """Wipes the gains after use."""

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        super().update(state, chosen, probability, gain, active)
        gain[:] = 0.0


@breaks("no-global-randomness")
class NoGlobalRandomness(Sound):
    """Draws from the generator that everybody shares."""

    def init(self, rows: int, problem: Any) -> Any:
        np.random.random()  # noqa: NPY002
        return super().init(rows, problem)


@breaks("probabilities-sum-to-one")
class ProbabilitiesSumToOne(Sound):
    """They sum to a little more."""

    def probabilities(self, state: Any) -> Array:
        return np.asarray(state.sampled * (1 + 5e-7))


@breaks("active-bases-have-a-chance")
class ActiveBasesHaveAChance(SoundAndSure):
    """Calls a certain choice a draw."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        chosen, _ = super().choose(state, active, rng)
        state.sampled = (np.arange(len(active))[:, None] == chosen).astype(float)
        return chosen, np.ones(len(chosen))

    def probabilities(self, state: Any) -> Array:
        return np.asarray(state.sampled)


@breaks("only-active-bases-are-chosen")
class OnlyActiveBasesAreChosen(Sound):
    """Treats a base that is dropped in every row as active."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        return super().choose(state, active | ~active.any(axis=1, keepdims=True), rng)


@breaks("probability-is-that-of-the-choice")
class ProbabilityIsThatOfTheChoice(Sound):
    """Gives the square root of it."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        chosen, probability = super().choose(state, active, rng)
        return chosen, np.sqrt(probability)


@breaks("probability-is-that-of-the-choice")
class ProbabilityBeforeDropping(Sound):
    """Gives the probability that the base had before others were dropped."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        before = state.sampled
        chosen, _ = draw(among(active, before), rng)
        return chosen, before[chosen, np.arange(len(chosen))]


@breaks("update-credits-the-base-chosen")
class UpdateCreditsTheBaseChosen(Sound):
    """Credits the base that it chose last, not the one that gained."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        chosen, probability = super().choose(state, active, rng)
        self.last[len(chosen)] = chosen
        return chosen, probability

    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Any:
        super().update(state, self.last[len(chosen)], probability, gain, active)

    last: ClassVar[dict[int, Array]] = {}


@breaks("probability-is-that-of-the-choice")
class DrawsInSecret(Sound):
    """Draws, and does not say with which probability."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        return super().choose(state, active, rng)[0], None


@breaks("choices-follow-the-probabilities")
class ChoicesFollowTheProbabilities(Sound):
    """Chooses uniformly, but reports other probabilities."""

    def choose(self, state: Any, active: Array, rng: Any) -> Any:
        state.sampled = among(active, state.sampled)
        chosen, _ = draw(among(active, np.full(active.shape, 1 / len(active))), rng)
        return chosen, state.sampled[chosen, np.arange(len(chosen))]


@breaks("single-base")
class SingleBase(Sound):
    """Divides by zero if there is one base."""

    def init(self, rows: int, problem: Any) -> Any:
        1 / math.log(problem.bases)
        return super().init(rows, problem)


@breaks("horizon-of-one")
class HorizonOfOne(Sound):
    """Divides by zero if there is one round."""

    def init(self, rows: int, problem: Any) -> Any:
        1 / math.log(problem.horizon)
        return super().init(rows, problem)


@breaks("extreme-gains-are-survived")
class ExtremeGainsAreSurvived(Sound):
    """Takes exponentials without subtracting the largest exponent."""

    def weights(self, total: Array) -> Array:
        weights = np.exp(100 * self.rate * total)
        return np.asarray(0.8 * weights / weights.sum(axis=0) + 0.2 / len(total))


@breaks("says-what-it-is")
class SaysWhatItIs(Sound):
    """Declares a kind of feedback that does not exist."""

    @property
    def feedback(self) -> Any:
        return "sometimes"


@attrs.define(eq=False)
class StateWithList:
    total: Array
    sampled: Array
    gains: list[float]


@breaks("state-survives-saving")
class StateSurvivesSaving(Sound):
    """Keeps a list in its state, which the default methods cannot save."""

    def init(self, rows: int, problem: Any) -> Any:
        state = super().init(rows, problem)
        return StateWithList(state.total, state.sampled, [])


@breaks("state-survives-saving")
class StateComesBackFresh(Sound):
    """Loads a fresh state, whatever was saved."""

    def from_arrays(self, state: Any, arrays: Any) -> Any:
        return state
