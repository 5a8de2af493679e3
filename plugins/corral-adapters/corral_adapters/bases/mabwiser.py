"""Any learning policy of MABWiser, by name or as an object.

A learner is a `MAB` of MABWiser. Every arm is played once, in order, before the policy chooses: MABWiser predicts only
after it was fitted, and gives an arm that it never saw an expectation of 0. A `MAB` that was fitted before it was
wrapped chooses from the start. Each play is then a `predict` and a `partial_fit`, with the context as the only row if
the policy is linear. MABWiser's random numbers come from Corral's generator, not from its seed.

Policies: EpsilonGreedy, Popularity, Random, Softmax, ThompsonSampling and UCB1; LinGreedy, LinTS and LinUCB if all arms
share one context. ThompsonSampling needs rewards of 0 and 1, or a `binarizer`: a function of arm and reward, or a
number above which a reward counts as 1. Neighbourhood policies are refused: they keep every play, so smoothing would
copy all plays at every play.

If arms are masked, the available arm with the largest expectation is played; the policy draws expectations of all arms.
Popularity cannot renew arms, because it mixes their rewards.

>>> from corral_core import Problem
>>> MabWiser("UCB1", {"alpha": 1.25}).resolve(Problem(arms=3)).algorithm
'UCB1'

Source: Strong, Kleynhans, Kadıoğlu, "MABWiser: parallelizable contextual multi-armed bandits", IJAIT 30(4), 2021.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from numpy.random import Generator

from corral_adapters.libraries import algorithm_name, arms_in, chances, library, reason, seen, table
from corral_adapters.objects import filled, known
from corral_core import Array, CorralError, Lifted, Problem, parameter
from corral_core.parsing import check_keys, shown
from corral_core.suggestions import suggestion


@attrs.frozen
class MabWiser(Lifted):
    """A learning policy of MABWiser."""

    name: ClassVar[str] = "mabwiser"
    formula: ClassVar[str] = "none known"
    masks: ClassVar[bool] = True
    learns_from_others: ClassVar[bool] = True

    algorithm: str = parameter(help="name of a learning policy in MABWiser, such as UCB1", validator=algorithm_name)
    settings: Any = parameter({}, help="its parameters, as a table such as { alpha = 1.25 }", validator=table)
    ready: Any = attrs.field(default=None, kw_only=True, repr=False, metadata={"hidden": True})  # a MAB to start from

    @classmethod
    def wrap(cls, thing: Any) -> Self:
        """Make a base from a `LearningPolicy` or a `MAB`; every learner starts as a copy of it.

        >>> from mabwiser.mab import LearningPolicy
        >>> MabWiser.wrap(LearningPolicy.EpsilonGreedy(epsilon=0.2))
        MabWiser(algorithm='EpsilonGreedy', settings={'epsilon': 0.2})
        """
        mab = library("mabwiser.mab", "mabwiser")
        if not isinstance(thing, mab.MAB):
            if type(thing) not in _policies(mab).values():
                raise CorralError(f"mabwiser wraps a LearningPolicy or a MAB, not {type(thing).__name__}")
            return cls(type(thing).__name__, thing._asdict())
        if thing.neighborhood_policy:
            kind = type(thing.neighborhood_policy).__name__
            raise CorralError(f"mabwiser: {kind} keeps every play, which smoothing cannot copy; wrap a LearningPolicy")
        policy = thing.learning_policy
        return cls(type(policy).__name__, policy._asdict(), ready=copy.deepcopy(thing))

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls("UCB1", {"alpha": 1.25}),
            cls("EpsilonGreedy", {"epsilon": 0.2}),
            cls("ThompsonSampling", {"binarizer": 0.5}),
            cls("LinTS", {"alpha": 0.5}),
        ]

    @property
    def renews(self) -> bool:  # type: ignore[override]
        return self.algorithm != "Popularity"

    def resolve(self, problem: Problem) -> Self:
        fit = super().resolve(problem)
        fit.make(problem)
        return fit

    def make(self, problem: Problem) -> MabWiserLearner:
        mab = library("mabwiser.mab", "mabwiser")
        policies = _policies(mab)
        if self.algorithm not in policies:
            raise CorralError(f"mabwiser has no policy {shown(self.algorithm)}{suggestion(self.algorithm, policies)}")
        who = f"mabwiser: {self.algorithm}"
        arms = arms_in(problem, who, contextual=self.algorithm.startswith("Lin"))
        if self.ready is not None:
            made = copy.deepcopy(self.ready)
            if len(made.arms) != arms:
                raise CorralError(f"{who} was made for {len(made.arms)} arms; {problem.environment} has {arms}")
        else:
            policy = policies[self.algorithm]
            check_keys(self.settings, policy._fields, who)
            try:
                made = mab.MAB(list(range(arms)), policy(**_with_binarizer(self.settings)))
            except (TypeError, ValueError) as error:
                raise CorralError(f"{who}: {reason(error)}") from None
        return MabWiserLearner(made, who)


def _policies(mab: Any) -> dict[str, Any]:
    found = vars(mab.LearningPolicy).items()
    return {name: kind for name, kind in found if isinstance(kind, type) and issubclass(kind, tuple)}


def _with_binarizer(settings: Any) -> dict[str, Any]:
    binarizer = settings.get("binarizer")
    return {**settings, **({"binarizer": Above(binarizer)} if isinstance(binarizer, (int, float)) else {})}


@attrs.frozen
class Above:
    """The binarizer for a number in a file: whether the reward is above it."""

    threshold: float

    def __call__(self, arm: Any, reward: float) -> bool:
        return reward > self.threshold


EXPLORES = ("EpsilonGreedy", "LinGreedy", "LinUCB", "Random", "UCB1")  # their probabilities have a closed form


class Exploits:
    """Stands in for a generator: a policy that explores with some probability does not if it draws 1."""

    def random(self, size: Any = None) -> Any:
        return 1.0 if size is None else np.ones(size)


class MabWiserLearner:
    """One `MAB`. It has no generator between plays; it gets one for each prediction."""

    def __init__(self, mab: Any, who: str) -> None:
        self.mab, self.who = mab, who
        self.number = {arm: number for number, arm in enumerate(mab.arms)}
        self.untried: tuple[int, ...] = () if mab._is_initial_fit else tuple(range(len(mab.arms)))
        self.mab._rng.rng = None
        self._share_generator()

    def act(self, context: Any, rng: Generator) -> int:
        context, available = seen(context, len(self.mab.arms))
        if self.untried:
            for number in available:
                if number in self.untried:
                    return number
        everything = len(available) == len(self.mab.arms)
        arm = self._asked(context, rng, self.mab.predict if everything else self.mab.predict_expectations)
        return self.number[arm] if everything else self._best(arm, available)

    def _best(self, expectations: dict[Any, float], available: list[int]) -> int:
        return max(available, key=lambda number: expectations[self.mab.arms[number]])

    def _asked(self, context: Any, rng: Any, question: Callable[[Any], Any]) -> Any:
        """What the MAB answers if it draws from this generator."""
        mab = self.mab
        before = dict(vars(mab._imp))  # Thompson sampling stores what it drew
        mab._rng.rng = rng
        try:
            return question(self._contexts(context))
        except Exception as error:
            raise CorralError(f"{self.who} could not choose an arm: {reason(error)}") from error
        finally:
            mab._rng.rng = None
            vars(mab._imp).update(before)

    def action_probabilities(self, context: Any) -> Array | None:
        """Of the policies that explore at a fixed rate; None for the others."""
        context, available = seen(context, len(self.mab.arms))
        untried = [number for number in available if number in self.untried]
        if untried:
            return chances({untried[0]: 1.0}, len(self.mab.arms))
        kind = type(self.mab.learning_policy).__name__
        if kind not in EXPLORES:
            return None
        rate = {"LinUCB": 0.0, "Random": 1.0, "UCB1": 0.0}.get(kind, getattr(self.mab._imp, "epsilon", 0.0))
        shares = dict.fromkeys(available, rate / len(available))
        if kind != "Random":
            best = self._best(self._asked(context, Exploits(), self.mab.predict_expectations), available)
            shares[best] += 1 - rate
        return chances(shares, len(self.mab.arms))

    def renew(self, arms: Array) -> None:
        if self.mab._is_initial_fit:
            for number in arms.tolist():
                self.mab._imp.add_arm(self.mab.arms[number])  # writes what a new arm has over what was known
        self.untried = tuple(sorted({*self.untried, *arms.tolist()}))
        self._share_generator()

    def learn(self, context: Any, action: Any, reward: float) -> None:
        context, _ = seen(context, len(self.mab.arms))
        try:
            self.mab.partial_fit([self.mab.arms[action]], [reward], self._contexts(context))
        except Exception as error:
            raise CorralError(f"{self.who} could not learn from a reward of {reward:.6g}: {reason(error)}") from error
        self._share_generator()
        if self.untried:
            self.untried = tuple(arm for arm in self.untried if arm != action)

    def snapshot(self) -> MabWiserLearner:
        """A copy that can act. `partial_fit` replaces numbers and models, so only the tables of them are copied."""
        other = copy.copy(self)
        other.mab = copy.copy(self.mab)
        other.mab._imp = policy = copy.copy(self.mab._imp)
        for name, value in vars(policy).items():
            if isinstance(value, dict):
                setattr(
                    policy, name, {arm: dict(each) if isinstance(each, dict) else each for arm, each in value.items()}
                )
        return other

    def to_state(self) -> dict[str, Any]:
        """What the policy knows, as plain values."""
        fitted = bool(self.mab._is_initial_fit)
        return {"fitted": fitted, "untried": list(self.untried), "policy": known(self.mab._imp, self.who)}

    def from_state(self, state: dict[str, Any]) -> None:
        for model in getattr(self.mab._imp, "arm_to_model", {}).values():
            if model.scale:  # fitting makes it
                model.scaler = library("sklearn.preprocessing", "mabwiser").StandardScaler()
        filled(self.mab._imp, state["policy"])
        self.mab._is_initial_fit, self.untried = state["fitted"], tuple(state["untried"])
        self._share_generator()

    def _contexts(self, context: Any) -> Any:
        return np.asarray(context, dtype=np.float64)[None] if self.mab.is_contextual else None

    def _share_generator(self) -> None:
        """Give each linear model the shared generator, because fitting gives it a copy."""
        for model in getattr(self.mab._imp, "arm_to_model", {}).values():
            model.rng = self.mab._rng
