"""Checks that rewards and regrets of an environment agree with its problem."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from corral_core.checks.environments import PLAYS, EnvironmentCase, Visit
from corral_core.checks.rules import Checks, broken, same, shown
from corral_core.checks.trial import arrays_of
from corral_core.checks.worlds import any_action, legal
from corral_core.environments.bandit import Bandit
from corral_core.environments.episodic_mdp import EpisodicMdp
from corral_core.environments.finite_mdp import FiniteMdp
from corral_core.protocols.problem import Observation
from corral_core.rows import Array

REGRETS = Checks()
demand = REGRETS.demand
ROUNDING = 1e-9


@demand(when=lambda case: None not in (case.problem.low, case.problem.high, case.problem.noise))
def rewards_lie_where_the_problem_says(case: EnvironmentCase) -> None:
    """Mean rewards lie in [low, high], and rewards vary around them no more than `noise` allows.

    Every row always plays the same arm. Let R be the sub-Gaussian scale of the noise. Rewards lie outside
    [low - 8 R, high + 8 R] with a probability of 1e-14, and means of n plays lie outside [low, high] by 6 R/sqrt(n)
    with one of 1e-8. If nothing else changes between plays, a variance fails if it exceeds R^2 by 6 standard errors.
    """
    problem, rows, plays = case.problem, 40, 100
    low, high = problem.range
    assert problem.noise is not None
    visit = case.crowd(rows)
    before = _arrays(visit.instance)
    uniform = visit.draws.random((rows, problem.dimension or 1))
    made = [visit.play(lambda observation: any_action(problem, observation, uniform)) for _ in range(plays)]
    reward = np.array([play.reward for play in made])
    outside = (reward < low - 8 * problem.noise - ROUNDING) | (reward > high + 8 * problem.noise + ROUNDING)
    if outside.any():
        broken(f"a reward was {reward[outside][0]:.6g}; low, high and noise are {low}, {high} and {problem.noise}")
    away = 6 * problem.noise / np.sqrt(plays) + ROUNDING
    _mean_inside(reward, away, case, "the mean reward")
    if problem.regret:
        _mean_inside(reward + [play.regret for play in made], away, case, "the mean of reward plus regret")
    if problem.changing or problem.masked or before != _arrays(visit.instance):
        return  # rewards vary for other reasons than noise
    spread = (reward - reward.mean(axis=0)) ** 2
    for variance, error in (
        (spread.mean(axis=0), spread.std(axis=0) / np.sqrt(plays)),
        (spread.mean(), _error(spread)),
    ):
        if np.max(variance - problem.noise**2 - 6 * error) > ROUNDING:
            found = np.sqrt(np.max(variance))
            broken(f"rewards have a standard deviation of {found:.4g} around their mean; noise is {problem.noise}")


@demand(when=lambda case: case.problem.episodic and None not in (case.problem.step_low, case.problem.step_high))
def steps_pay_what_the_problem_says(case: EnvironmentCase) -> None:
    """Rewards of single steps lie in [step_low, step_high]; for a `FiniteMdp`, all possible rewards do."""
    environment: Any = case.environment
    visit = case.crowd(50).run(20)
    paid = np.concatenate([play.observation.reward[play.observation.alive] for play in visit.plays])
    if isinstance(environment, FiniteMdp):
        model = environment.model(visit.instance)
        paid = np.broadcast_to(model.reward, model.probability.shape)[model.probability > 0]
    low, high = case.problem.step_low, case.problem.step_high
    assert low is not None and high is not None
    if paid.min() < low - ROUNDING or paid.max() > high + ROUNDING:
        broken(f"steps pay {paid.min():.6g} to {paid.max():.6g}; step_low and step_high are {low} and {high}")


def _arrays(instance: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in arrays_of(instance).items() if array.dtype != object}


def _error(values: Array) -> float:
    """The standard error of the mean of all values."""
    return float(values.std() / np.sqrt(values.size))


def _mean_inside(values: Array, away: float, case: EnvironmentCase, what: str) -> None:
    """Raise `Broken` if the mean of a row of values (plays, rows) is out of range by more than `away`."""
    (low, high), mean = case.problem.range, values.mean(axis=0)
    if (mean < low - away).any() or (mean > high + away).any():
        broken(f"{what} of a row lies between {mean.min():.4g} and {mean.max():.4g}; low and high are {low} and {high}")


def has_regret(case: EnvironmentCase) -> bool:
    return case.problem.regret


@demand(when=has_regret)
def regret_is_never_negative(case: EnvironmentCase) -> None:
    """No play has a regret below zero or above high - low, if these are known."""
    problem, visit = case.problem, case.crowd(50).run(20)
    regret = np.array([play.regret for play in visit.plays])
    if regret.min() < -ROUNDING:
        broken(f"the smallest regret was {regret.min():.6g}; it must be at least 0")
    if problem.low is not None and problem.high is not None and not problem.episodic:
        span = problem.high - problem.low
        if regret.max() > span + ROUNDING:
            broken(f"the largest regret was {regret.max():.6g}; low and high are {problem.low} and {problem.high}")


@demand(when=lambda case: has_regret(case) and isinstance(case.environment, Bandit | EpisodicMdp))
def the_best_policy_has_no_regret(case: EnvironmentCase) -> None:
    """At every play some action has a regret of zero."""
    visit = case.visit()
    for number in range(1, PLAYS + 1):
        least = _least_gaps(visit) if isinstance(case.environment, EpisodicMdp) else _least_regret(visit)
        wrong = np.abs(least) > 1e-7
        if wrong.any():
            broken(f"at play {number} the smallest regret over all actions is {shown(least)}, by row; it must be 0")
        visit.play()


@demand(when=lambda case: has_regret(case) and isinstance(case.environment, Bandit | EpisodicMdp))
def regret_is_from_means(case: EnvironmentCase) -> None:
    """The regret of an action does not depend on the reward it happened to earn."""
    environment: Any = case.environment
    visit = case.visit()
    for number in range(1, PLAYS + 1):
        instance, luck = copy.deepcopy(visit.instance), visit.luck
        uniform = visit.draws.random((visit.rows, case.problem.dimension or 1))
        seen: dict[str, Any]
        if isinstance(environment, EpisodicMdp):
            pay, state = environment.step, environment.start(instance, luck)
            observation = Observation(state=state)
            seen = {"stage": 0, "state": state}
        else:
            pay, observation = environment.pay, environment.observe(instance, luck)
            seen = {"observation": observation}
        action = any_action(case.problem, observation, uniform)
        once, again = (
            pay(copy.deepcopy(instance), **seen, action=action.copy(), rng=visit.stream(role, number))[-1]
            for role in (3, 4)
        )
        if not same(once, again):
            broken(f"at play {number} the same actions have first the regret {shown(once)} and then {shown(again)}")
        visit.play()


def _least_regret(visit: Visit) -> Array:
    """The smallest regret of any action in the context of the next play, by row."""
    environment: Any = visit.environment
    problem, luck, instance = environment.problem, visit.luck, copy.deepcopy(visit.instance)
    observation = environment.observe(instance, luck)

    def regret(action: Array) -> Array:
        paid = environment.pay(copy.deepcopy(instance), observation, action, copy.deepcopy(luck))
        found: Array = paid[1]
        return found

    if problem.actions == "finite":
        there = legal(problem, observation, visit.rows)
        arms = [regret(np.where(there[:, arm], arm, there.argmax(axis=1))) for arm in range(there.shape[1])]
        return np.asarray(np.min(arms, axis=0))
    # means increase with <x, theta>: small steps along the axes give its direction, hence the best point
    shape = (visit.rows, problem.dimension)
    axes = np.ones(shape) if observation.features is None else observation.features
    steps = 1e-4 * np.eye(problem.dimension)
    gains = np.stack([regret(-axes * step) - regret(axes * step) for step in steps], axis=1)  # as axes * theta
    length = np.linalg.norm(gains, axis=1, keepdims=True)
    return regret(axes * gains / np.where(length > 0, length, 1.0))


def _least_gaps(visit: Visit) -> Array:
    """The largest, over an episode of random actions, of the smallest gap of any action, by row."""
    environment: Any = visit.environment
    problem, luck, draws = environment.problem, visit.luck, visit.draws
    instance = copy.deepcopy(visit.instance)
    state = environment.start(instance, luck)
    alive, worst = np.ones(visit.rows, dtype=bool), np.zeros(visit.rows)
    for stage in range(problem.stages or 0):
        tried = [
            environment.step(copy.deepcopy(instance), stage, state, np.full(visit.rows, arm), copy.deepcopy(luck))[3]
            for arm in range(problem.arms)
        ]
        least = np.where(alive, np.min(tried, axis=0), 0.0)
        worst = np.where(np.abs(least) > np.abs(worst), least, worst)
        action = any_action(problem, Observation(state=state), draws.random((visit.rows, 1)))
        following, _, ends, _ = environment.step(instance, stage, state, action, luck)
        alive = alive & ~ends
        state = np.where(alive, following, state)
    return np.asarray(worst)


@demand(when=has_regret)
def regret_is_what_means_differ_by(case: EnvironmentCase) -> None:
    """Reward plus regret has the same mean for all policies: the mean reward of the best one.

    Policies get the same instances and contexts: one plays the action of least regret and one that of most, one the
    first arm and one the last. Let d be the difference of the sums over n plays, by row. Its mean is 0, and that of d^2
    is at most n times the variances of a play, as estimated within the row. The check fails if the first is off by 5.5
    standard errors (of at least R sqrt(2 n), R the sub-Gaussian scale of the noise), or the second by 6. By chance this
    happens with a probability of about 1e-7.
    """
    rows, plays = 400, 12
    least_error = (case.problem.noise or 0.0) * np.sqrt(2 * plays / rows)
    for one, other in ("least", "most"), ("first", "last"):
        sums = []  # (plays, rows), for each policy
        for kind in (one, other):
            visit = case.crowd(rows)
            made = [visit.play(_policy(visit, kind)) for _ in range(plays)]
            sums.append(np.array([play.reward + play.regret for play in made]))
        difference = sums[0].sum(axis=0) - sums[1].sum(axis=0)
        what = "regret" if one == "least" else "arm"
        if abs(difference.mean()) > 5.5 * max(_error(difference), least_error) + ROUNDING:
            means = [each.mean() for each in sums]
            broken(
                f"reward plus regret is {means[0]:.5g} per play with the {one} {what}, {means[1]:.5g} with the {other}"
            )
        hidden = 2 * (case.problem.noise or 0.0) ** 2 / plays  # rare rewards: equal rewards show no variance
        excess = difference**2 - plays * sum(each.var(axis=0, ddof=1) for each in sums) - hidden
        if excess.mean() > 6 * _error(excess) + ROUNDING:
            typical = np.sqrt(excess.mean()) / plays
            broken(
                f"reward plus regret differs by {typical:.4g} per play and row between the {one} {what} and the {other}"
            )


def _policy(visit: Visit, kind: str) -> Callable[[Observation], Array]:
    """A policy that plays the first or last arm, or the arm of least or most regret if that can be computed."""
    environment: Any = visit.environment
    problem, luck = environment.problem, visit.luck

    def by_place(observation: Observation) -> Array:
        share = 0.0 if kind in ("first", "least") else 0.999
        return any_action(problem, observation, np.full((visit.rows, problem.dimension or 1), share))

    def by_regret(observation: Observation) -> Array:
        there = legal(problem, observation, visit.rows)
        pay = environment.step if problem.episodic else environment.pay
        seen = (observation.stage[0], observation.state) if problem.episodic else (observation,)  # type: ignore[index]
        tried = []
        for arm in range(there.shape[1]):
            action = np.where(there[:, arm], arm, there.argmax(axis=1))
            tried.append(pay(copy.deepcopy(visit.instance), *seen, action, copy.deepcopy(luck))[-1])
        sign = 1 if kind == "least" else -1
        return np.asarray(np.where(there, sign * np.stack(tried, axis=1), np.inf).argmin(axis=1))

    known = isinstance(environment, Bandit | EpisodicMdp) and problem.actions == "finite"
    return by_regret if known and kind in ("least", "most") else by_place
