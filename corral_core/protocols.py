"""Base, Meta and Environment, and what passes between them.

    experiment -> simulation -> selection -> (meta, player -> base), environment -> curves

A base and a meta are frozen attrs classes that hold parameters and no state; their state is a `Rows` that the
functions below are handed. Randomness comes only from the generator handed in, every draw with rows as its first axis.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, TypeVar

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.bounds import Bound
from corral_core.errors import CorralError
from corral_core.rows import Array, Rows

# --- Parameters -----------------------------------------------------------------------------------------------------


def parameter(default: Any = attrs.NOTHING, *, help: str, validator: Any = None, **options: Any) -> Any:
    """A field the user may set."""
    return attrs.field(default=default, validator=validator, metadata={"help": help}, **options)


def knob(default: Any = attrs.NOTHING, *, help: str, validator: Any = None) -> Any:
    """A field in which kin differ: it reaches `init` in `given`, a value a row, and is not read from `self`."""
    return attrs.field(default=default, validator=validator, metadata={"help": help, "knob": True})


def fitted(*, help: str, validator: Any = None, knob: bool = False) -> Any:
    """A field that `resolve` takes from the field of the same name of the problem, where the user left it open."""
    if validator is not None:
        validator = attrs.validators.optional(validator)
    metadata = {"help": help, "fitted": True} | ({"knob": True} if knob else {})
    return attrs.field(default=None, validator=validator, metadata=metadata)


def knobs(base: Base) -> dict[str, Any]:
    """The values of a base's knobs."""
    return {field.name: getattr(base, field.name) for field in attrs.fields(type(base)) if "knob" in field.metadata}


def fitted_names(base: Base) -> list[str]:
    """The names of the fields that `resolve` fills."""
    return [field.name for field in attrs.fields(type(base)) if "fitted" in field.metadata]


def kin(one: Base, other: Base) -> bool:
    """Whether two bases differ in their knobs alone, so that they can advance as one block of rows."""
    if type(one) is not type(other):
        return False
    fixed = [field.name for field in attrs.fields(type(one)) if "knob" not in field.metadata]
    return all(_same(getattr(one, name), getattr(other, name)) for name in fixed)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return type(one) is type(other) and bool(one == other)


# --- What an environment is, as far as a base may know ----------------------------------------------------------------

NEEDS = {
    "arms": "a finite set of arms",
    "dimension": "features",
    "noise": "a known scale of the noise",
    "low": "a known range of the mean reward",
    "high": "a known range of the mean reward",
    "states": "a finite set of states",
    "stages": "episodes of a known length at most",
    "fixed_length": "episodes",
    "step_low": "a known range of the reward of a step",
    "step_high": "a known range of the reward of a step",
    "horizon": "a known horizon",
    "delta": "a failure probability",
}


ACTIONS = {"finite": "finitely many actions", "ball": "a ball of actions", "ellipsoid": "an ellipsoid of actions"}
SAYABLE = ("noise", "low", "high", "step_low", "step_high")  # what a user may know where the environment does not
SIZES = ("arms", "dimension", "states", "stages")  # a base may use less than there is, never more


