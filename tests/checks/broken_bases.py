"""For every check of bases one that breaks that rule and no other."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import broken_abilities
import broken_policies
import numpy as np
import sound_bases
from breaking import rules
from sound_bases import Policy, Sound, SoundWithLog, State

from corral_core.bounds import Bound, Term
from corral_core.protocols.parameters import parameter
from corral_core.rows import Array, Rows

SOUND = sound_bases.SOUND
BROKEN, breaks = rules()
BROKEN |= broken_policies.BROKEN | broken_abilities.BROKEN


# --- First ------------------------------------------------------------------------------------------------------------


@breaks("fits-or-refuses")
class FitsOrRefuses(Sound):
    """Refuses with an error that is no sentence."""

    def resolve(self, problem: Any) -> Any:
        raise KeyError("arms")


@breaks("shapes")
class Shapes(Sound):
    """Actions are floats."""

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        return super().act(policy, observation, rng).astype(float)


@breaks("shapes")
class ShapesOfPolicies(Sound):
    """Policies have every row, whichever were asked for."""

    def policy(self, state: Any, rows: Array) -> Any:
        return Policy(state.greedy.copy(), state.epsilon.copy())


@breaks("shapes")
class ShapesOfStates(Sound):
    """The state is a dictionary."""

    def init(self, given: Any, rng: Any) -> Any:
        return {"pulls": np.zeros((len(given), self.arms))}


@breaks("shapes")
class LearnsElsewhere(Sound):
    """Returns a new state, and leaves the old one as it is."""

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> Any:
        return state.take(rows)


@breaks("single-row")
class SingleRow(Sound):
    """An array of one becomes a number."""

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        return super().act(policy, observation, rng).squeeze()


@breaks("same-seed-same-actions")
class SameSeedSameActions(Sound):
    """Draws from a generator of its own."""

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        return super().act(policy, observation, np.random.default_rng())


@breaks("horizon-of-one")
class HorizonOfOne(Sound):
    """Divides by zero if there is one play."""

    def init(self, given: Any, rng: Any) -> Any:
        1 / (self.horizon - 1)
        return super().init(given, rng)


@breaks("single-arm")
class SingleArm(Sound):
    """Divides by zero if there is one arm."""

    def init(self, given: Any, rng: Any) -> Any:
        1 / (self.arms - 1)
        return super().init(given, rng)


# --- Rows -------------------------------------------------------------------------------------------------------------


@breaks("rows-are-independent")
class RowsAreIndependent(Sound):
    """Explores less if there are more rows (up to three)."""

    def policy(self, state: Any, rows: Array) -> Any:
        return Policy(state.greedy[rows], state.epsilon[rows] / min(len(state), 3))


@breaks("draws-have-rows-first")
class RowsAreIndependentInDraws(Sound):
    """Draws an arm only for the rows that explore."""

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        explores = rng.random(len(policy)) < policy.epsilon
        action = policy.greedy.astype(np.intp)
        action[explores] = rng.integers(0, self.arms, explores.sum())
        return action


class StateWithCalls(State):
    calls: Array


@breaks("lockstep-equals-one-by-one")
class LockstepEqualsOneByOne(Sound):
    """Counts calls of `learn` as plays."""

    def init(self, given: Any, rng: Any) -> Any:
        state = super().init(given, rng)
        fields = {name: getattr(state, name) for name in state.names}
        return StateWithCalls(**fields, calls=np.zeros(len(given), np.int64))

    def policy(self, state: Any, rows: Array) -> Any:
        behind = state.calls.max(initial=0) > state.played.max(initial=0)
        return Policy(np.zeros(len(rows), np.int64) if behind else state.greedy[rows], state.epsilon[rows])

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        super().learn(state, rows, feedback, rng)
        state.calls[rows] = state.calls.max(initial=0) + 1


class StateWithNote(State):
    note: Array


@breaks("learn-changes-only-its-rows")
class LearnChangesOnlyItsRows(Sound):
    """Keeps a note, in all rows."""

    def init(self, given: Any, rng: Any) -> Any:
        state = super().init(given, rng)
        return StateWithNote(**{name: getattr(state, name) for name in state.names}, note=np.zeros(len(given)))

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        super().learn(state, rows, feedback, rng)
        state.note += len(rows) > 0


@breaks("no-rows")
class NoRows(Sound):
    """Takes the maximum of nothing."""

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        feedback.reward.max()
        super().learn(state, rows, feedback, rng)


class StateThatRemembers(State):
    def put(self, rows: Array, other: Any) -> None:
        kept = self.total.copy()
        super().put(rows, other)
        self.total[:] = kept


@breaks("a-restart-equals-a-fresh-start")
class ARestartEqualsAFreshStart(Sound):
    """What rows have earned survives a restart."""

    def init(self, given: Any, rng: Any) -> Any:
        state = super().init(given, rng)
        return StateThatRemembers(**{name: getattr(state, name) for name in state.names})


@breaks("kin-equal-separate-bases")
class KinEqualSeparateBases(Sound):
    """Reads its knob from itself."""

    def policy(self, state: Any, rows: Array) -> Any:
        return Policy(state.greedy[rows], np.full(len(rows), self.epsilon))


# --- States -----------------------------------------------------------------------------------------------------------


@breaks("states-keep-double-precision")
class StatesKeepDoublePrecision(Sound):
    """Sums in single precision."""

    def init(self, given: Any, rng: Any) -> Any:
        state = super().init(given, rng)
        state.total = state.total.astype(np.float32)
        return state


@breaks("growth-is-estimated")
class GrowthIsReckoned(SoundWithLog):
    """Keeps every play, but says that this takes no memory."""

    def history_bytes(self, plays: int) -> int:
        return 0


@breaks("states-survive-saving")
class StatesSurviveSaving(Sound):
    """Keeps what it learned beside the fields of its state."""

    def policy(self, state: Any, rows: Array) -> Any:
        greedy = np.where(state.played > 0, getattr(state, "best", state.greedy), state.greedy)
        return Policy(greedy[rows], state.epsilon[rows])

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        super().learn(state, rows, feedback, rng)
        best = getattr(state, "best", state.greedy).copy()
        best[rows] = (state.greedy[rows] + 1) % self.arms
        state.best = best


class StateWithDates(State):
    since: Array


@breaks("states-survive-saving")
class StatesOfTheWrongKind(Sound):
    """Its state has an array of dates, which no file keeps."""

    def init(self, given: Any, rng: Any) -> Any:
        state = super().init(given, rng)
        since = np.full(len(given), np.datetime64("2020-01-01"))
        return StateWithDates(**{name: getattr(state, name) for name in state.names}, since=since)


@breaks("arguments-are-left-alone")
class PoliciesAreLeftAlone(Sound):
    """Wipes the policy after use."""

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        action = super().act(policy, observation, rng)
        policy.greedy[:] = action
        return action


@breaks("arguments-are-left-alone")
class ArgumentsAreLeftAlone(Sound):
    """Wipes the rewards after use."""

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        super().learn(state, rows, feedback, rng)
        feedback.reward[:] = 0.0


class NumberedPolicy(Policy):
    number: Array


class Numbered(Rows):
    action: Array
    number: Array


@breaks("late-answers-are-learned")
class LateAnswersAreLearned(Sound):
    """Wants its answers in order."""

    def policy(self, state: Any, rows: Array) -> Any:
        return NumberedPolicy(state.greedy[rows], state.epsilon[rows], state.played[rows])

    def act(self, policy: Any, observation: Any, rng: Any) -> Any:
        return Numbered(super().act(policy, observation, rng), policy.number)

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        if (feedback.decision.number != state.played[rows]).any():
            raise ValueError("an answer came out of turn")
        super().learn(state, rows, feedback, rng)


@breaks("learn-credits-the-action-played")
class LearnCreditsTheActionPlayed(Sound):
    """Credits the arm that looks best, even if it explored."""

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        super().learn(state, rows, feedback.replace(decision=state.greedy[rows]), rng)


@breaks("no-global-randomness")
class NoGlobalRandomness(Sound):
    """Draws from the generator that everybody shares."""

    def learn(self, state: Any, rows: Array, feedback: Any, rng: Any) -> None:
        super().learn(state, rows, feedback, rng)
        np.random.random()  # noqa: NPY002


@breaks("bound-is-positive-concave-and-finite")
class BoundIsPositiveConcaveAndFinite(Sound):
    """Its bound is convex."""

    def bound(self, delta: float) -> Bound | None:
        return Bound(lambda s: 1e-3 * s**1.5, (Term(1.0, 1.0),))


@breaks("bound-is-positive-concave-and-finite")
class BoundIsPositive(Sound):
    """Its bound begins at zero."""

    def bound(self, delta: float) -> Bound | None:
        return Bound(lambda s: np.sqrt(s) - 1, (Term(1.0, 1.0),))


@breaks("bound-is-positive-concave-and-finite")
class BoundIsFinite(Sound):
    """The shape of its bound is infinite."""

    def bound(self, delta: float) -> Bound | None:
        return Bound(lambda s: np.sqrt(s), (Term(np.inf, 1.0),))


@breaks("bound-is-positive-concave-and-finite")
class BoundDoesNotFall(Sound):
    """Its bound falls."""

    def bound(self, delta: float) -> Bound | None:
        return Bound(lambda s: 1e7 - s, (Term(1.0, 1.0),))


@breaks("regret-grows-as-stated")
class RegretGrowsAsStated(Sound):
    """Always explores at the same rate, so that its regret is linear, and claims its square root."""

    def bound(self, delta: float) -> Bound | None:
        return Bound(lambda s: 3 * np.sqrt(s), (Term(3.0, 0.5),))


@breaks("says-what-it-is")
@attrs.frozen
class SaysWhatItIs(Sound):
    """It does not say what this is for."""

    mystery: float = attrs.field(default=1.0)


@breaks("says-what-it-is")
class SaysItsFormula(Sound):
    """Has a bound, and no formula."""

    formula: ClassVar[str] = "none known"


@breaks("says-what-it-is")
@attrs.frozen
class SaysItsName(Sound):
    """Its name is not one."""

    name: ClassVar[str] = "Says Its Name"
    unused: float = parameter(1.0, help="nothing")
