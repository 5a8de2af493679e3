"""Judging: gain, bias, base test, restarts and drops.

    gain of a round = weighted rewards of its steps, scaled to [0, 1] and clipped  -  bias * min(U_j(s)/s, 1)

(or in raw units, or not clipped, as the options say; 1 is then the range of means in these units). A meta with
`per_step` gets the rewards of all steps, scaled and clipped in the same way, with the bias subtracted in the steps
whose weight is positive.

A base is active if it passed the base test, was not set aside, and is wanted by the meta: a verdict may drop it and
readmit it later. The last active base of a row is never dropped.

The base test drops base j when the sum of r2 - r1 over its n whole rounds since its last restart exceeds

    U_j(n) + 2 sqrt(2 n v ln(4 T M / delta))

with v the variance proxy of r2 - r1 (option `test_variance`). Source: Pacchiano et al., "Model selection in contextual
stochastic bandit problems", 2020, Section 4 and Appendix A; `docs/errata.md` lists what differs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator

from corral_core.bounds import BoundTable
from corral_core.errors import CorralError, reason
from corral_core.metas.sampling import among
from corral_core.protocols.meta import Meta, MetaProblem, Verdict
from corral_core.protocols.problem import Problem
from corral_core.rows import Array
from corral_core.selection.alike import demand, demand_arrays
from corral_core.selection.options import Options
from corral_core.selection.round import Round
from corral_core.selection.setup import units
from corral_core.selection.validation import check_active, choice_of, kind, probabilities_of, recorded_of, verdict_of


class Judge:
    """The judge of a base alone, which is always chosen and never dropped or restarted."""

    needs_plays = False  # whether a round must record s of the chosen bases

    def __init__(self, bases: int, rows: int) -> None:
        self.active = np.ones((bases, rows), dtype=bool)
        self.passed = self.active  # the base test, and not set aside
        self.wanted = self.active  # by the meta
        self.restarts = np.zeros((bases, rows), dtype=np.int64)
        self._everyone = self.active
        self._first = np.zeros(rows, dtype=np.intp)

    def choose(self, rng: Generator) -> tuple[Array, Array | None]:
        """The base of each row, and its probability (None if the choice is deterministic)."""
        return self._first, None

    @property
    def probabilities(self) -> Array | None:
        """(bases, rows): the probability with which each base would be chosen now; None if the meta does not draw."""
        return np.ones(self.active.shape)

    @property
    def recorded(self) -> dict[str, Array]:
        """The quantities that the meta records, each (bases, rows)."""
        return {}

    def saved(self) -> dict[str, Any]:
        """Everything that must be saved, by name."""
        return {"own": _arrays_of(self)}

    def restore(self, saved: dict[str, Any]) -> None:
        """Continue with what another judge `saved`."""
        _replace_arrays(self, saved["own"])

    def told(self, turn: Round, step: int, reward: Array) -> Array | None:
        """Take the rewards of a step into account; return a (bases, rows) mask of bases to restart, or None."""
        return None

    def set_aside(self, at: Array) -> bool:
        """Never choose these bases again in these rows. False, and nothing changes, if a row would have none left.

        If only bases are left that the meta had dropped, they are readmitted.
        """
        passed = self.passed.copy()
        passed.reshape(-1)[at] = False
        if not passed.any(axis=0).all():
            return False
        self._admit(passed, self.wanted | ~(passed & self.wanted).any(axis=0))
        return True

    def _admit(self, passed: Array, wanted: Array) -> None:
        self.passed, self.wanted, self.active = passed, wanted, passed & wanted


class MetaJudge(Judge):
    """Judges the bases for a meta-algorithm, which learns the gain of every round."""

    def __init__(
        self, meta: Meta, told: MetaProblem, problem: Problem, options: Options, rows: int, weights: tuple[float, ...]
    ) -> None:
        super().__init__(told.bases, rows)
        self.meta = meta
        self.state = meta.init(rows, told)
        self.needs_plays = bool(options.bias)
        self._low, self._span, self._most = units(problem, options)
        self._is_unit = self._low == 0 and self._span == 1  # rewards are in the meta's units
        self._clip = options.clip_for(meta, problem)
        self._options, self._weights = options, weights
        self._counts = np.array([[weight > 0] for weight in weights])  # (steps, 1): which steps count for the gain
        bounds = BoundTable([bound for bound in told.bounds if bound is not None], options.bound)
        self._bounds = bounds
        noise = None if problem.noise is None else problem.noise / self._span
        self._base_test: BaseTest | None = None
        if options.base_test:
            variance = variance_proxy(noise, self._clip, self._most, options)
            self._base_test = BaseTest(bounds, told, rows, variance, self._clip if noise is None else None)

    def choose(self, rng: Generator) -> tuple[Array, Array | None]:
        bases, rows = self.active.shape
        chosen, probability = choice_of(self.meta, self.meta.choose(self.state, self.active, rng), bases, rows)
        if self.active is not self._everyone:
            check_active(self.meta, chosen, self.active)
        return chosen, probability

    @property
    def probabilities(self) -> Array | None:
        found = probabilities_of(self.meta, self.meta.probabilities(self.state), *self.active.shape)
        return None if found is None else among(self.active, found)

    @property
    def recorded(self) -> dict[str, Array]:
        return recorded_of(self.meta, self.meta.recorded(self.state), *self.active.shape)

    def saved(self) -> dict[str, Any]:
        test = {} if self._base_test is None else _arrays_of(self._base_test)
        return {**super().saved(), "test": test, "meta": self.meta.to_arrays(self.state)}

    def restore(self, saved: dict[str, Any]) -> None:
        super().restore(saved)
        if self._base_test is not None:
            _replace_arrays(self._base_test, saved["test"])
        demand(isinstance(saved["meta"], dict), "the meta-algorithm has no state")
        try:
            state = self.meta.from_arrays(self.state, saved["meta"])
        except CorralError:
            raise
        except Exception as error:
            raise CorralError(f"{self.meta.name}: from_arrays refused what was saved ({reason(error)})") from error
        if type(state) is not type(self.state):
            raise CorralError(f"{self.meta.name}: from_arrays must return the state, not {kind(state)}")
        self.state = state

    def told(self, turn: Round, step: int, reward: Array) -> Array | None:
        turn.told += 1
        weight = self._weights[step]
        if not weight and self._base_test is None and not self.meta.per_step:
            return None
        scaled = reward if self._is_unit else (reward - self._low) / self._span
        if self._base_test is not None:
            compared = self._base_test.compared(scaled)
            compared = +compared if step else -compared  # a copy
            turn.difference = compared if turn.difference is None else turn.difference + compared
            if turn.told == len(self._weights):
                self._drop(self._base_test.broken(turn, self.restarts))
        if self.meta.per_step:
            return self._told_step(turn, step, scaled)
        if not weight:
            return None
        gain = weight * clipped(scaled, self._clip)  # a copy, which a meta may change
        turn.gain = gain if turn.gain is None else turn.gain + gain
        turn.unpaid -= 1
        return self._update(turn, turn.gain) if turn.unpaid == 0 else None

    def _told_step(self, turn: Round, step: int, scaled: Array) -> Array | None:
        """Note the gain of a step; the meta is told all of them together, when none is missing."""
        if turn.steps is None:
            turn.steps = np.zeros((len(self._weights), len(scaled)))
        turn.steps[step] = clipped(scaled, self._clip)
        return self._update(turn, turn.steps) if turn.told == len(self._weights) else None

    def _update(self, turn: Round, gain: Array) -> Array | None:
        if self._options.bias:
            assert turn.plays is not None
            average = self._bounds(turn.chosen, turn.plays) / turn.plays
            bias = self._options.bias * np.minimum(average, self._most)
            gain = gain - (self._counts * bias if self.meta.per_step else bias)
        verdict = self.meta.update(self.state, turn.chosen, turn.probability, gain, self.active)
        verdict = verdict_of(self.meta, verdict, *self.active.shape)
        if verdict is None:
            return None
        self._want(verdict)
        if not self._options.restart or verdict.restart is None:
            return None
        restart: Array = verdict.restart & self.passed
        self.restarts += restart
        if self._base_test is not None:
            self._base_test.forget(restart)
        return restart

    def _drop(self, broken: Array | None) -> None:
        """Drop bases that failed the base test, for good; a row's last active base stays."""
        if broken is not None:
            passed = self.passed & ~broken
            none = ~(passed & self.wanted).any(axis=0)
            self._admit(np.where(none, self.passed, passed), self.wanted)

    def _want(self, verdict: Verdict) -> None:
        """Drop and readmit bases as the meta wishes; a row that would have no active base left stays as it is."""
        if verdict.drop is None and verdict.readmit is None:
            return
        wanted = self.wanted if verdict.drop is None else self.wanted & ~verdict.drop
        wanted = wanted if verdict.readmit is None else wanted | verdict.readmit
        none = ~(self.passed & wanted).any(axis=0)
        self._admit(self.passed, np.where(none, self.wanted, wanted))