@attrs.frozen
class Problem:
    """What an environment publishes; the experiment adds the horizon and delta."""

    environment: str = "this environment"
    actions: Literal["finite", "ball", "ellipsoid"] = "finite"
    arms: int | None = None
    dimension: int | None = None  # of the features of arms; in an episode, of each arm in each state
    changing: bool = False  # the action set or the context changes from play to play, and every observation shows it
    shared: bool = False  # one context for all arms, in place of features of each
    masked: bool = False  # not every arm is there at every play; features then come with every observation
    episodic: bool = False  # a play is an episode
    states: int | None = None
    stages: int | None = None  # the most steps of an episode
    fixed_length: bool = False  # every episode takes all its stages; else some may end early
    step_low: float | None = None  # range of what one step of an episode pays, where it is bounded
    step_high: float | None = None
    noise: float | None = None  # sub-Gaussian scale of the reward around its mean
    heavy_tails: bool = False  # there is no such scale: rewards are not sub-Gaussian
    low: float | None = None  # range of the mean reward
    high: float | None = None
    regret: bool = True  # whether the best mean is known, so that plays carry a regret
    horizon: int | None = None  # the most plays that a base can make
    delta: float | None = None

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest mean reward, which whoever scales rewards must know."""
        if self.low is None or self.high is None:
            raise CorralError(f"{self.environment} has no known range of the mean reward; give it low and high")
        return self.low, self.high


class Observation(Rows):
    """What is seen before an action is chosen; a bandit without contexts shows nothing."""

    features: Array | None = None  # (rows, arms, dimension); (rows, dimension): a shared context, or semi-axes
    mask: Array | None = None  # (rows, arms), true where the arm is there
    state: Array | None = None  # (rows,), of an episodic environment
    stage: Array | None = None  # (rows,), steps taken in this episode
    alive: Array | None = None  # (rows,), false where the episode is over


NOTHING = Observation()


class Trajectory(Rows):
    """What an episode leaves to learn from: (rows, steps) each, as many steps as the longest row took."""

    state: Array
    action: Array
    reward: Array
    next_state: Array
    alive: Array  # whether the step was taken


class Feedback(Rows):
    """What a base learns from: its own decision, unchanged, and what it earned."""

    observation: Any  # Observation, or Trajectory for an episode
    decision: Any  # what `act` returned
    reward: Array

    @property
    def action(self) -> Array:
        """The action itself, whatever else the decision carries."""
        return action_of(self.decision)


def action_of(decision: Any) -> Array:
    """The actions in what `act` returned."""
    actions: Array = decision if isinstance(decision, np.ndarray) else decision.action
    return actions


# --- What bases, environments and metas have in common ---------------------------------------------------------------


class Named(ABC):
    """Something that is registered under a name."""

    __slots__ = ()
    name: ClassVar[str]

    @classmethod
    def examples(cls) -> list[Self]:
        """What conformance checks try: settings under which it plays differently. The defaults, unless said."""
        return [cls()]


# --- Base -------------------------------------------------------------------------------------------------------------


@attrs.frozen
class Base(Named):
    """A bandit algorithm over rows. A policy is the least that determines how state s acts."""

    formula: ClassVar[str] = "none known"  # the bound, for people
    actions: ClassVar[tuple[str, ...]] = ("finite",)
    episodic: ClassVar[bool] = False
    masks: ClassVar[bool] = False  # honours masked action sets
    learns_from_others: ClassVar[bool] = False  # can learn from an action that it did not choose

    @abstractmethod
    def init(self, given: Any, rng: Generator) -> Any:
        """A fresh learner in every row. `given` holds the knobs and what the environment shows before any play."""

    @abstractmethod
    def policy(self, state: Any, rows: Array) -> Any:
        """What pi_s of these rows needs to act later, and nothing more, as `Rows` of its own arrays."""

    @abstractmethod
    def act(self, policy: Any, observation: Observation, rng: Generator) -> Any:
        """Actions, or `Rows` with `action` and whatever `learn` wants back. Reads nothing but its arguments."""

    @abstractmethod
    def learn(self, state: Any, rows: Array, feedback: Feedback, rng: Generator) -> None:
        """Take these rows from s to s + 1, in place."""

    @property
    def rarely_changes(self) -> bool:
        """Whether `changed` says when the policy does, so that it is asked for and recorded only then."""
        return False

    def changed(self, state: Any, rows: Array) -> Array:
        """Where the policy differs from the last one asked for; asked only of a base that `rarely_changes`."""
        return np.ones(len(rows), dtype=bool)

    @property
    def scratch(self) -> int:
        """How many bytes a row acting and learning take for a moment, beside the state: what memory is reckoned by."""
        return 0

    def policies(self, plays: int) -> int:
        """How many policies these many plays leave at most: what memory is reckoned by."""
        return plays

    def history(self, plays: int) -> int:
        """How many bytes so many plays add to the state of a learner that keeps them: what memory is reckoned by."""
        return 0

    def bound(self, delta: float) -> Bound | None:
        """The putative regret bound U(s, delta), in raw reward. It is asked of one base, so it alone may read knobs."""
        return None

    def resolve(self, problem: Problem) -> Self:
        """This base fitted to the problem, or one sentence why it cannot be."""
        refuse(self, problem)
        names = fitted_names(self)
        left_open = [name for name in names if getattr(self, name) is None]
        missing = [name for name in left_open if getattr(problem, name) is None]
        if missing:
            sayable = [name for name in missing if name in SAYABLE]
            mend = f", so give {self.name} a {' and a '.join(sayable)}" if missing[0] in SAYABLE else ""
            raise CorralError(f"{self.name} needs {NEEDS[missing[0]]}; {problem.environment} has none{mend}")
        for name in SIZES:
            most, mine = getattr(problem, name), getattr(self, name) if name in names else None
            if most is not None and mine is not None and mine > most:
                raise CorralError(
                    f"{self.name}: {name} must be at most {most}, as many as {problem.environment} has, not {mine}"
                )
        found = {name: getattr(problem, name) for name in left_open}
        fit = filled(self, problem, **found)
        for lower, upper in (("low", "high"), ("step_low", "step_high")):
            low, high = getattr(fit, lower, None), getattr(fit, upper, None)
            if low is not None and high is not None and low > high:
                raise CorralError(f"{self.name}: {lower} must be at most {upper}, not {low} and {high}")
        return fit


B = TypeVar("B", bound=Base)


def filled(base: B, problem: Problem, **found: Any) -> B:
    """This base with fields that follow from the problem, or one sentence where they cannot be what follows."""
    try:
        return attrs.evolve(base, **found)
    except ValueError as refused:  # a validator's words
        raise CorralError(f"{base.name} in {problem.environment}: {refused.args[0]}") from None


def refuse(base: Base, problem: Problem) -> None:
    """One sentence where a base cannot live in an environment."""
    if base.episodic != problem.episodic:
        plays = {True: "episodes", False: "single actions"}
        raise CorralError(
            f"{base.name} plays {plays[base.episodic]}; {problem.environment} asks for {plays[problem.episodic]}"
        )
    if problem.actions not in base.actions:
        choices = " or ".join(ACTIONS[kind] for kind in base.actions)
        raise CorralError(f"{base.name} needs {choices}; {problem.environment} has {ACTIONS[problem.actions]}")
    if problem.masked and not base.masks:
        raise CorralError(f"{base.name} needs every arm at every play; {problem.environment} masks some")


# --- Environment ------------------------------------------------------------------------------------------------------


class Play(Rows):
    """One play of every row."""

    observation: Any  # what a base learns from: Observation, or Trajectory
    action: Any
    reward: Array
    regret: Array | None = None  # from means; None where nobody knows it


Act = Callable[[Observation], Array]


@attrs.frozen
class Environment(Named):
    """Draws instances, one a row, and pays for actions."""

    @property
    @abstractmethod
    def problem(self) -> Problem:
        """What bases and metas may know."""

    @abstractmethod
    def draw(self, rows: int, rng: Generator) -> Any:
        """Every row its own instance of the problem."""

    @abstractmethod
    def play(self, instance: Any, act: Act, rng: Generator) -> Play:
        """One play of all rows: a single action each, or an episode."""

    def shown(self, instance: Any) -> dict[str, Array]:
        """What every base is given before the first play, a value a row: the features of fixed arms, say."""
        return {}


# --- Meta -------------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class MetaProblem:
    """What a meta-algorithm is told before the first round. Gains are scaled so that mean rewards span [0, 1]."""

    bases: int
    horizon: int  # rounds
    delta: float
    gains: tuple[float, float] = (0.0, 1.0)  # where gains lie: (-1, 1) when a bias is taken off
    bounds: tuple[Bound | None, ...] = ()  # of the bases, scaled like the gains


class Verdict(Rows):
    """What a meta asks of selection: (bases, rows) masks."""

    restart: Array | None = None
    drop: Array | None = None


@attrs.frozen
class Meta(Named):
    """A distribution over the bases of each row. All its arrays are (bases, rows): bases first."""

    horizon: ClassVar[bool] = True  # must know the number of rounds
    bounds: ClassVar[str] = "none"  # "none", "one" for all bases, or "every" base's
    player: ClassVar[str] = "any"  # "any", "plain", "smooth" or "boosted"
    feedback: ClassVar[str] = "raw"  # "raw", "importance-weighted" or "shared"
    clip: ClassVar[tuple[float, float]] = (0.0, 1.0)  # scaled rewards are cut to this before any bias is taken off

    @abstractmethod
    def init(self, rows: int, problem: MetaProblem) -> Any:
        """The state of a fresh meta-algorithm in every row."""

    @abstractmethod
    def choose(self, state: Any, active: Array, rng: Generator) -> tuple[Array, Array | None]:
        """The base each row plays, and its probability (None where the choice is deterministic)."""

    @abstractmethod
    def update(self, state: Any, chosen: Array, probability: Any, gain: Array, active: Array) -> Verdict | None:
        """Learn, in place, what the chosen bases gained."""

    @abstractmethod
    def probabilities(self, state: Any) -> Array:
        """(bases, rows), for the curves."""

    def choices(self, problem: MetaProblem) -> list[str]:
        """The parameters it chose for itself and why, a sentence each."""
        return []
