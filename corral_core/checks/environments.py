"""Checks of environments."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from corral_core.checks.rules import Checks, broken, description_of, nothing_global_drawn, same, shown
from corral_core.checks.streams import Streams, draw_by_rows
from corral_core.checks.trial import named, taken
from corral_core.checks.worlds import any_action
from corral_core.environments.bandit import Bandit
from corral_core.environments.episodic_mdp import EpisodicMdp
from corral_core.protocols.environment import Environment, Play
from corral_core.protocols.problem import Observation, Problem, Trajectory
from corral_core.rows import Array, Rows
from corral_core.selection.received import features_in, observation_of

ENVIRONMENTS = Checks()
demand = ENVIRONMENTS.demand
PLAYS = 10


@attrs.frozen(eq=False)
class EnvironmentCase:
    """An environment."""

    environment: Environment

    @property
    def label(self) -> str:
        return named(self.environment)

    @property
    def place(self) -> str:
        return self.label

    @property
    def problem(self) -> Problem:
        return self.environment.problem

    def visit(self, rows: Sequence[int] = (0, 1, 2, 3, 4)) -> Visit:
        """Rows with one stream per row and play, so that episodes of different lengths stay in step."""
        return Visit(self.environment, len(rows), lambda *key: Streams.seeded((1, *key), rows))

    def crowd(self, rows: int) -> Visit:
        """Many rows with ordinary generators, for statistical checks."""
        return Visit(self.environment, rows, lambda *key: np.random.default_rng([1, *key]))


class Visit:
    """Rows that play in an environment; actions are uniform unless a policy is given."""

    def __init__(self, environment: Environment, rows: int, stream: Callable[..., Any]) -> None:
        self.environment, self.rows, self.stream = environment, rows, stream
        self.instance = environment.draw(rows, stream(0, 0))
        self.seen: list[Observation] = []
        self.plays: list[Play] = []

    @property
    def luck(self) -> Any:
        """The generator of the environment for the next play."""
        return self.stream(1, len(self.plays))

    @property
    def draws(self) -> Any:
        """The generator of the actions of the next play."""
        return self.stream(2, len(self.plays))

    def play(self, policy: Callable[[Observation], Array] | None = None) -> Play:
        problem, draws = self.environment.problem, self.draws

        def act(observation: Observation) -> Array:
            observation_of(observation, problem, self.rows)
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


# --- First: without these no other check can run ---------------------------------------------------------------------


@demand(first=True)
def draws_have_rows_first(case: EnvironmentCase) -> None:
    """Every draw from the generator has rows as its first axis, including rows that need no number."""
    draw_by_rows(lambda: case.visit().run())


@demand(first=True)
def shapes(case: EnvironmentCase) -> None:
    """`draw` returns Rows, one per instance; `play` one reward and one regret (None if unknown) per row."""
    _consistent(case)
    visit = case.visit()
    if not isinstance(visit.instance, Rows):
        broken(f"draw must return Rows, not {shown(visit.instance)}")
    if len(visit.instance) != 5:
        broken(f"draw(5, rng) returned {len(visit.instance)} rows")
    for name, array in case.environment.shown(visit.instance).items():
        if not isinstance(array, np.ndarray) or len(array) != 5:
            broken(f"shown: {name} must be an array of 5 rows, not {shown(array)}")
        if name == "features":
            features_in(array, case.problem, 5)
    for _ in range(PLAYS):
        _well_formed(visit.play(), case.problem, 5)


def _consistent(case: EnvironmentCase) -> None:
    problem = case.problem
    if isinstance(case.environment, EpisodicMdp) and not (problem.episodic and problem.stages):
        broken("the problem of an EpisodicMdp must set episodic=True and stages, the maximum number of steps")
    if isinstance(case.environment, Bandit) and problem.episodic:
        broken("a Bandit pays single actions, but its problem sets episodic=True")
    if problem.low is not None and problem.high is not None and problem.low > problem.high:
        broken(f"problem.low is {problem.low}, which is above problem.high = {problem.high}")


def _well_formed(play: Play, problem: Problem, rows: int) -> None:
    if not isinstance(play, Play):
        broken(f"play must return a Play, not {shown(play)}")
    if not isinstance(play.reward, np.ndarray) or play.reward.dtype.kind != "f":
        broken(f"rewards must be an array of floats, not {shown(play.reward)}")
    if play.reward.shape != (rows,) or not np.isfinite(play.reward).all():
        broken(f"rewards must be {rows} finite numbers, one per row, not {shown(play.reward)}")
    if (play.regret is None) == problem.regret:
        broken(f"problem.regret is {problem.regret}, but play returned the regret {shown(play.regret)}")
    if play.regret is not None and (np.shape(play.regret) != (rows,) or not np.isfinite(play.regret).all()):
        broken(f"regret must be {rows} finite numbers, one per row, not {shown(play.regret)}")


@demand(first=True)
def single_row(case: EnvironmentCase) -> None:
    """A single row can be played alone."""
    visit = case.visit(rows=[3])
    for _ in range(PLAYS):
        _well_formed(visit.play(), case.problem, 1)


@demand(first=True)
def no_global_randomness(case: EnvironmentCase) -> None:
    """Neither `random` nor `np.random` is drawn from or seeded."""
    with nothing_global_drawn():
        case.visit().run(3)


@demand(first=True)
def same_seed_same_plays(case: EnvironmentCase) -> None:
    """The same seed gives the same plays: all randomness comes from the generator passed in."""
    _compare(case.visit().run(), case.visit().run(), [0, 1, 2, 3, 4], "played twice with the same streams")


def _compare(found: Visit, wanted: Visit, pairs: Sequence[int], what: str) -> None:
    """Raise `Broken` unless row r of one visit was played like row pairs[r] of the other."""
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
    """A row is played the same alone and among others, and permuted rows give permuted plays."""
    together = case.visit().run()
    for row in range(5):
        _compare(case.visit(rows=[row]).run(), together, [row], f"row {row} alone and among others")
    order = [3, 0, 4, 2, 1]
    _compare(case.visit(rows=order).run(), together, order, "rows permuted")


@demand()
def actions_are_left_alone(case: EnvironmentCase) -> None:
    """`play` does not write into the actions it receives."""
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


# --- Its description -------------------------------------------------------------------------------------------------


@demand()
def observations_match_the_problem(case: EnvironmentCase) -> None:
    """Observations show features, masks and states if, and only if, `problem` declares them."""
    problem, visit = case.problem, case.visit().run()
    fixed = "features" in case.environment.shown(visit.instance)
    for observation in visit.seen:
        _seen(observation.features, problem.changing, fixed or problem.masked, "features", "changing")
        _seen(observation.mask, problem.masked, False, "a mask", "masked")
        _seen(observation.state, problem.episodic, False, "a state", "episodic")
    if problem.dimension is None and (fixed or any(observation.features is not None for observation in visit.seen)):
        broken("features are shown, but problem.dimension is None")
    if (
        problem.dimension is not None
        and problem.actions == "finite"
        and not (fixed or problem.changing or problem.masked)
    ):
        broken(
            f"problem.dimension is {problem.dimension}, but no features are shown: `shown` returns those of fixed arms"
        )
    for play in visit.plays if problem.episodic else ():
        if not isinstance(play.observation, Trajectory):
            broken(f"the observation of an episode must be a Trajectory, not {shown(play.observation)}")
        if problem.stages is not None and play.observation.state.shape[1] > problem.stages:
            broken(f"an episode took {play.observation.state.shape[1]} steps; problem.stages is {problem.stages}")
        steps = play.observation.alive.sum(axis=1).min()
        if problem.fixed_length and steps != problem.stages:
            broken(
                f"an episode took {steps} of {problem.stages} steps, but problem.fixed_length says that it takes all"
            )


def _seen(value: Array | None, wanted: bool, allowed: bool, what: str, field: str) -> None:
    if wanted and value is None:
        broken(f"the problem is {field}, but an observation does not show {what}")
    if value is not None and not wanted and not allowed:
        broken(f"an observation shows {what}, but the problem is not {field}: {shown(value)}")


@demand()
def says_what_it_is(case: EnvironmentCase) -> None:
    """It has a name, which its problem repeats, a docstring and a help text for every parameter."""
    description_of(case.environment)
    if case.problem.environment != case.environment.name:
        broken(f"its name is {case.environment.name}, but its problem is named {case.problem.environment}")
