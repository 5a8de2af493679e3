"""For every check of what a base says it can do, a base that breaks that rule and no other."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from breaking import rules
from sound_bases import Sound, SoundAndAble, SoundAndPatient

from corral_core.rows import Array, Rows

BROKEN, breaks = rules()


@breaks("masks-are-honoured-by-replay")
class MasksAreHonouredByReplay(SoundAndAble):
    """The first mask that a policy meets decides for good."""

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        if not hasattr(policy, "met"):
            policy.met = observation
        return super().act(policy, policy.met if len(policy) == len(policy.met) else observation, rng)

    def action_probabilities(self, policy: Any, observation: Any) -> Any:
        return super().action_probabilities(policy, getattr(policy, "met", observation))


class Own(Rows):
    action: Array
    best: Array


@breaks("others-can-teach-it")
class OthersCanTeachIt(Sound):
    """Says that it learns from others, but needs its own decisions."""

    learns_from_others: ClassVar[bool] = True

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        return Own(super().act(policy, observation, rng), policy.greedy)

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        assert len(feedback.decision.best) == len(rows)
        super().learn(state, rows, feedback, rng)


@breaks("others-can-teach-it")
class OthersCountHalf(OthersCanTeachIt):
    """Learns from others, but counts them half."""

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        own = isinstance(feedback.decision, Own)
        Sound.learn(self, state, rows, feedback if own else feedback.replace(reward=feedback.reward / 2), rng)


@breaks("lessons-change-only-their-rows")
class LessonsChangeOnlyTheirRows(Sound):
    """Numbers the arms of all rows, so that an arm too many is the next row's first."""

    learns_from_others: ClassVar[bool] = True

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        at = rows * self.arms + feedback.action
        state.pulls.reshape(-1)[at] += 1
        state.total.reshape(-1)[at] += feedback.reward
        state.played[rows] += 1
        state.greedy[rows] = (state.total[rows] / np.maximum(state.pulls[rows], 1)).argmax(axis=1)


@breaks("renewed-arms-are-forgotten")
class RenewedArmsAreForgotten(SoundAndAble):
    """Forgets what arms paid, but not how often they were played."""

    def renew(self, state: Any, rows: Array, arms: Array) -> None:
        state.total[rows] = np.where(arms, 0.0, state.total[rows])


@breaks("renewed-arms-are-forgotten")
class RenewedArmsArePraised(SoundAndAble):
    """Thinks better of renewed arms than of new ones."""

    def renew(self, state: Any, rows: Array, arms: Array) -> None:
        super().renew(state, rows, arms)
        state.total[rows] = np.where(arms, 1.0, state.total[rows])


@breaks("renewing-leaves-the-rest-alone")
class RenewingForgetsAllArms(SoundAndAble):
    """Starts over if any arm is renewed."""

    def renew(self, state: Any, rows: Array, arms: Array) -> None:
        super().renew(state, rows, np.broadcast_to(arms.any(axis=1, keepdims=True), arms.shape))


@breaks("renewing-leaves-the-rest-alone")
class RenewingForgetsInAllRows(SoundAndAble):
    """Forgets the arms of every row."""

    def renew(self, state: Any, rows: Array, arms: Array) -> None:
        everyone = np.arange(len(state))
        super().renew(state, everyone, np.broadcast_to(arms.any(axis=0), state.pulls.shape))


@breaks("renewing-leaves-the-rest-alone")
class RenewingIsNotSaid(SoundAndPatient):
    """`changed` does not say that arms were renewed."""

    def renew(self, state: Any, rows: Array, arms: Array) -> None:
        played = rows[state.played[rows] > 0]
        super().renew(state, rows, arms)
        state.asked[played] = state.greedy[played]


@breaks("probabilities-are-those-of-act")
class ProbabilitiesOfGreed(SoundAndAble):
    """States the probabilities of less exploration than it does."""

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        return SoundAndAble.act(SoundAndAble(arms=self.arms), policy, observation, rng)

    def action_probabilities(self, policy: Any, observation: Any) -> Any:
        return super().action_probabilities(policy.replace(epsilon=policy.epsilon * 0.9), observation)


@breaks("probabilities-are-those-of-act")
class ProbabilitiesOutsideTheMask(SoundAndAble):
    """States the probabilities of play without masks."""

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        return SoundAndAble.act(SoundAndAble(arms=self.arms), policy, observation, rng)

    def action_probabilities(self, policy: Any, observation: Any) -> Any:
        return super().action_probabilities(policy, observation.replace(mask=None))


@breaks("probabilities-are-those-of-act")
class ProbabilitiesOfWhatDraws(Sound):
    """Says that it draws nothing, and draws."""

    deterministic: ClassVar[bool] = True
