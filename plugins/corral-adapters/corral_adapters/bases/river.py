"""Any policy of `river.bandit`, by name or as an object.

Each play is a `pull` over all arms and an `update`. The policy's random numbers come from Corral's generator, not from
its seed.

Policies: BayesUCB, EpsilonGreedy, Exp3, RandomPolicy, ThompsonSampling and UCB; LinUCBDisjoint if all arms share one
context. `reward_obj` is the name of a statistic or distribution of river, like "EWMean" or "Beta", or a table with a
name and its parameters: { name = "EWMean", fading_factor = 0.1 }. ThompsonSampling needs a distribution. BayesUCB and
"Beta" count every reward except 0 as a success. Exp3 weights a reward by the probability that its arm had before the
update; this is the probability at the pull unless rewards arrive late.

>>> from corral_core import Problem
>>> River("EpsilonGreedy", {"epsilon": 0.1}).resolve(Problem(arms=3)).algorithm
'EpsilonGreedy'

Source: Montiel et al., "River: machine learning for streaming data in Python", JMLR 22(110), 2021.
"""

from __future__ import annotations

import copy
import inspect
import random
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import attrs
import numpy as np
from numpy.random import Generator

from corral_adapters.libraries import algorithm_name, arms_in, library, reason, table
from corral_core import CorralError, Lifted, Problem, parameter
from corral_core.parsing import check_keys, shown
from corral_core.suggestions import suggestion


@attrs.frozen
class River(Lifted):
    """A policy of river."""

    name: ClassVar[str] = "river"
    formula: ClassVar[str] = "none known"

    algorithm: str = parameter(help="name of a policy in river.bandit, such as UCB", validator=algorithm_name)
    settings: Any = parameter({}, help="its parameters, as a table such as { delta = 1.0 }", validator=table)
    ready: Any = attrs.field(default=None, kw_only=True, repr=False, metadata={"hidden": True})  # one to start from

    @classmethod
    def wrap(cls, policy: Any) -> Self:
        """Make a base from a policy of river, or from your own policy; every learner starts as a copy of it.

        It must draw from `self._rng`. A policy that is not part of river is deep-copied at every play.

        >>> from river import bandit
        >>> River.wrap(bandit.UCB(delta=1.0))
        River(algorithm='UCB', settings={})
        """
        bandit = library("river.bandit", "river")
        if not isinstance(policy, bandit.base.Policy):
            raise CorralError(f"river wraps a policy of river.bandit, not {type(policy).__name__}")
        return cls(type(policy).__name__, ready=copy.deepcopy(policy))

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls("EpsilonGreedy", {"epsilon": 0.2, "burn_in": 1}),
            cls("ThompsonSampling", {"reward_obj": "Gaussian", "burn_in": 2}),
            cls("Exp3", {"gamma": 0.2}),
            cls("LinUCBDisjoint"),
        ]

    def resolve(self, problem: Problem) -> Self:
        fit = super().resolve(problem)
        fit.make(problem)
        return fit

    def make(self, problem: Problem) -> RiverLearner:
        bandit = library("river.bandit", "river")
        who = f"river: {self.algorithm}"
        policy = copy.deepcopy(self.ready) if self.ready is not None else self._made(bandit, who)
        contextual = isinstance(policy, bandit.base.ContextualPolicy)
        arms = arms_in(problem, who, contextual)
        return RiverLearner(policy, who, arms, np.zeros(problem.dimension or 0) if contextual else None)

    def _made(self, bandit: Any, who: str) -> Any:
        policies = _policies(bandit)
        if self.algorithm not in policies:
            raise CorralError(f"river has no policy {shown(self.algorithm)}{suggestion(self.algorithm, policies)}")
        kind = policies[self.algorithm]
        taken = {name: each for name, each in inspect.signature(kind).parameters.items() if name != "seed"}
        check_keys(self.settings, taken, who)
        for name, each in taken.items():
            if each.default is each.empty and name not in self.settings:
                raise CorralError(f"{who} needs {name} in its settings")
        if self.algorithm == "ThompsonSampling" and "reward_obj" not in self.settings:
            raise CorralError(f'{who} needs reward_obj in its settings, a distribution like "Beta" or "Gaussian"')
        settings = {name: value for name, value in self.settings.items() if name != "burn_in"}
        if "reward_obj" in settings:
            settings["reward_obj"] = _reward_object(settings["reward_obj"], f"{who}: reward_obj")
        try:
            policy = kind(**settings)
        except (TypeError, ValueError) as error:
            raise CorralError(f"{who}: {reason(error)}") from None
        policy.burn_in = _whole(self.settings.get("burn_in", 0), f"{who}: burn_in")  # some constructors ignore it
        return policy


