"""Any policy of `river.bandit`, by name or as an object.

Each play is a `pull` over all arms and an `update`. The policy's random numbers come from Corral's generator, not from
its seed.

Policies: BayesUCB, EpsilonGreedy, Exp3, RandomPolicy, ThompsonSampling and UCB; LinUCBDisjoint if all arms share one
context. `reward_obj` is the name of a statistic or distribution of river, like "EWMean" or "Beta", or a table with a
name and its parameters: { name = "EWMean", fading_factor = 0.1 }. ThompsonSampling needs a distribution. BayesUCB and
"Beta" count every reward except 0 as a success. Exp3 weights a reward by the probability that its arm had before the
update; this is the probability at the pull unless rewards arrive late. So it learns only from its own plays, and it
cannot renew arms: its weights sum what was earned in all plays, and a new arm has none. If arms are masked, a pull is
over the available arms.

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

from corral_adapters.libraries import algorithm_name, arms_in, chances, library, reason, seen, table
from corral_adapters.objects import filled, known
from corral_core import Array, CorralError, Lifted, Problem, parameter
from corral_core.parsing import check_keys, shown
from corral_core.suggestions import suggestion


@attrs.frozen
class River(Lifted):
    """A policy of river."""

    name: ClassVar[str] = "river"
    formula: ClassVar[str] = "none known"
    masks: ClassVar[bool] = True

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

    @property
    def renews(self) -> bool:  # type: ignore[override]
        return self._keeps_statistics

    @property
    def learns_from_others(self) -> bool:  # type: ignore[override]
        return self._keeps_statistics

    @property
    def _keeps_statistics(self) -> bool:
        """Whether it is a policy of river that keeps the statistics of each arm apart."""
        own = self.ready is not None and not _is_of_river(self.ready)
        return self.algorithm != "Exp3" and not own

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


CHOOSES = ("BayesUCB", "EpsilonGreedy", "Exp3", "LinUCBDisjoint", "RandomPolicy", "UCB")


class Chooser:
    """Stands in for a generator, to see among which arms a policy chooses. It does not explore, because it draws 1."""

    def __init__(self) -> None:
        self.shares: dict[int, float] = {}

    def uniform(self, low: float, high: float) -> float:
        return high

    def choice(self, arms: Any) -> Any:
        self.shares = dict.fromkeys(arms, 1 / len(arms))
        return arms[0]

    def choices(self, arms: Any, weights: Any) -> Any:
        weight = list(weights)
        self.shares = {arm: each / sum(weight) for arm, each in zip(arms, weight, strict=True)}
        return arms


class RiverLearner:
    """One policy. It has no generator between plays; it gets one for each pull."""

    def __init__(self, policy: Any, who: str, arms: int, context: Any) -> None:
        self.policy, self.who, self.arms = policy, who, list(range(arms))
        self.contextual, self.dimension = context is not None, 0 if context is None else len(context)
        self.known = _is_of_river(policy)
        self._settle(context)

    def act(self, context: Any, rng: Generator) -> int:
        return int(self._pulled(context, Drawn(rng)))

    def _pulled(self, context: Any, rng: Any) -> Any:
        """The arm that is pulled if the policy draws from this generator."""
        context, available = seen(context, len(self.arms))
        policy = self.policy if self.known else copy.deepcopy(self.policy)
        before = dict(vars(policy))  # Exp3 stores its probabilities
        try:
            _lend(policy, rng)
            return policy.pull(available, *self._given(context))
        except Exception as error:
            raise CorralError(f"{self.who} could not choose an arm: {reason(error)}") from error
        finally:
            _lend(policy, None)
            vars(policy).update(before)

    def action_probabilities(self, context: Any) -> Array | None:
        """From what the policy would draw; None if this is more than a choice among arms."""
        policy, asked = self.policy, Chooser()
        if not self.known or type(policy).__name__ not in CHOOSES:
            return None
        arm = int(self._pulled(context, asked))
        shares = asked.shares or {arm: 1.0}
        _, available = seen(context, len(self.arms))
        burning_in = any(policy._counts[each] < policy.burn_in for each in available)
        if type(policy).__name__ == "EpsilonGreedy" and not burning_in:
            rate = min(max(policy.current_epsilon, 0.0), 1.0)
            shares = {each: rate / len(available) + (1 - rate) * (each == arm) for each in available}
        return chances(shares, len(self.arms))

    def renew(self, arms: Array) -> None:
        for table_of_arms in vars(self.policy).values():
            if isinstance(table_of_arms, dict):
                for arm in arms.tolist():
                    table_of_arms.pop(arm, None)
        self._settle(np.zeros(self.dimension) if self.contextual else None)

    def learn(self, context: Any, action: Any, reward: float) -> None:
        policy, arm = self.policy, int(action)
        context, available = seen(context, len(self.arms))
        if len(available) < len(self.arms):
            self._settle(context, available)  # so that Exp3 knows the probabilities of the pull
        if self.known:
            self._detach(arm)
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

    def to_state(self) -> dict[str, Any]:
        """What the policy knows, as plain values."""
        state: dict[str, Any] = known(self.policy, self.who)
        return state

    def from_state(self, state: dict[str, Any]) -> None:
        filled(self.policy, state)

    def _settle(self, context: Any, available: list[int] | None = None) -> None:
        """Pull once so that the policy stores what it stores at a pull; acting then changes nothing."""
        try:
            _lend(self.policy, random.Random(0))
            self.policy._pull(available or self.arms, *self._given(context))
        except Exception as error:
            raise CorralError(f"{self.who} could not choose an arm: {reason(error)}") from error
        finally:
            _lend(self.policy, None)

    def _detach(self, arm: int) -> None:
        """Copy what holds this arm's statistics before it changes in place; snapshots keep the old object."""
        for value in vars(self.policy).values():
            if isinstance(value, dict) and arm in value and not isinstance(value[arm], (int, float)):
                value[arm] = copy.deepcopy(value[arm])

    def _given(self, context: Any) -> tuple[Any, ...]:
        return ({f"x{number}": float(value) for number, value in enumerate(context)},) if self.contextual else ()


def _is_of_river(policy: Any) -> bool:
    return type(policy).__module__.startswith("river.bandit.")


def _lend(policy: Any, generator: Any) -> None:
    """Let a policy, and every distribution that it holds, draw from this generator."""
    policy._rng = generator
    for held in vars(policy).values():
        for each in held.values() if isinstance(held, dict) else (held,):
            if hasattr(each, "_rng"):
                each._rng = generator
