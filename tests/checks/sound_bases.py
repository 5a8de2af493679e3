"""Sound bases: with arrays, with policies that rarely change, and one learner at a time."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from corral_core.bases.lift import Lifted
from corral_core.bounds import Bound, Term
from corral_core.log import Log
from corral_core.protocols.base import Base
from corral_core.protocols.parameters import fitted, knob
from corral_core.rows import Array, Rows


class State(Rows):
    pulls: Array  # (rows, arms)
    total: Array  # (rows, arms)
    greedy: Array  # the arm of the best mean
    played: Array
    epsilon: Array


class Policy(Rows):
    greedy: Array
    epsilon: Array


@attrs.frozen
class Sound(Base):
    """Epsilon-greedy with a fixed rate."""

    name: ClassVar[str] = "sound"
    formula: ClassVar[str] = "3 s"

    epsilon: float = knob(0.3, help="share of random play", validator=attrs.validators.in_((0.3, 0.6, 0.0)))
    arms: int = fitted(help="number of arms")
    horizon: int = fitted(help="plays")

    def init(self, given: Any, rng: Any) -> Any:
        rows = len(given)
        zeros = np.zeros((rows, self.arms))
        return State(zeros, zeros.copy(), np.zeros(rows, np.int64), np.zeros(rows), np.array(given.epsilon, float))

    def policy(self, state: Any, rows: Array) -> Any:
        return Policy(state.greedy[rows], state.epsilon[rows])

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        share = rng.random(len(policy)) / np.maximum(policy.epsilon, 1e-12)
        return np.where(share < 1, share * self.arms, policy.greedy).astype(np.intp)

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        state.pulls[rows, feedback.action] += 1
        state.total[rows, feedback.action] += feedback.reward
        state.played[rows] += 1
        mean = state.total[rows] / np.maximum(state.pulls[rows], 1)
        state.greedy[rows] = mean.argmax(axis=1)

    def bound(self, delta: float) -> Bound | None:
        return Bound(lambda s: 3 * s, (Term(3.0, 1.0),))


@attrs.frozen
class SoundAndBounded(Sound):
    """Explores less and less, and states a bound where the best arm stays the best."""

    name: ClassVar[str] = "sound-and-bounded"
    formula: ClassVar[str] = "3 sqrt(s) if contexts do not change"

    changing: bool = fitted(help="whether contexts change")

    def policy(self, state: Any, rows: Array) -> Any:
        return Policy(state.greedy[rows], state.epsilon[rows] / np.sqrt(1 + state.played[rows]))

    def bound(self, delta: float) -> Bound | None:
        return None if self.changing else Bound(lambda s: 3 * np.sqrt(s), (Term(3.0, 0.5),))


class RareState(State):
    asked: Array  # the greedy arm of the last policy asked for


@attrs.frozen
class SoundAndRare(Sound):
    """The same, but it reports when its policy changes."""

    name: ClassVar[str] = "sound-and-rare"

    @property
    def rarely_changes(self) -> bool:
        return True

    def init(self, given: Any, rng: Any) -> Any:
        state = super().init(given, rng)
        fields = {name: getattr(state, name) for name in state.names}
        return RareState(**fields, asked=np.full(len(given), -1))

    def policy(self, state: Any, rows: Array) -> Any:
        state.asked[rows] = state.greedy[rows]
        return super().policy(state, rows)

    def changed(self, state: Any, rows: Array) -> Array:
        return np.asarray(state.asked[rows] != state.greedy[rows])


class Ranking(Rows):
    mean: Array  # (rows, arms)
    epsilon: Array


@attrs.frozen
class SoundAndAble(Sound):
    """The same, under masks too; it learns from others, renews arms and states its probabilities."""

    name: ClassVar[str] = "sound-and-able"
    masks: ClassVar[bool] = True
    learns_from_others: ClassVar[bool] = True
    renews: ClassVar[bool] = True

    def policy(self, state: Any, rows: Array) -> Any:
        return Ranking(state.total[rows] / np.maximum(state.pulls[rows], 1), state.epsilon[rows])

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        drawn, chance = rng.random(len(policy)), self.action_probabilities(policy, observation)
        return (np.cumsum(chance, axis=1) <= drawn[:, None] * (1 - 1e-9)).sum(axis=1)

    def renew(self, state: Any, rows: Array, arms: Array) -> None:
        for array in (state.pulls, state.total):
            array[rows] = np.where(arms, 0.0, array[rows])
        state.greedy[rows] = (state.total[rows] / np.maximum(state.pulls[rows], 1)).argmax(axis=1)

    def action_probabilities(self, policy: Any, observation: Any) -> Any:
        mask = np.ones(policy.mean.shape, dtype=bool) if observation.mask is None else observation.mask
        best = np.where(mask, policy.mean, -np.inf).argmax(axis=1)
        greedy = np.arange(self.arms) == best[:, None]
        return (1 - policy.epsilon)[:, None] * greedy + policy.epsilon[:, None] * mask / mask.sum(axis=1)[:, None]


@attrs.frozen
class SoundAndPatient(SoundAndRare):
    """Its policy rarely changes, and it renews arms; it draws nothing."""

    name: ClassVar[str] = "sound-and-patient"
    renews: ClassVar[bool] = True
    deterministic: ClassVar[bool] = True

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        return policy.greedy.astype(np.intp)

    def renew(self, state: Any, rows: Array, arms: Array) -> None:
        for array in (state.pulls, state.total):
            array[rows] = np.where(arms, 0.0, array[rows])
        state.greedy[rows] = (state.total[rows] / np.maximum(state.pulls[rows], 1)).argmax(axis=1)
        state.asked[rows[arms.any(axis=1)]] = -1


class Paid(Rows):
    action: Array
    reward: Array


class Book(Rows):
    played: Array
    past: Any  # a Log of what was paid


class Page(Rows):
    row: Array
    length: Array
    past: Any


@attrs.frozen
class SoundWithLog(Base):
    """Plays the arm of the largest total reward. Keeps rewards in a log; a policy is a length of the log."""

    name: ClassVar[str] = "sound-with-log"

    arms: int = fitted(help="number of arms")

    def init(self, given: Any, rng: Any) -> Any:
        return Book(np.zeros(len(given)), Log(len(given), Paid))

    def policy(self, state: Any, rows: Array) -> Any:
        return Page(np.array(rows), state.past.length[rows], state.past)

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        total = np.zeros((len(policy.row), self.arms))
        for index in range(int(policy.length.max(initial=0))):
            there = np.flatnonzero(policy.length > index)
            paid = policy.past.get(policy.row[there], np.full(len(there), index))
            total[there, paid.action] += paid.reward
        return total.argmax(axis=1)

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        state.past.append(rows, Paid(feedback.action.astype(np.int64), feedback.reward))
        state.played[rows] += 1

    def history_bytes(self, plays: int) -> int:
        return 16 * plays


class Learner:
    """Plays every arm once, then the arm of the best mean."""

    def __init__(self, arms: int) -> None:
        self.pulls, self.total = [0] * arms, [0.0] * arms

    def act(self, context: Any, rng: Any) -> int:
        means = [total / pulls if pulls else np.inf for total, pulls in zip(self.total, self.pulls, strict=True)]
        return int(np.argmax(means))

    def learn(self, context: Any, action: int, reward: float) -> None:
        self.pulls[action] += 1
        self.total[action] += reward


@attrs.frozen
class SoundAndSimple(Lifted):
    """One learner at a time."""

    name: ClassVar[str] = "sound-and-simple"
    learner: ClassVar[type[Learner]] = Learner

    def make(self, problem: Any) -> Any:
        return self.learner(problem.arms)


SOUND = (Sound, SoundAndBounded, SoundAndRare, SoundAndAble, SoundAndPatient, SoundAndSimple, SoundWithLog)
