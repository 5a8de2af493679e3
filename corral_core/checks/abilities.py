"""Checks of what a base says it can do: honour masks, learn from others, renew arms, state its action probabilities."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from corral_core.checks.rules import Checks, broken, shown
from corral_core.checks.trial import TURNS, BaseCase, Moment, Trial, difference, held
from corral_core.checks.worlds import any_action
from corral_core.errors import CorralError
from corral_core.protocols.parameters import fitted_names
from corral_core.protocols.problem import Feedback, Observation, Trajectory, action_of
from corral_core.rows import Array, Rows

ABILITIES = Checks()
demand = ABILITIES.demand

DRAWS = 10_000
FEW = 1_000
DOUBT = math.log(2 / 1e-9)


# --- Masks ------------------------------------------------------------------------------------------------------------


@demand(when=lambda case: case.problem().masked)
def masks_are_honoured_by_replay(case: BaseCase) -> None:
    """If arms are masked, the policy of any earlier play acts within any other mask."""
    trial = case.trial().run()
    for number, moment in enumerate(trial.moments, start=1):
        for mask in other_masks(moment.seen[0].mask):
            seen = moment.seen[0].replace(mask=mask)
            streams = copy.deepcopy(moment.streams)
            action = action_of(trial.player.act(moment.policy, seen, streams))  # type: ignore[arg-type]
            out = np.flatnonzero(~mask[np.arange(len(action)), action])
            if len(out):
                there = np.flatnonzero(mask[out[0]]).tolist()
                broken(f"the policy of play {number} acts {action[out[0]]} if the available arms are {there}")


def other_masks(mask: Any) -> Iterator[Array]:
    """Each arm alone, all arms but one, and all of them."""
    arms = np.arange(mask.shape[1])
    alone = [np.broadcast_to(arms == arm, mask.shape).copy() for arm in arms]
    yield from alone
    if len(arms) > 2:
        yield from (~one for one in alone)
    yield np.ones_like(mask)


# --- Sharing ----------------------------------------------------------------------------------------------------------


@demand(when=lambda case: case.asked.learns_from_others)
def others_can_teach_it(case: BaseCase) -> None:
    """With `learns_from_others`, a base taught the bare actions of another has the state of one that played them."""
    for asked in (True, False):
        player, pupil = case.trial(), case.trial()
        for number in range(1, TURNS + 1):
            moment = player.play()
            bare = moment.feedback.replace(decision=moment.action)
            if asked:
                case.base.policy(pupil.state, pupil.everyone)
            case.base.learn(pupil.state, moment.rows, bare, pupil.streams("learn", moment.rows, moment.plays))
            if seen := difference(_behaviour(case, pupil.state, moment), _behaviour(case, player.state, moment)):
                broken(f"taught {number} plays of another base, its policy is not that of the player: {seen}")
            if asked and (seen := difference(_bits(pupil.state), _bits(player.state))):
                broken(f"taught {number} plays of another base, its state is not that of the player: {seen}")


@demand(when=lambda case: case.asked.learns_from_others and not case.asked.episodic)
def lessons_change_only_their_rows(case: BaseCase) -> None:
    """A play of another base changes only its rows, also if its arm is beyond those that the base plays."""
    for base, beyond in [(case.base, False), *((fewer, True) for fewer in _with_fewer_arms(case))]:
        trial = Trial([base], case.environment, case.problem(), [0, 1, 2, 3, 4])
        for number in range(TURNS):
            moment = trial.ask()
            uniform = np.random.default_rng(number).random((len(moment.rows), case.problem().dimension or 1))
            action = any_action(case.problem(), moment.seen[0], uniform)
            if beyond:
                action = np.full_like(action, base.arms)
            taught = np.array([1, 3])
            others = np.setdiff1d(trial.everyone, taught)
            before = _row_bits(base, trial.state, others)
            lesson = Feedback(moment.feedback.observation, action, moment.reward).take(taught)
            try:
                base.learn(trial.state, taught, lesson, trial.streams("learn", taught))
            except Exception:  # it refuses an arm beyond its own; what it refuses of its own, another check reports
                if not beyond:
                    return
            if seen := difference(_row_bits(base, trial.state, others), before):
                broken(f"rows 1 and 3 were taught arms {action[taught].tolist()}, and in the other rows {seen}")
            if not beyond:
                trial.learn(moment)


def _with_fewer_arms(case: BaseCase) -> list[Any]:
    """The base with one arm less than the problem has, if it can be set."""
    arms = case.problem().arms
    if arms is None or arms < 2 or "arms" not in fitted_names(case.asked):
        return []
    try:
        return [attrs.evolve(case.asked, arms=arms - 1).resolve(case.problem())]  # type: ignore[call-arg]
    except CorralError:
        return []


# --- Renewing ---------------------------------------------------------------------------------------------------------


@demand(when=lambda case: case.asked.renews)
def renewed_arms_are_forgotten(case: BaseCase) -> None:
    """After `renew`, nothing depends on what those arms paid or how often they were played; new arms stay new."""
    fresh = case.trial()
    before = _bits(fresh.state)
    case.base.renew(fresh.state, fresh.everyone, np.ones((len(fresh.everyone), _arms(case)), dtype=bool))
    if seen := difference(_bits(fresh.state), before):
        broken(f"renewing arms that were never played changed the state: {seen}")
    for kept in range(_arms(case)):
        arms = np.broadcast_to(np.arange(_arms(case)) != kept, (len(fresh.everyone), _arms(case))).copy()
        trial, twin = case.trial(), case.trial()
        for _ in range(TURNS):
            moment = trial.play()
            told = _retold(moment.feedback, arms)
            case.base.learn(twin.state, moment.rows, told, twin.streams("learn", moment.rows, moment.plays))
        untouched = _bits(trial.state)
        for one in (trial, twin):
            case.base.renew(one.state, one.everyone, arms.copy())
        seen = difference(_bits(twin.state), _bits(trial.state)) or difference(
            _behaviour(case, twin.state, moment), _behaviour(case, trial.state, moment)
        )
        nothing_to_forget = not difference(_bits(trial.state), untouched) and _knows_only_features(case)
        if seen and not nothing_to_forget:
            broken(f"renewed in all arms but {kept}, it still depends on what those arms paid: {seen}")


@demand(when=lambda case: case.asked.renews)
def renewing_leaves_the_rest_alone(case: BaseCase) -> None:
    """`renew` leaves other rows, and what is known of other arms, unchanged; afterwards `changed` is True.

    A base that rarely changes may bring its policy up to date, so how it acts without the arm is not compared.
    """
    rows = np.array([1, 3])
    for arm in range(_arms(case)):
        trial = case.trial().run()
        last = trial.moments[-1]
        trial.player.next_policy(0, trial.everyone, None)  # type: ignore[arg-type]
        others = np.setdiff1d(trial.everyone, rows)
        before, knew = _row_bits(case.base, trial.state, others), _without(case, trial.state, arm, last)
        arms = np.broadcast_to(np.arange(_arms(case)) == arm, (len(rows), _arms(case))).copy()
        case.base.renew(trial.state, rows, np.zeros_like(arms))
        if not _alike(_without(case, trial.state, arm, last), knew):
            broken("renewing no arm changed how it acts")
        case.base.renew(trial.state, rows, arms)
        if seen := difference(_row_bits(case.base, trial.state, others), before):
            broken(f"arm {arm} of rows 1 and 3 was renewed, and in the other rows {seen}")
        if case.base.rarely_changes and not case.base.changed(trial.state, rows).all():
            broken("`changed` is False after an arm was renewed")
        now = _without(case, trial.state, arm, last)
        if not case.base.rarely_changes and not _alike(now, knew):
            then = f"{shown(now)} in place of {shown(knew)}"
            broken(f"arm {arm} was renewed, and the probabilities of the other arms alone changed: {then}")
        trial.run(2)


def _without(case: BaseCase, state: Rows, arm: int, moment: Moment) -> Array | None:
    """How the policies act if all arms but one are available, (rows, arms); None if arms are never masked.

    These are the action probabilities or, if there is no closed form, frequencies in `FEW` draws.
    """
    if not case.problem().masked or _arms(case) == 1:
        return None
    mask = np.broadcast_to(np.arange(_arms(case)) != arm, (len(moment.rows), _arms(case))).copy()
    policy = case.base.policy(copy.deepcopy(state), np.arange(len(mask)))
    seen = moment.seen[0].replace(mask=mask)
    found = case.base.action_probabilities(policy, seen)
    if found is not None:
        return found
    row = np.full(FEW, 1)
    action = action_of(case.base.act(policy.take(row), seen.take(row), np.random.default_rng(arm)))
    return np.asarray(np.bincount(action, minlength=_arms(case))[None] / FEW)


def _alike(one: Array | None, other: Array | None) -> bool:
    """Whether these are the same; frequencies may differ by what chance exceeds with a probability of at most 1e-9.

    By Hoeffding's inequality two frequencies in n draws differ by t with a probability of at most 2 exp(-n t^2).
    """
    if one is None or other is None:
        return True
    allowed = 1e-9 if len(one) > 1 else math.sqrt(DOUBT / FEW)
    return bool((np.abs(one - other) <= allowed).all())


def _retold(feedback: Feedback, arms: Array) -> Feedback:
    """The same plays, in which all these arms paid otherwise and were one arm."""
    trajectory = feedback.observation if isinstance(feedback.observation, Trajectory) else None
    rows, action = np.arange(len(arms)), np.array(feedback.action)
    one = arms.argmax(axis=1)
    if trajectory is None:
        there = arms[rows, action]
        changed = np.where(there, one, action)
        decision = feedback.decision
        decision = changed if isinstance(decision, np.ndarray) else decision.replace(action=changed)
        return feedback.replace(decision=decision, reward=np.where(there, 0.5 - feedback.reward, feedback.reward))
    there = arms[rows[:, None], action]
    rewards = np.where(there, 1.0 - trajectory.reward, trajectory.reward)
    total = (rewards * trajectory.alive).sum(axis=1)
    return feedback.replace(observation=trajectory.replace(reward=rewards), reward=total)


def _knows_only_features(case: BaseCase) -> bool:
    """Whether the base knows arms by their features alone: with other numbers for the arms it learns the same."""
    problem = case.problem()
    if problem.dimension is None or problem.shared:
        return False
    trial = case.trial()
    for _ in range(TURNS):
        moment = trial.ask()
        seen = moment.feedback.observation
        if isinstance(seen, Trajectory) or seen.features is None:
            return True  # the features of a fixed arm stay, so nothing is known of its number alone
        rolled = seen.replace(features=np.roll(seen.features, 1, axis=1))
        action = (moment.action + 1) % _arms(case)
        told = moment.feedback.decision
        decision = action if isinstance(told, np.ndarray) else told.replace(action=action)
        other = copy.deepcopy(trial.state)
        feedback = moment.feedback.replace(observation=rolled, decision=decision)
        case.base.learn(other, moment.rows, feedback, trial.streams("learn", moment.rows, moment.plays))
        trial.learn(moment)
        if difference(_bits(other), _bits(trial.state)):
            return False
    return True


# --- Probabilities ----------------------------------------------------------------------------------------------------


@demand(when=lambda case: case.asked.actions == ("finite",))
def probabilities_are_those_of_act(case: BaseCase) -> None:
    """`action_probabilities` are None, or sum to one, are zero outside the mask and agree with 10,000 draws of `act`.

    By Bernstein's inequality, the frequency of an arm that is played with probability p differs from p by more than
    (L/3 + sqrt(L^2/9 + 2 n p (1 - p) L))/n in n draws with a probability of at most 1e-9, where L = ln(2/1e-9).
    """
    trial = case.trial()
    for row, plays in enumerate((0, 3, 7)):
        trial.run(plays - len(trial.moments))
        policy = case.base.policy(copy.deepcopy(trial.state), trial.everyone)
        seen = trial.ask().seen[0]
        trial.learn(trial.moments[-1])
        for observation in (seen, *_fewer_available(seen)):
            _agrees(case, policy, observation, row, f"after {plays} plays")


def _agrees(case: BaseCase, policy: Any, observation: Observation, row: int, when: str) -> None:
    found: Any = case.base.action_probabilities(policy, observation)
    if found is None:
        return
    rows, arms = len(policy), getattr(case.base, "arms", None) or _arms(case)
    if not isinstance(found, np.ndarray) or found.shape != (rows, arms) or found.dtype != np.float64:
        broken(f"action_probabilities must be a float64 array of shape ({rows}, {arms}), not {shown(found)}")
    if not (found >= 0).all() or not np.allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-9):
        broken(f"{when} the probabilities of the arms are {shown(found)}")
    if observation.mask is not None and found[~observation.mask].any():
        broken(f"{when} an arm that is unavailable has a positive probability: {shown(found)}")
    many, rng = np.full(DRAWS, row), np.random.default_rng(row)
    action = action_of(case.base.act(policy.take(many), observation.take(many), rng))
    frequency = np.bincount(action, minlength=arms) / DRAWS
    p = found[row]
    allowed = (DOUBT / 3 + np.sqrt(DOUBT**2 / 9 + 2 * DRAWS * p * (1 - p) * DOUBT)) / DRAWS
    off = np.abs(frequency - p) > np.where((p == 0) | (p == 1), 0.0, allowed)
    if off.any():
        arm = int(off.argmax())
        broken(f"{when} arm {arm} has the probability {p[arm]:.6g}, but {DRAWS} draws played it {frequency[arm]:.6g}")


def _fewer_available(seen: Observation) -> list[Observation]:
    """The observation under another mask, if it has one."""
    if seen.mask is None or seen.mask.shape[1] < 2:
        return []
    mask = np.ones_like(seen.mask)
    mask[:, 0] = False
    return [seen.replace(mask=mask)]


# --- What a state holds ---------------------------------------------------------------------------------------------


def _arms(case: BaseCase) -> int:
    arms = case.problem().arms
    assert arms is not None
    return arms


def _bits(state: Rows) -> dict[str, Array]:
    """Everything in a state, past plays included; fingerprints of Python objects."""
    try:
        return {name: np.array(array) for name, array in state.to_arrays().items()}
    except CorralError:
        return held(state, np.arange(len(state)))


def _row_bits(base: Any, state: Rows, rows: Array) -> dict[str, Array]:
    """What some rows of a state hold, and their policies."""
    policy = held(base.policy(copy.deepcopy(state), rows), np.arange(len(rows)))
    return held(state, rows) | {f"policy.{name}": array for name, array in policy.items()}


def _behaviour(case: BaseCase, state: Rows, moment: Moment) -> dict[str, Array]:
    """The policies of a state and what they do when they see and draw the same."""
    everyone = np.arange(len(moment.rows))
    policy = held(case.base.policy(copy.deepcopy(state), everyone), everyone)
    return policy | {"action": _action(case, state, moment.seen[0], moment)}


def _action(case: BaseCase, state: Rows, seen: Observation, moment: Moment) -> Array:
    policy = case.base.policy(copy.deepcopy(state), np.arange(len(moment.rows)))
    return action_of(case.base.act(policy, seen, copy.deepcopy(moment.streams)))  # type: ignore[arg-type]