def _whole(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise CorralError(f"{where} must be a whole number of at least 0, not {shown(value)}")
    return value


def _policies(bandit: Any) -> dict[str, Any]:
    found = {name: kind for name, kind in vars(bandit).items() if isinstance(kind, type)}
    return {name: kind for name, kind in found.items() if issubclass(kind, bandit.base.Policy)}


def _reward_object(value: Any, where: str) -> Any:
    """A statistic or distribution of river, from its name or from a table with its name; other objects unchanged."""
    if not isinstance(value, (str, Mapping)):
        return value
    proba, stats = library("river.proba", "river"), library("river.stats", "river")
    settings = {"name": value} if isinstance(value, str) else dict(value)
    name = settings.pop("name", None)
    known = {each: getattr(module, each) for module in (proba, stats) for each in module.__all__ if each != "base"}
    if not isinstance(name, str) or name not in known:
        near = suggestion(name, known) if isinstance(name, str) else "; a table must have a name"
        raise CorralError(f"{where}: river has no statistic or distribution {shown(name)}{near}")
    try:
        return known[name](**settings)
    except (TypeError, ValueError) as error:
        raise CorralError(f"{where}: {reason(error)}") from None


class Drawn(random.Random):
    """A generator of the standard library that draws from numpy's.

    >>> 0 <= Drawn(np.random.default_rng(1)).randrange(6) < 6
    True
    """

    def __new__(cls, rng: Generator) -> Self:
        return super().__new__(cls, 0)  # type: ignore[call-arg]  # its own state is never read

    def __init__(self, rng: Generator) -> None:
        self._generator = rng
        super().__init__()

    def seed(self, *given: Any, **options: Any) -> None:
        self.gauss_next = None

    def random(self) -> float:
        return self._generator.random()

    def getrandbits(self, k: int, /) -> int:
        size = -(-k // 8)
        return int.from_bytes(self._generator.bytes(size), "little") >> (8 * size - k)


class RiverLearner:
    """One policy. It has no generator between plays; it gets one for each pull."""

    def __init__(self, policy: Any, who: str, arms: int, context: Any) -> None:
        self.policy, self.who, self.arms = policy, who, list(range(arms))
        self.contextual = context is not None
        self.known = type(policy).__module__.startswith("river.bandit.")
        self._settle(context)

    def act(self, context: Any, rng: Generator) -> int:
        policy = self.policy if self.known else copy.deepcopy(self.policy)
        before = dict(vars(policy))  # Exp3 stores its probabilities
        try:
            _lend(policy, Drawn(rng))
            return int(policy.pull(self.arms, *self._given(context)))
        except Exception as error:
            raise CorralError(f"{self.who} could not choose an arm: {reason(error)}") from error
        finally:
            _lend(policy, None)
            vars(policy).update(before)

    def learn(self, context: Any, action: Any, reward: float) -> None:
        policy, arm = self.policy, int(action)
        if self.known:
            self._renew(arm)
        try:
            policy.update(arm, *self._given(context), reward)
        except Exception as error:
            raise CorralError(f"{self.who} could not learn from a reward of {reward:.6g}: {reason(error)}") from error
        self._settle(context)

    def snapshot(self) -> RiverLearner:
        """A copy that can act. `learn` replaces the objects of an arm, so only the tables of arms are copied."""
        other = copy.copy(self)
        other.policy = copy.copy(self.policy) if self.known else copy.deepcopy(self.policy)
        if self.known:
            for name, value in vars(other.policy).items():
                if isinstance(value, dict):
                    setattr(other.policy, name, value.copy())
        return other

    def _settle(self, context: Any) -> None:
        """Pull once so that the policy stores what it stores at a pull; acting then changes nothing."""
        try:
            _lend(self.policy, random.Random(0))
            self.policy._pull(self.arms, *self._given(context))
        except Exception as error:
            raise CorralError(f"{self.who} could not choose an arm: {reason(error)}") from error
        finally:
            _lend(self.policy, None)

    def _renew(self, arm: int) -> None:
        """Copy what holds this arm's statistics before it changes in place; snapshots keep the old object."""
        for value in vars(self.policy).values():
            if isinstance(value, dict) and arm in value and not isinstance(value[arm], (int, float)):
                value[arm] = copy.deepcopy(value[arm])

    def _given(self, context: Any) -> tuple[Any, ...]:
        return ({f"x{number}": float(value) for number, value in enumerate(context)},) if self.contextual else ()


def _lend(policy: Any, generator: random.Random | None) -> None:
    """Let a policy, and every distribution that it holds, draw from this generator."""
    policy._rng = generator
    for held in vars(policy).values():
        for each in held.values() if isinstance(held, dict) else (held,):
            if hasattr(each, "_rng"):
                each._rng = generator
