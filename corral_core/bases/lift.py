"""A plain Python algorithm, one learner at a time, as a base.

A learner has `act(context, rng) -> action` and `learn(context, action, reward)`. `lift` holds one such object per row.
The context is the features of the row (also if arms are fixed), or None if there are none.
If arms may be masked, it is the row's whole `Observation`, with `mask` and `features`, each of one row.
This is slow but it works: start here, and move to arrays for speed.

>>> class Stubborn:
...     def act(self, context, rng):
...         return 0
...     def learn(self, context, action, reward):
...         pass
>>> lift(lambda problem: Stubborn(), name="stubborn").name
'stubborn'

Smoothing copies a learner each time it plays: with its `snapshot()` if it has one, otherwise with deepcopy. `act` must
not change the learner, because a copy may act again later.

A learner may also have `renew(arms)`, which forgets what it knows of these arms (an array of their numbers), and
`action_probabilities(context)`: the probability with which `act` plays each arm, or None. A base whose learners renew
arms must say so with `renews`.

A live selection can be saved if its learners have `to_state()` and `from_state(state)`. `to_state` returns what the
learner knows as a dict of plain values: None, booleans, numbers, strings, numpy arrays (not of objects), and lists,
tuples and dicts (with strings as keys) of these. `from_state` gets an equal dict, fills a learner that `make` has just
made, in place, and returns nothing; both may be called at any moment, and a restored learner acts and learns with the
same bits. A `snapshot` is saved in the same way, so it must be of the learner's own class.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.errors import CorralError
from corral_core.protocols.base import Base
from corral_core.protocols.parameters import knobs
from corral_core.protocols.problem import Actions, Feedback, Observation, Problem, Trajectory
from corral_core.rows import Array, Rows, object_array, snapshot


class Learners(Rows):
    """One learner per row: the state and, until smoothing copies it, also the policy."""

    learner: Array


@attrs.frozen
class Lifted(Base):
    """Base class for a base made of Python learners, one per row: define `make`."""

    problem: Problem | None = attrs.field(default=None, kw_only=True, repr=False, metadata={"hidden": True})

    @abstractmethod
    def make(self, problem: Problem) -> Any:
        """A fresh learner for this problem."""

    def resolve(self, problem: Problem) -> Self:
        return attrs.evolve(super().resolve(problem), problem=problem)

    def init(self, given: Any, rng: Generator) -> Learners:
        if self.problem is None:
            raise TypeError(f"{self.name} was not resolved: call resolve(problem) first")
        values = {name: getattr(given, name).tolist() for name in knobs(self)}
        learners = []
        for row in range(len(given)):
            kin = attrs.evolve(self, **{name: value[row] for name, value in values.items()}) if values else self
            learners.append(self._checked(kin.make(self.problem)))
        if hasattr(given, "features"):
            learners = [BesideArms(learner, given.features[row]) for row, learner in enumerate(learners)]
        return Learners(object_array(learners))

    def _checked(self, learner: Any) -> Any:
        if not (hasattr(learner, "act") and hasattr(learner, "learn")):
            raise CorralError(f"{self.name}: make must return a learner (act and learn), not {type(learner).__name__}")
        return learner

    def policy(self, state: Learners, rows: Array) -> Learners:
        return state.take(rows)

    def act(self, policy: Learners, observation: Observation, rng: Generator) -> Array:
        contexts, streams = _contexts(observation, len(policy)), _streams(rng, len(policy))
        plays = zip(policy.learner, contexts, streams, strict=True)
        actions = [learner.act(context, stream) for learner, context, stream in plays]
        return np.asarray(actions) if actions else np.zeros(0, dtype=np.intp)

    def learn(self, state: Learners, rows: Array, feedback: Feedback, rng: Generator) -> None:
        contexts = _contexts(feedback.observation, len(rows))
        plays = zip(state.learner[rows], contexts, feedback.action, feedback.reward, strict=True)
        for learner, context, action, reward in plays:
            learner.learn(context, action, float(reward))

    def renew(self, state: Learners, rows: Array, arms: Array) -> None:
        for learner, which in zip(state.learner[rows], arms, strict=True):
            if which.any():
                learner.renew(np.flatnonzero(which))

    def action_probabilities(self, policy: Learners, observation: Observation) -> Array | None:
        if self.deterministic or not all(hasattr(learner, "action_probabilities") for learner in policy.learner):
            return super().action_probabilities(policy, observation)
        contexts = _contexts(observation, len(policy))
        plays = zip(policy.learner, contexts, strict=True)
        found = [learner.action_probabilities(context) for learner, context in plays]
        if not found or any(each is None for each in found):
            return None
        return np.asarray(np.stack(found), dtype=np.float64)


@attrs.define
class BesideArms:
    """A learner whose arms are fixed: it sees their features at every play."""

    learner: Any
    features: Array

    def act(self, context: Any, rng: Generator) -> Any:
        return self.learner.act(self.features if context is None else context, rng)

    def learn(self, context: Any, action: Any, reward: float) -> None:
        self.learner.learn(self.features if context is None else context, action, reward)

    def renew(self, arms: Array) -> None:
        self.learner.renew(arms)

    def action_probabilities(self, context: Any) -> Any:
        if not hasattr(self.learner, "action_probabilities"):
            return None
        return self.learner.action_probabilities(self.features if context is None else context)

    def snapshot(self) -> BesideArms:
        return BesideArms(snapshot(self.learner), self.features)


@attrs.frozen
class LiftedFrom(Lifted):
    """A lifted base whose learners are made by a function; it is up to the caller where it can play."""

    actions: ClassVar[tuple[Actions, ...]] = ("finite", "ball", "ellipsoid")

    maker: Callable[[Problem], Any] = attrs.field(kw_only=True, metadata={"hidden": True})
    name: str = attrs.field(kw_only=True, metadata={"hidden": True})  # type: ignore[misc]
    episodic: bool = attrs.field(default=False, kw_only=True, metadata={"hidden": True})  # type: ignore[misc]
    masks: bool = attrs.field(default=True, kw_only=True, metadata={"hidden": True})  # type: ignore[misc]
    renews: bool = attrs.field(default=False, kw_only=True, metadata={"hidden": True})  # type: ignore[misc]
    learns_from_others: bool = attrs.field(default=False, kw_only=True, metadata={"hidden": True})  # type: ignore[misc]

    def make(self, problem: Problem) -> Any:
        return self.maker(problem)


def lift(
    make: Callable[[Problem], Any],
    name: str | None = None,
    *,
    episodic: bool = False,
    masks: bool = True,
    renews: bool = False,
    learns_from_others: bool = False,
) -> LiftedFrom:
    """A base with one learner per row, made by `make(problem)`; set `episodic` if plays are episodes.

    With `masks` off it refuses problems that mask arms. `renews`: learners have `renew`. `learns_from_others`: they can
    learn from actions that they did not choose.
    """
    return LiftedFrom(
        maker=make,
        name=name or str(getattr(make, "__name__", "lifted")),
        episodic=episodic,
        masks=masks,
        renews=renews,
        learns_from_others=learns_from_others,
    )


def bare(learner: Any) -> Any:
    """The author's own learner, without what stands beside it."""
    return learner.learner if isinstance(learner, BesideArms) else learner


def saves_state(learner: Any) -> bool:
    """Whether a learner has `to_state` and `from_state`, so that it can be saved."""
    inner = bare(learner)
    return hasattr(inner, "to_state") and hasattr(inner, "from_state")


def state_of(learner: Any) -> Any:
    """What a learner knows, as its `to_state` returns it."""
    return bare(learner).to_state()


def fill_learner(learner: Any, state: Any) -> None:
    """Give a fresh learner what another one knew."""
    bare(learner).from_state(state)


def _streams(rng: Any, rows: int) -> list[Any]:
    """The generator of each learner: its own stream if `rng` has one per row, otherwise the shared `rng`."""
    found: list[Any] = getattr(rng, "streams", None) or [rng] * rows
    return found


def _contexts(observation: Observation | Trajectory, rows: int) -> list[Any]:
    """What each learner sees: the features of its row; with a mask or in an episode, its row of the observation.

    After an episode it learns from its row of the `Trajectory`, with the actions of all steps and the return.
    """
    if isinstance(observation, Observation) and observation.mask is None and observation.state is None:
        features = observation.features
        return [None] * rows if features is None else list(features)
    return [observation.take(np.asarray([row])) for row in range(rows)]
