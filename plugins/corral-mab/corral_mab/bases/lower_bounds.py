"""The bases of the paper's two lower bounds. They know the arms and only count their plays.

They play the arms of these environments, so they have no use for masks, new arms or the plays of others.

Theorem 5.2: base A always plays the best arm; base B, in its own state s, plays the second with probability
4 c / (sqrt(s + 2) ln(s + 2)), c = sqrt(1/24) unless the environment has another. The environment draws which of the two
slots is base B, if any.

Theorem 5.3: bases 1 and 2 play the worst arm a3 with probability T^(exponent - 1), otherwise a2. Base 2' does so while
its own s <= c2 T^(x - y + 1 + epsilon2), and plays the best arm a1 from then on. T, x, y and epsilon2 are those of the
environment.

Source: Pacchiano et al., "Model selection in contextual stochastic bandit problems", 2020, Section 5.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le, optional
from numpy.random import Generator

from corral_core import (
    Array,
    Base,
    Bound,
    CorralError,
    Feedback,
    Observation,
    Problem,
    Rows,
    Term,
    fitted,
    knob,
    parameter,
)
from corral_mab.environments.lower_bounds import C


def mistakes(s: Array, c: float = C) -> Array:
    """The probability that base B of the first lower bound errs in state s."""
    return np.asarray(4 * c / (np.sqrt(s + 2) * np.log(s + 2)))


def _only_in(environment: str, base: Base, problem: Problem) -> None:
    if problem.environment != environment:
        raise CorralError(f"{base.name} works only in {environment}, not in {problem.environment}")


class SqrtState(Rows):
    played: Array
    errs: Array  # whether the row is base B


class ErringPolicy(Rows):
    arm: Array  # the usual arm
    other: Array  # the other one
    chance: Array  # its probability


def usual_or_other(policy: ErringPolicy, rng: Generator) -> Array:
    return np.where(rng.random(len(policy)) < policy.chance, policy.other, policy.arm).astype(np.intp)


def usual_and_other(policy: ErringPolicy, arms: int) -> Array:
    """The probabilities of `usual_or_other`, (rows, arms)."""
    chance, arm = np.minimum(policy.chance, 1.0).astype(np.float64)[:, None], np.arange(arms)
    other, usual = arm == policy.other[:, None], arm == policy.arm[:, None]
    return np.asarray(np.where(other, chance, 0.0) + np.where(usual, 1 - chance, 0.0))


@attrs.frozen
class SqrtBase(Base):
    """Optimal, or errs less and less often; the environment decides which, by slot."""

    name: ClassVar[str] = "lower-bound-sqrt-base"
    formula: ClassVar[str] = "2 c sqrt(s), c = sqrt(1/24) unless the environment has another"

    slot: int = knob(0, help="0 or 1: which of the two bases this is", validator=and_(ge(0), le(1)))
    c: float | None = parameter(None, help="constant of its error rate (default: the environment's)")

    def resolve(self, problem: Problem) -> Self:
        _only_in("lower-bound-sqrt", self, problem)
        c = problem.facts.get("c", C)
        if self.c not in (None, c):
            raise CorralError(f"{self.name}: c must be that of {problem.environment}, {c:.4g}, not {self.c:g}")
        return attrs.evolve(super().resolve(problem), c=c)

    def init(self, given: Any, rng: Generator) -> SqrtState:
        return SqrtState(np.zeros(len(given)), np.asarray(given.erring_slot == given.slot))

    def policy(self, state: SqrtState, rows: Array) -> ErringPolicy:
        chance = np.where(state.errs.take(rows), mistakes(state.played.take(rows) + 1, self._c), 0.0)
        best = np.zeros(len(rows), dtype=np.int8)
        return ErringPolicy(best, best + np.int8(1), chance.astype(np.float32))

    def act(self, policy: ErringPolicy, observation: Observation, rng: Generator) -> Array:
        return usual_or_other(policy, rng)

    def action_probabilities(self, policy: ErringPolicy, observation: Observation) -> Array:
        return usual_and_other(policy, arms=2)

    def learn(self, state: SqrtState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        state.played[rows] += 1

    @property
    def _c(self) -> float:
        return C if self.c is None else self.c

    def bound(self, delta: float) -> Bound:
        c = self._c
        return Bound(lambda s: 2 * c * np.sqrt(s), (Term(2 * c, 0.5),))


class SwitchState(Rows):
    played: Array
    chance: Array
    switch: Array  # the last state before the switch to a1, or infinity


@attrs.frozen
class UnknownRateBase(Base):
    """Errs at a fixed rate T^(exponent - 1); with `reveals`, it switches to the best arm after a while."""

    name: ClassVar[str] = "lower-bound-unknown-rate-base"
    formula: ClassVar[str] = "s T^(exponent - 1) if it is adapted; T is the horizon"

    exponent: float | None = knob(
        None,
        help="its regret alone is T^exponent: x or y of the environment (default: y if it reveals, otherwise x)",
        validator=optional(and_(gt(0), le(1))),
    )
    reveals: bool = knob(False, help="whether it switches to the best arm, in world Q, when the environment allows it")
    horizon: int = fitted(help="T, in plays", validator=ge(1))

    def resolve(self, problem: Problem) -> Self:
        _only_in("lower-bound-unknown-rate", self, problem)
        x, y = problem.facts.get("x", 0.5), problem.facts.get("y", 0.9)
        allowed = [y] if self.reveals else [x, y]
        if self.exponent not in (None, *allowed):
            names = f"y = {y:g} if it reveals" if self.reveals else f"x = {x:g} or y = {y:g}"
            raise CorralError(
                f"{self.name}: exponent must be that of {problem.environment}, {names}, not {self.exponent:g}"
            )
        return attrs.evolve(super().resolve(problem), exponent=allowed[0] if self.exponent is None else self.exponent)

    def init(self, given: Any, rng: Generator) -> SwitchState:
        chance = self.horizon ** (np.asarray(given.exponent, dtype=np.float64) - 1)
        return SwitchState(np.zeros(len(given)), chance, np.where(given.reveals, given.reveal_after, np.inf))

    def policy(self, state: SwitchState, rows: Array) -> ErringPolicy:
        switched = state.played.take(rows) + 1 > state.switch.take(rows)
        usual = np.where(switched, 0, 1).astype(np.int8)
        chance = np.where(switched, 0.0, state.chance.take(rows))
        return ErringPolicy(usual, np.full(len(rows), 2, dtype=np.int8), chance.astype(np.float32))

    def act(self, policy: ErringPolicy, observation: Observation, rng: Generator) -> Array:
        return usual_or_other(policy, rng)

    def action_probabilities(self, policy: ErringPolicy, observation: Observation) -> Array:
        return usual_and_other(policy, arms=3)

    def learn(self, state: SwitchState, rows: Array, feedback: Feedback, rng: Generator) -> None:
        state.played[rows] += 1

    def bound(self, delta: float) -> Bound:
        exponent = 0.5 if self.exponent is None else self.exponent
        rate = self.horizon ** (exponent - 1)
        return Bound(lambda s: rate * s, (Term(1.0, exponent),))
