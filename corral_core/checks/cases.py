"""The cases in which a base, environment or meta is checked."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from corral_core.checks.abilities import ABILITIES
from corral_core.checks.contests import MetaCase
from corral_core.checks.environments import ENVIRONMENTS, EnvironmentCase
from corral_core.checks.experiments import EXPERIMENTS, ExperimentCase
from corral_core.checks.guarantees import GUARANTEES
from corral_core.checks.metas import METAS
from corral_core.checks.plays import PLAYS
from corral_core.checks.policies import POLICIES
from corral_core.checks.regrets import REGRETS
from corral_core.checks.rows import ROWS
from corral_core.checks.rules import Checks, Outcome
from corral_core.checks.saving import META_SAVING, SAVING
from corral_core.checks.slopes import SLOPES
from corral_core.checks.states import STATES
from corral_core.checks.trial import BaseCase
from corral_core.checks.worlds import small_worlds
from corral_core.errors import CorralError, reason
from corral_core.parsing import shown
from corral_core.protocols.base import Base
from corral_core.protocols.environment import Environment
from corral_core.protocols.meta import Meta
from corral_core.registry.classes import check_class
from corral_core.registry.names import Registry
from corral_core.suggestions import suggestion

Case = BaseCase | EnvironmentCase | MetaCase | ExperimentCase

CHECKS: dict[type[Any], Checks] = {
    BaseCase: Checks([*PLAYS, *ROWS, *POLICIES, *STATES, *ABILITIES, *SAVING, *SLOPES]),
    EnvironmentCase: Checks([*ENVIRONMENTS, *REGRETS]),
    MetaCase: Checks([*METAS, *GUARANTEES, *META_SAVING]),
    ExperimentCase: EXPERIMENTS,
}


def checks_of(case: Case) -> Checks:
    """The checks that a case of this kind must pass."""
    return CHECKS[type(case)]


def check_all(cases: Iterable[Case], expected: Mapping[str, str] = MappingProxyType({})) -> Iterator[Outcome]:
    """The outcome of every check on every case; `expected` names checks that may fail, with the reasons."""
    for case in cases:
        yield from checks_of(case).run(case, expected)


def expectations(expected: Mapping[str, str]) -> dict[str, str]:
    """Checks that are expected to fail, by name, each with its reason; unknown names are an error."""
    for key in expected:
        check_name(key.partition(" in ")[0])
    return dict(expected)


def check_name(name: str) -> str:
    """The name, if there is a check of this name; otherwise an error."""
    names = sorted({check.name for checks in CHECKS.values() for check in checks})
    if name not in names:
        raise CorralError(f"there is no check {shown(name)}{suggestion(name, names)}")
    return name


def cases_of(thing: Any, within: Sequence[Environment] = (), registry: Registry | None = None) -> list[Case]:
    """The cases of a base, environment or meta: of one instance, or of all `examples()` of a class.

    A base is checked in the environments `within`. If none are given, it is checked in every small world that it fits
    (worlds.py), and if it fits none of these, in the environments of the registry.
    """
    if inspect.isclass(thing):
        return [case for example in _examples(thing) for case in cases_of(example, within, registry)]
    if isinstance(thing, Base):
        return list(_base_cases(thing, within, registry))
    if isinstance(thing, Environment):
        return [EnvironmentCase(thing)]
    if isinstance(thing, Meta):
        kinds = (True,) if thing.needs_bounds == "every" else (True, False)
        return [MetaCase(thing, bounded) for bounded in kinds]
    raise CorralError(f"only a base, environment or meta, or a class of one, can be checked, not {shown(thing)}")


def _examples(cls: Any) -> list[Any]:
    check_class(cls)
    try:
        examples = list(cls.examples())
        if not examples:
            raise ValueError("`examples` returns nothing")
        return examples
    except Exception as error:
        why = reason(error) if not isinstance(error, ValueError | CorralError) else error
        raise CorralError(f"{cls.__name__} cannot be created ({why}); say in `examples` what to try") from error


def _base_cases(base: Base, within: Sequence[Environment], registry: Registry | None) -> list[BaseCase]:
    refusal = ""
    for places in (within,) if within else (small_worlds(), _registered(registry)):
        fitting = []
        for case in (BaseCase(base, environment) for environment in places):
            try:
                case.resolve()
            except CorralError as refused:
                if not refusal or case.environment.problem.episodic == base.episodic:
                    refusal = str(refused)
                continue
            except Exception:
                pass  # the first check will say what was raised
            fitting.append(case)
        if fitting:
            return fitting
    raise CorralError(f"{base.name} fits no environment in which to check it ({refusal}); pass one that it fits")


def _registered(registry: Registry | None) -> list[Environment]:
    found: list[Environment] = []
    for entry in registry.entries("environment") if registry else ():
        with contextlib.suppress(CorralError):  # from another plugin that fails to load
            found += _examples(registry.load("environment", entry.qualified))  # type: ignore[union-attr]
    return found
