"""Checks of a base's state, of how it treats its arguments, and of its description."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from corral_core.bounds import Bound, Term
from corral_core.checks.objects import fingerprint
from corral_core.checks.rules import Checks, broken, description_of, shown
from corral_core.checks.trial import HORIZON, TURNS, BaseCase, Moment, Trial, held, unchanged
from corral_core.checks.worlds import any_action
from corral_core.errors import CorralError
from corral_core.rows import Array, Rows

SLACK = 256  # bytes per row that `history_bytes` need not count

STATES = Checks()
demand = STATES.demand


@demand()
def states_keep_double_precision(case: BaseCase) -> None:
    """Numbers in a state are float64, because they sum many plays; a policy kept in the state may be smaller."""
    trial = case.trial().run(2)
    policy = case.base.policy(copy.deepcopy(trial.state), trial.everyone)
    kept = list(held(policy, trial.everyone).values())
    for name, array in held(trial.state, trial.everyone).items():
        small = array.dtype.kind in "fc" and array.dtype.itemsize < 8
        if small and not any(np.array_equal(array, each) for each in kept):
            broken(f"{name} is {shown(array)}")


@demand()
def arguments_are_left_alone(case: BaseCase) -> None:
    """`act` and `learn` write into nothing but the state."""
    trial = case.trial()
    for _ in range(TURNS):
        moment = trial.ask(watch=True)
        before = copy.deepcopy(moment.feedback)
        trial.learn(moment)
        unchanged(_all(moment.feedback), _all(before), "learn wrote into its feedback:")


def _all(record: Rows) -> dict[str, Array]:
    return held(record, np.arange(len(record.reward)))  # type: ignore[attr-defined]


@demand()
def late_answers_are_learned(case: BaseCase) -> None:
    """`learn` accepts rewards of earlier policies, in any order; acting does not change the state."""
    for plays in range(TURNS // 2):
        prompt, late = case.trial().run(plays), case.trial().run(plays)
        answer = late.ask()
        prompt.play()
        late.ask()
        late.learn(answer)
        what = f"asked once more before the reward of play {plays + 1} arrived, it learned differently:"
        unchanged(held(late.state, late.everyone), held(prompt.state, prompt.everyone), what)
    trial = case.trial().run(2)
    for _ in range(3):
        waiting = [trial.ask(), trial.ask(), trial.ask()]
        for moment in (waiting[2], waiting[0], waiting[1]):
            trial.learn(moment)


@demand(when=lambda case: not case.asked.episodic)
def learn_credits_the_action_played(case: BaseCase) -> None:
    """Rewards are credited to the action in `feedback`: a different action there gives a different state."""
    same_whatever = False
    for plays in range(TURNS):
        trial = case.trial().run(plays)
        moment = trial.ask()
        uniform = np.random.default_rng(plays).random((len(moment.rows), case.problem().dimension or 1))
        others = any_action(case.problem(), moment.seen[0], uniform)
        usual, richer, other = (
            _state_after(trial, moment, reward=reward, action=action)
            for reward, action in ((0.0, moment.action), (1.0, moment.action), (0.0, others))
        )
        differ = not np.array_equal(others, moment.action)
        same_whatever |= differ and usual == other and usual != richer
        if differ and usual != other:
            return
    if same_whatever:
        broken("`learn` changed the state in the same way for every action in `feedback`")


def _state_after(trial: Trial, moment: Moment, *, reward: float, action: Array) -> bytes:
    """Fingerprint of a copy of the state after learning this action with `reward` added to the reward."""
    state, told = copy.deepcopy(trial.state), moment.feedback.decision
    decision = action if isinstance(told, np.ndarray) else told.replace(action=action)
    feedback = moment.feedback.replace(decision=decision, reward=moment.reward + reward)
    trial.base.learn(state, moment.rows, feedback, trial.streams("learn", moment.rows, moment.plays))
    return fingerprint(state)


@demand()
def growth_is_estimated(case: BaseCase) -> None:
    """If a state grows with plays, `history_bytes(plays)` is about the number of bytes that they add per learner."""
    trial = case.trial()
    try:
        trial.state.to_arrays()
    except CorralError:  # the size of Python objects is unknown
        return
    begun, rows = trial.state.nbytes, len(trial.everyone)
    grown = (trial.run(HORIZON).state.nbytes - begun) / rows
    told = case.base.history_bytes(HORIZON)
    if grown > 4 * told + SLACK:  # pages double in size, and each list may be a quarter full
        broken(f"{HORIZON} plays added {grown:.0f} bytes per row to the state; history_bytes({HORIZON}) is {told}")


# --- Its description -------------------------------------------------------------------------------------------------


@demand()
def bound_is_positive_concave_and_finite(case: BaseCase) -> None:
    """`bound(delta)`, if not None, is positive, finite, concave and never decreases; so is its shape."""
    plays = np.unique(np.geomspace(1, 1e6, 400).astype(np.int64)).astype(np.float64)
    for delta in (0.5, 0.01, 1e-6):
        bound: Any = case.base.bound(delta)
        if bound is None:
            return
        if not isinstance(bound, Bound):
            broken(f"bound must return Bound(literal, shape) or None, not {shown(bound)}")
        if not (isinstance(bound.shape, tuple) and all(isinstance(term, Term) for term in bound.shape)):
            broken(f"the shape of a bound must be a tuple of Terms, not {shown(bound.shape)}")
        for mode in ("literal", "shape"):
            U = np.asarray(bound(plays, mode))
            what = f"the {mode} bound at delta = {delta}"
            if not (np.isfinite(U) & (U > 0)).all():
                at = np.flatnonzero(~(np.isfinite(U) & (U > 0)))[0]
                broken(f"{what} is {U[at]} at s = {plays[at]:.0f}")
            slope = np.diff(U) / np.diff(plays)
            steeper = np.flatnonzero(np.diff(slope) > 1e-9 * np.abs(slope[:-1]) + 1e-12 * U[1:-1])
            if len(steeper):
                at = steeper[0]
                where = f"s = {plays[at]:.0f} to {plays[at + 2]:.0f}"
                broken(f"{what} is not concave at {where}: its slope grows from {slope[at]:.6g} to {slope[at + 1]:.6g}")
            if (slope < -1e-9 * U[:-1]).any():
                at = np.flatnonzero(slope < -1e-9 * U[:-1])[0]
                broken(f"{what} decreases at s = {plays[at]:.0f}, from {U[at]:.6g} to {U[at + 1]:.6g}")


@demand()
def says_what_it_is(case: BaseCase) -> None:
    """It has a name, a docstring, a help text for every parameter and, if it has a bound, the bound's `formula`."""
    description_of(case.asked)
    if case.base.bound(0.1) is not None and case.asked.formula == "none known":
        broken("it has a bound, but `formula` does not state it")
