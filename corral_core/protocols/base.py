"""Base: a bandit algorithm over rows.

A base is a frozen attrs class that holds parameters and no state; the functions below receive the state as `Rows`.
Randomness comes only from the generator passed in, and every draw has rows as its first axis.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar, Self, TypeVar

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.bounds import Bound, Term, sum_of
from corral_core.errors import CorralError
from corral_core.protocols.named import Named
from corral_core.protocols.parameters import fitted_names
from corral_core.protocols.problem import (
    ACTIONS,
    NEEDS,
    SAYABLE,
    SIZES,
    Actions,
    Feedback,
    Observation,
    Problem,
    action_of,
)
from corral_core.rows import Array


@attrs.frozen
class Base(Named):
    """A bandit algorithm over rows. A policy is the minimum that determines how state s acts."""

    formula: ClassVar[str] = "none known"  # the bound, for people to read
    actions: ClassVar[tuple[Actions, ...]] = ("finite",)
    episodic: ClassVar[bool] = False
    masks: ClassVar[bool] = False  # respects masked action sets
    learns_from_others: ClassVar[bool] = False  # can learn from an action that it did not choose
    renews: ClassVar[bool] = False  # has `renew`, so that arms may be replaced by new ones
    saves: ClassVar[bool] = True  # its state can be saved; false if it is made of Python objects that cannot
    deterministic: ClassVar[bool] = False  # `act` draws nothing, not even to break ties
    more_knobs: ClassVar[tuple[str, ...]] = ()  # inherited fields that are knobs too, in this class and below

    claimed: tuple[Term, ...] | None = attrs.field(
        default=None, kw_only=True, repr=False, metadata={"hidden": True, "claimed": True}
    )  # the bound that a user claims instead of the base's own

    @abstractmethod
    def init(self, given: Any, rng: Generator) -> Any:
        """A fresh learner in every row. `given` holds the knobs and what the environment shows before any play."""

    @abstractmethod
    def policy(self, state: Any, rows: Array) -> Any:
        """The minimum that pi_s of these rows needs in order to act later, as `Rows` with arrays of their own."""

    @abstractmethod
    def act(self, policy: Any, observation: Observation, rng: Generator) -> Any:
        """Actions, or `Rows` with `action` and anything that `learn` needs back. Reads only its arguments."""

    @abstractmethod
    def learn(self, state: Any, rows: Array, feedback: Feedback, rng: Generator) -> None:
        """Move these rows from s to s + 1, in place."""

    def renew(self, state: Any, rows: Array, arms: Array) -> None:
        """Forget, in place, what these rows know of some arms, as if they were new: (rows, arms) booleans.

        Afterwards `changed` is true. Only a base that `renews` has it.
        """
        raise NotImplementedError(f"{self.name} cannot renew arms")

    def action_probabilities(self, policy: Any, observation: Observation) -> Array | None:
        """The probability with which `act` would play each arm, (rows, arms); None if there is no closed form."""
        if not self.deterministic or self.actions != ("finite",):
            return None
        arms = getattr(self, "arms", None)
        if observation.mask is not None:
            arms = observation.mask.shape[1]
        if arms is None:
            return None
        action = action_of(self.act(policy, observation, None))  # type: ignore[arg-type]
        return np.asarray(np.arange(arms) == action[:, None], dtype=np.float64)

    @property
    def kinship(self) -> Hashable:
        """What kin have in common besides all fields that are no knobs, such as the size of their arrays."""
        return None

    @property
    def rarely_changes(self) -> bool:
        """Whether `changed` says when the policy changes, so that it is asked for and recorded only then."""
        return False

    def changed(self, state: Any, rows: Array) -> Array:
        """Whether each row's policy differs from the last one asked for; called only if the base `rarely_changes`."""
        return np.ones(len(rows), dtype=bool)

    @property
    def scratch_bytes(self) -> int:
        """Bytes per row that acting and learning need temporarily, besides the state. Used to estimate memory."""
        return 0

    def max_policies(self, plays: int) -> int:
        """Maximum number of policies after this many plays. Used to estimate memory."""
        return plays

    def history_bytes(self, plays: int) -> int:
        """Bytes that this many plays add to the state of a learner that keeps its plays. Used to estimate memory."""
        return 0

    def bound(self, delta: float) -> Bound | None:
        """The putative regret bound U(s, delta), in raw reward units. Only this method may read knobs from `self`."""
        return None

    def claiming(self, *terms: tuple[float, float]) -> Self:
        """This base with a bound that you claim: the sum of these terms (c, alpha), c s^alpha, in raw reward units."""
        found = tuple(Term(float(c), float(alpha)) for c, alpha in terms)
        for c, alpha in found:
            if not (0 < c < math.inf and 0 < alpha <= 1):
                raise CorralError(
                    f"{self.name}: a claimed bound c s^alpha needs c > 0 and 0 < alpha <= 1, not {c:g} and {alpha:g}"
                )
        if not found:
            raise CorralError(f"{self.name}: a claimed bound needs at least one term, like (2, 0.5) for 2 s^0.5")
        return attrs.evolve(self, claimed=found)

    def stated_bound(self, delta: float) -> Bound | None:
        """The bound that selection uses: the one that was claimed for this base, otherwise its own."""
        return self.bound(delta) if self.claimed is None else sum_of(self.claimed)

    def unmet(self, problem: Problem) -> str:
        """What this base assumes although the problem is harder, so that its bound may not hold; empty if nothing."""
        fields = fitted_names(self)
        for name, sign in HARDER.items():
            ours, theirs = getattr(self, name, None), getattr(problem, name)
            if name in fields and ours is not None and theirs is not None and sign * ours < sign * theirs:
                return f"{name} {_in_words(ours)} instead of {_in_words(theirs)}"
        return ""

    def resolve(self, problem: Problem) -> Self:
        """This base fitted to the problem; raises a `CorralError` if it does not fit."""
        refuse(self, problem)
        names = fitted_names(self)
        left_open = [name for name in names if getattr(self, name) is None]
        missing = [name for name in left_open if getattr(problem, name) is None]
        if missing:
            sayable = [name for name in missing if name in SAYABLE]
            mend = f", so set {' and '.join(sayable)} of {self.name}" if missing[0] in SAYABLE else ""
            raise CorralError(f"{self.name} needs {NEEDS[missing[0]]}; {problem.environment} has none{mend}")
        for name in SIZES:
            most, mine = getattr(problem, name), getattr(self, name) if name in names else None
            if most is not None and mine is not None and mine > most:
                raise CorralError(
                    f"{self.name}: {name} must be at most {most}, as many as {problem.environment} has, not {mine}"
                )
        come_and_go = (problem.masked or problem.renewable) and "arms" in names
        if come_and_go and getattr(self, "arms") not in (None, problem.arms):  # noqa: B009 - not every base has it
            raise CorralError(f"{self.name}: leave arms out; {problem.environment} masks some or replaces them")
        found = {name: getattr(problem, name) for name in left_open}
        fit = filled(self, problem, **found)
        for lower, upper in (("low", "high"), ("step_low", "step_high")):
            low, high = getattr(fit, lower, None), getattr(fit, upper, None)
            if low is not None and high is not None and low > high:
                raise CorralError(f"{self.name}: {lower} must be at most {upper}, not {low} and {high}")
        return fit


# The sign in which each field of a problem makes it harder.
HARDER = {"noise": 1, "high": 1, "step_high": 1, "low": -1, "step_low": -1, "changing": 1}


def _in_words(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.4g}"


B = TypeVar("B", bound=Base)


def filled(base: B, problem: Problem, **found: Any) -> B:
    """This base with fields that follow from the problem; raises a `CorralError` if a value is not allowed."""
    try:
        return attrs.evolve(base, **found)
    except ValueError as refused:  # the message of a validator
        raise CorralError(f"{base.name} in {problem.environment}: {refused.args[0]}") from None


def refuse(base: Base, problem: Problem) -> None:
    """Raise a `CorralError` if the base cannot play in this environment."""
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
    if problem.renewable and not base.renews:
        raise CorralError(f"{base.name} cannot forget an arm; {problem.environment} replaces arms by new ones")