class BaseTest:
    """Finds bases that break their own bound.

    If the scale of the noise is unknown, rewards are clipped to the meta's `clip`; otherwise a single reward could
    decide if tails are heavy.
    """

    def __init__(
        self, bounds: BoundTable, told: MetaProblem, rows: int, variance: float, clip: tuple[float, float] | None
    ) -> None:
        """`variance` is v; rewards are cut to `clip` before they are compared, unless it is None."""
        self._bounds = bounds
        self._clip = clip
        self._width = 2 * math.sqrt(2 * variance * math.log(4 * told.rounds * told.bases / told.delta))
        self._excess = np.zeros((told.bases, rows))  # sum of r2 - r1 over whole rounds
        self._rounds = np.zeros((told.bases, rows), dtype=np.int64)  # how many whole rounds

    def compared(self, scaled: Array) -> Array:
        """The reward of a step as the test compares it."""
        return clipped(scaled, self._clip)

    def broken(self, turn: Round, restarts: Array) -> Array | None:
        """A (bases, rows) mask of the bases that break their bound with this round; None if none does."""
        assert turn.difference is not None
        same = turn.restarts == restarts.take(turn.at)
        chosen, at = turn.chosen[same], turn.at[same]
        excess = self._excess.take(at) + turn.difference[same]
        rounds = self._rounds.take(at) + 1
        self._excess.reshape(-1)[at], self._rounds.reshape(-1)[at] = excess, rounds
        broken = excess > self._bounds(chosen, rounds) + self._width * np.sqrt(rounds)
        if not broken.any():
            return None
        found = np.zeros(restarts.shape, dtype=bool)
        found.reshape(-1)[at[broken]] = True
        return found

    def forget(self, restarted: Array) -> None:
        """Start counting again for bases that restart."""
        self._excess[restarted], self._rounds[restarted] = 0.0, 0


def _arrays_of(thing: object) -> dict[str, Array]:
    return {name: value for name, value in vars(thing).items() if isinstance(value, np.ndarray)}


def _replace_arrays(thing: object, saved: Any) -> None:
    """Give it these arrays, if they are like its own."""
    demand_arrays(saved, _arrays_of(thing), "the judge")
    vars(thing).update(saved)


def variance_proxy(noise: float | None, clip: tuple[float, float] | None, most: float, options: Options) -> float:
    """The variance proxy v of r2 - r1: as the options say, or from the noise and the range of means in the same units.

    Means add `most`, the noise of two rewards 2 noise^2; cut rewards differ by at most the width of the clip.
    """
    if options.test_variance != "auto":
        return options.test_variance
    if noise is not None:
        return most**2 + 2 * noise**2
    low, high = clip or (-math.inf, math.inf)
    return (high - low) ** 2


def clipped(scaled: Array, clip: tuple[float, float] | None) -> Array:
    """Rewards in the meta's units, cut to the range `clip`, if any."""
    if clip is None or (scaled.size == 1 and clip[0] <= scaled.item() <= clip[1]):
        return scaled
    found: Array = np.minimum(np.maximum(scaled, clip[0]), clip[1])
    return found
