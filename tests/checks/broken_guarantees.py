"""Metas that state a guarantee or need no horizon, each of which breaks one rule and no other."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from breaking import rules
from sound_metas import SoundAndPledged

BROKEN, breaks = rules()


@breaks("guarantee-has-an-order")
class GuaranteeHasAnOrder(SoundAndPledged):
    """Its order is zero at one round."""

    def guarantee(self, told: Any) -> Any:
        return attrs.evolve(super().guarantee(told), order=lambda term, rounds: term.c * math.log(rounds))


@breaks("guarantee-has-an-order")
class GuaranteeInWords(SoundAndPledged):
    """States it as a sentence."""

    def guarantee(self, told: Any) -> Any:
        return "regret is small"


@breaks("guarantee-has-an-order")
class GuaranteeOfTheHorizon(SoundAndPledged):
    """Has an order only if it is told a horizon, which it says it does not need."""

    def guarantee(self, told: Any) -> Any:
        return attrs.evolve(super().guarantee(told), order=lambda term, rounds: term.c * math.sqrt(told.rounds))


@breaks("guarantee-says-what-it-requires")
class GuaranteeSaysWhatItRequires(SoundAndPledged):
    """Requires a player that does not exist."""

    def guarantee(self, told: Any) -> Any:
        return attrs.evolve(super().guarantee(told), requires={"player": "smoothed"})


@breaks("guarantee-says-what-it-requires")
class GuaranteeOfAnUnknownOption(SoundAndPledged):
    """Requires an option that does not exist."""

    def guarantee(self, told: Any) -> Any:
        return attrs.evolve(super().guarantee(told), requires={"smoothing": True})


@breaks("guarantee-says-what-it-requires")
class GuaranteeWithBareConditions(SoundAndPledged):
    """Its conditions are sentences."""

    def guarantee(self, told: Any) -> Any:
        return attrs.evolve(super().guarantee(told), conditions=("the rate is at most 1",))


@breaks("choices-are-sentences")
class ChoicesAreSentences(SoundAndPledged):
    """Says what it chose in one string, which is a list of letters."""

    def choices(self, problem: Any) -> Any:
        return "nothing was left to choose"


@breaks("guarantee-has-an-order")
class GuaranteeOfNumpyIntegers(SoundAndPledged):
    """Counts rounds in 64 bits."""

    def guarantee(self, told: Any) -> Any:
        return attrs.evolve(super().guarantee(told), order=lambda term, rounds: float(np.int64(rounds)))


@breaks("unknown-horizon")
class UnknownHorizon(SoundAndPledged):
    """Divides by a horizon that it says it does not need."""

    def init(self, rows: int, problem: Any) -> Any:
        1 / problem.horizon
        return super().init(rows, problem)
