"""What an environment must do."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from corral_core.checks.rules import Checks, broken, description_of, nothing_global_drawn, same, shown
from corral_core.checks.streams import Streams, draw_by_rows
from corral_core.checks.trial import named, taken
from corral_core.checks.worlds import any_action, legal
from corral_core.environments import Bandit, EpisodicMdp
from corral_core.guards import features_in, observation_in
from corral_core.protocols import Environment, Observation, Play, Problem, Trajectory
from corral_core.rows import Array, Rows

ENVIRONMENTS = Checks()
demand = ENVIRONMENTS.demand
PLAYS = 10
ROUNDING = 1e-9


@attrs.frozen(eq=False)
class EnvironmentCase:
    """An environment."""

    environment: Environment

    @property
    def label(self) -> str:
        return named(self.environment)

    @property
    def problem(self) -> Problem:
        return self.environment.problem

    def visit(self, rows: Sequence[int] = (0, 1, 2, 3, 4)) -> Visit:
        """Rows that have a stream each, and each play one of its own: episodes of different lengths stay in step."""
        return Visit(self.environment, len(rows), lambda *key: Streams.seeded((1, *key), rows))

    def crowd(self, rows: int) -> Visit:
        """Many rows, with ordinary generators: for what only many can show."""
        return Visit(self.environment, rows, lambda *key: np.random.default_rng([1, *key]))


class Visit:
    """Rows that play in an environment, with actions drawn uniformly unless told."""

    def __init__(self, environment: Environment, rows: int, stream: Callable[..., Any]) -> None:
        self.environment, self.rows, self.stream = environment, rows, stream
        self.instance = environment.draw(rows, stream(0, 0))
        self.seen: list[Observation] = []
        self.plays: list[Play] = []

    @property
    def luck(self) -> Any:
        """What the environment draws the next play from."""
        return self.stream(1, len(self.plays))

    @property
    def draws(self) -> Any:
        """What the actions of the next play are drawn from."""
        return self.stream(2, len(self.plays))

    def play(self, policy: Callable[[Observation], Array] | None = None) -> Play:
        problem, draws = self.environment.problem, self.draws

        def act(observation: Observation) -> Array:
            observation_in(observation, problem, self.rows)
            self.seen.append(copy.deepcopy(observation))
            if policy is not None:
                return policy(observation)
            return any_action(problem, observation, draws.random((self.rows, problem.dimension or 1)))

        self.plays.append(self.environment.play(self.instance, act, self.luck))
        return self.plays[-1]

    def run(self, plays: int = PLAYS) -> Visit:
        for _ in range(plays):
            self.play()
        return self


# --- First: without these nothing else can be asked ------------------------------------------------------------------


@demand(first=True)
def draws_have_rows_first(case: EnvironmentCase) -> None:
    """Every draw from the generator has rows as its first axis, those that need no number among them."""
    draw_by_rows(lambda: case.visit().run())


@demand(first=True)
def shapes(case: EnvironmentCase) -> None:
    """`draw` returns Rows with a row an instance; `play` a reward a row and a regret a row, or none where unknown."""
    visit = case.visit()
    if not isinstance(visit.instance, Rows):
        broken(f"draw must return Rows, not {shown(visit.instance)}")
    if len(visit.instance) != 5:
        broken(f"draw of 5 rows has {len(visit.instance)}")
    for name, array in case.environment.shown(visit.instance).items():
        if not isinstance(array, np.ndarray) or len(array) != 5:
            broken(f"shown: {name} must be an array of 5 rows, not {shown(array)}")
        if name == "features":
            features_in(array, case.problem, 5)
    for _ in range(PLAYS):
        _well_formed(visit.play(), case.problem, 5)


def _well_formed(play: Play, problem: Problem, rows: int) -> None:
    if not isinstance(play, Play):
        broken(f"play must return a Play, not {shown(play)}")
    if not isinstance(play.reward, np.ndarray) or play.reward.dtype.kind != "f":
        broken(f"rewards must be an array of floats, not {shown(play.reward)}")
    if play.reward.shape != (rows,) or not np.isfinite(play.reward).all():
        broken(f"rewards must be a finite number a row, {rows} of them, not {shown(play.reward)}")
    if (play.regret is None) == problem.regret:
        broken(f"problem.regret is {problem.regret}, and play gave the regret {shown(play.regret)}")
    if play.regret is not None and (np.shape(play.regret) != (rows,) or not np.isfinite(play.regret).all()):
        broken(f"regret must be a finite number a row, {rows} of them, not {shown(play.regret)}")


@demand(first=True)
def single_row(case: EnvironmentCase) -> None:
    """One row alone is played."""
    visit = case.visit(rows=[3])
    for _ in range(PLAYS):
        _well_formed(visit.play(), case.problem, 1)


@demand(first=True)
def same_seed_same_plays(case: EnvironmentCase) -> None:
    """The same seed gives the same plays: randomness comes from the generator handed in, and from nowhere else."""
    _compare(case.visit().run(), case.visit().run(), [0, 1, 2, 3, 4], "played twice with the same streams")


def _compare(found: Visit, wanted: Visit, pairs: Sequence[int], what: str) -> None:
    """Row r of one visit must have been played as row pairs[r] of the other."""
    for number, (one, other) in enumerate(zip(found.plays, wanted.plays, strict=True), start=1):
        for row, pair in enumerate(pairs):
            for name in ("reward", "regret", "action"):
                value, expected = (_of(play, name, at) for play, at in ((one, row), (other, pair)))
                if not same(value, expected):
                    broken(f"{what}, at play {number}: {name} {shown(value)} in place of {shown(expected)}")


def _of(play: Play, name: str, row: int) -> Any:
    value = getattr(play, name)
    if name == "action":
        return taken(play.observation, value, row)
    return 0.0 if value is None else value[row]


# --- Rows and arguments ----------------------------------------------------------------------------------------------


@demand()
def rows_are_independent(case: EnvironmentCase) -> None:
    """A row is played alone as among others, and permuted rows give permuted plays."""
    together = case.visit().run()
    for row in range(5):
        _compare(case.visit(rows=[row]).run(), together, [row], f"row {row} alone and among others")
    order = [3, 0, 4, 2, 1]
    _compare(case.visit(rows=order).run(), together, order, "rows permuted")


@demand()
def actions_are_left_alone(case: EnvironmentCase) -> None:
    """`play` does not write into the actions it is handed."""
    visit = case.visit()
    handed: list[Array] = []
    kept: list[Array] = []

    def remember(observation: Observation) -> Array:
        uniform = visit.draws.random((5, case.problem.dimension or 1))
        handed.append(any_action(case.problem, observation, uniform))
        kept.append(handed[-1].copy())
        return handed[-1]

    for _ in range(PLAYS):
        visit.play(remember)
    for now, then in zip(handed, kept, strict=True):
        if not np.array_equal(now, then):
            broken(f"actions went from {shown(then)} to {shown(now)}")


@demand()
def no_global_randomness(case: EnvironmentCase) -> None:
    """Neither `random` nor `np.random` is drawn from or seeded."""
    with nothing_global_drawn():
        case.visit().run(3)


# --- What it says ----------------------------------------------------------------------------------------------------


@demand()
def observations_match_the_problem(case: EnvironmentCase) -> None:
    """Features, masks and states are seen where `problem` says that there are some, and nowhere else."""
    problem, visit = case.problem, case.visit().run()
    fixed = "features" in case.environment.shown(visit.instance)
    for observation in visit.seen:
        _seen(observation.features, problem.changing, fixed or problem.masked, "features", "changing")
        _seen(observation.mask, problem.masked, False, "a mask", "masked")
        _seen(observation.state, problem.episodic, False, "a state", "episodic")
        state = observation.state
        if state is not None and problem.states is not None and not ((state >= 0) & (state < problem.states)).all():
            broken(f"states lie in 0 to {problem.states - 1}, and {shown(state)} was seen")
    if fixed and problem.dimension is None:
        broken("features are shown before the first play, and problem.dimension is None")
    for play in visit.plays if problem.episodic else ():
        if not isinstance(play.observation, Trajectory):
            broken(f"an episode must leave a Trajectory, not {shown(play.observation)}")
        if problem.stages is not None and play.observation.state.shape[1] > problem.stages:
            broken(f"an episode took {play.observation.state.shape[1]} steps; problem.stages is {problem.stages}")


def _seen(value: Array | None, wanted: bool, allowed: bool, what: str, field: str) -> None:
    if wanted and value is None:
        broken(f"the problem is {field}, and no observation shows {what}")
    if value is not None and not wanted and not allowed:
        broken(f"an observation shows {what}, and the problem is not {field}: {shown(value)}")


@demand(when=lambda case: case.problem.low is not None and case.problem.high is not None)
def rewards_lie_where_the_problem_says(case: EnvironmentCase) -> None:
    """Mean rewards lie in [low, high], and rewards spread around them no more than `noise` says.

    Noise of sub-Gaussian scale R leaves a reward outside [low - z R, high + z R], z = 8, with a probability of 1e-14,
    and a variance above R^2 by more than 6 standard errors with one of 1e-9.
    """
    problem, rows, plays = case.problem, 40, 100
    low, high = problem.range
    visit = case.crowd(rows)
    kept: list[Array] = []

    def stubborn(observation: Observation) -> Array:
        if problem.changing or problem.masked or problem.episodic or not kept:
            kept.append(any_action(problem, observation, visit.draws.random((rows, problem.dimension or 1))))
        return kept[-1]

    reward = np.array([visit.play(stubborn).reward for _ in range(plays)])
    if problem.noise is None:
        return
    outside = (reward < low - 8 * problem.noise - ROUNDING) | (reward > high + 8 * problem.noise + ROUNDING)
    if outside.any():
        broken(f"a reward was {reward[outside][0]:.6g}; low, high and noise are {low}, {high} and {problem.noise}")
    if problem.changing or problem.masked or problem.episodic:
        return
    mean, away = reward.mean(axis=0), 6 * problem.noise / np.sqrt(plays) + ROUNDING
    if mean.min() < low - away or mean.max() > high + away:
        broken(f"arms have means from {mean.min():.4g} to {mean.max():.4g}; low and high are {low} and {high}")
    variance, error = reward.var(axis=0, ddof=1).mean(), np.sqrt(15 / reward.size)  # E x^4 <= 16 R^4
    if variance > problem.noise**2 * (1 + 6 * error) + ROUNDING:
        broken(
            f"rewards have a standard deviation of {np.sqrt(variance):.4g} around their means; noise is {problem.noise}"
        )


def has_regret(case: EnvironmentCase) -> bool:
    return case.problem.regret


@demand(when=has_regret)
def regret_is_never_negative(case: EnvironmentCase) -> None:
    """No play has a regret below zero, nor above high - low where that is known."""
    problem, visit = case.problem, case.crowd(50).run(20)
    regret = np.array([play.regret for play in visit.plays])
    if regret.min() < -ROUNDING:
        broken(f"the least regret was {regret.min():.6g}")
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
            broken(f"at play {number} the least regret of any action is {shown(least)}, by row")
        visit.play()


def _least_regret(visit: Visit) -> Array:
    """By row, with the context of the next play."""
    environment: Any = visit.environment
    problem, luck = environment.problem, visit.luck
    observation = environment.observe(copy.deepcopy(visit.instance), luck)

    def regret(action: Array) -> Array:
        paid = environment.pay(copy.deepcopy(visit.instance), observation, action, copy.deepcopy(luck))
        found: Array = paid[1]
        return found

    if problem.actions == "finite":
        there = legal(problem, observation, visit.rows)
        arms = [regret(np.where(there[:, arm], arm, there.argmax(axis=1))) for arm in range(there.shape[1])]
        return np.asarray(np.min(arms, axis=0))
    # rewards are linear: unit steps along the axes give theta, and theta the best point
    shape = (visit.rows, problem.dimension)
    axes = np.ones(shape) if observation.features is None else observation.features
    centre = regret(np.zeros(shape))
    steps = np.eye(problem.dimension)
    gains = np.stack([centre - regret(axes * step) for step in steps], axis=1)  # axes * theta
    length = np.linalg.norm(gains, axis=1, keepdims=True)
    return regret(axes * gains / np.where(length > 0, length, 1.0))


def _least_gaps(visit: Visit) -> Array:
    """The largest, along an episode of random actions, of the least gap of any action, by row."""
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
    """Regret is from means: reward plus regret has the same mean whatever is played.

    Two fixed policies meet the same instances and contexts. The rule is broken where their means of reward plus regret
    are more than 5.5 standard errors apart: by chance that happens with a probability of 4e-8.
    """
    rows, plays = 400, 6
    totals = []
    for share in (0.0, 0.999):
        visit = case.crowd(rows)
        total = np.zeros(rows)

        def always(observation: Observation, share: float = share) -> Array:
            return any_action(case.problem, observation, np.full((rows, case.problem.dimension or 1), share))

        for _ in range(plays):
            play = visit.play(always)
            total += play.reward + play.regret
        totals.append(total)
    difference = totals[0] - totals[1]
    error = difference.std(ddof=1) / np.sqrt(rows)
    if abs(difference.mean()) > 5.5 * error + ROUNDING:
        first, last = (total.mean() / plays for total in totals)
        broken(f"reward plus regret is {first:.5g} a play with the first arm and {last:.5g} with the last")


@demand()
def says_what_it_is(case: EnvironmentCase) -> None:
    """It has a name that its problem bears too, a docstring and a help text for every parameter."""
    description_of(case.environment)
    if case.problem.environment != case.environment.name:
        broken(f"it is called {case.environment.name}, and its problem {case.problem.environment}")
