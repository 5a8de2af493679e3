"""For every check of policies a base that breaks that rule and no other."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np
from breaking import rules
from sound_bases import Learner, Policy, RareState, Sound, SoundAndRare, SoundAndSimple

from corral_core.rows import Array

BROKEN, breaks = rules()


@breaks("policy-alone-determines-the-action")
class PolicyAloneDeterminesTheAction(Sound):
    """The policy is a view of the state if all rows are requested."""

    def policy(self, state: Any, rows: Array) -> Any:
        return Policy(state.greedy, state.epsilon) if len(rows) == len(state) else super().policy(state, rows)


@breaks("random-policies-are-drawn-anew")
class RandomPoliciesAreDrawnAnew(Sound):
    """A policy decides once and for all."""

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        if not hasattr(policy, "decided"):
            policy.decided = super().act(policy, observation, rng)
        return policy.decided


@breaks("changed-tells-the-truth")
class ChangedTellsTheTruth(SoundAndRare):
    """Says that nothing ever changes."""

    def changed(self, state: Any, rows: Array) -> Array:
        return np.zeros(len(rows), dtype=bool)


class StateWithMark(RareState):
    mark: Array


@breaks("changed-tells-the-truth")
class MarksAreForgotten(SoundAndRare):
    """The next `learn` clears the mark of an earlier `learn`, although no policy was requested in between."""

    def init(self, given: Any, rng: Any) -> Any:
        state = super().init(given, rng)
        fields = {name: getattr(state, name) for name in state.names}
        return StateWithMark(**fields, mark=np.ones(len(given), dtype=bool))

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        before = state.greedy[rows]
        super().learn(state, rows, feedback, rng)
        state.mark[rows] = state.greedy[rows] != before

    def changed(self, state: Any, rows: Array) -> Array:
        return np.array(state.mark[rows])


@breaks("shapes")
class ChangedOfEveryone(SoundAndRare):
    """`changed` returns all rows, not only those requested."""

    def changed(self, state: Any, rows: Array) -> Array:
        return np.ones(len(state), dtype=bool)


@breaks("policies-are-counted")
class PoliciesAreCounted(SoundAndRare):
    """Claims a single policy."""

    def max_policies(self, plays: int) -> int:
        return 1


class LargePolicy(Policy):
    past: Array


@breaks("policy-is-no-larger-than-the-state")
class PolicyIsNoLargerThanTheState(Sound):
    """The policy holds an array that it does not need."""

    def policy(self, state: Any, rows: Array) -> Any:
        return LargePolicy(state.greedy[rows], state.epsilon[rows], np.zeros((len(rows), 100)))


class Settled(Learner):
    """Tries every arm in turn for twenty plays; after twelve, snapshots are the learner itself."""

    def act(self, context: Any, rng: Any) -> int:
        played = sum(self.pulls)
        return played % len(self.pulls) if played < 20 else super().act(context, rng)

    def snapshot(self) -> Any:
        return self if sum(self.pulls) >= 12 else copy.deepcopy(self)


@breaks("smoothed-regret-follows-the-running-mean")
class SmoothedRegretFollowsTheRunningMean(SoundAndSimple):
    """After some plays, copies of a learner keep learning with it."""

    learner: ClassVar[type[Learner]] = Settled
