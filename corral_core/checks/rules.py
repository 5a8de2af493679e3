"""A check is a function over a case. Its docstring is the rule, and running it gives an outcome."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NoReturn

import attrs
import numpy as np

from corral_core.errors import CorralError, Terminated, place, reason
from corral_core.parsing import parameters
from corral_core.registry.discovery import NAME

Status = Literal["passed", "failed", "warning", "expected", "not run"]


class Broken(AssertionError):  # noqa: N818 - it is a finding, not an error
    """A rule is broken; the message says what was observed."""


class ConformanceWarning(UserWarning):
    """Something that works but could be better."""


@attrs.frozen
class Check:
    """One rule. `applies` says which cases it is for. If a `first` check fails, the others are not run."""

    name: str
    demands: str
    function: Callable[[Any], None]
    applies: Callable[[Any], bool]
    first: bool
    warns: bool

    def applies_to(self, case: Any) -> bool:
        """Whether the check applies. False if `applies` raises: one of the first checks then says why."""
        try:
            return self.applies(case)
        except Terminated:
            raise
        except (Exception, SystemExit):
            return False

    def __call__(self, case: Any) -> None:
        """Raise `Broken` if the case breaks the rule or raises an unexpected error."""
        __tracebackhide__ = True
        try:
            with np.errstate(all="ignore"):
                self.function(case)
        except (Broken, CorralError) as error:
            raise Broken(" ".join(f"{self.name}: {error}".split())) from None
        except Terminated:
            raise
        except (Exception, SystemExit) as error:
            raise Broken(f"{self.name}: raised {reason(error)}{place(error)}") from error


@attrs.frozen
class Outcome:
    """The result of one check on one case."""

    check: Check
    case: str  # its label
    result: Status
    why: str = ""
    environment: str = ""  # in which it was played, if it was


class Checks(list[Check]):
    """The checks of one kind, in the order of definition."""

    def demand(
        self, *, when: Callable[[Any], bool] = lambda case: True, first: bool = False, warns: bool = False
    ) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
        """Turn a function into a check. Its name is the check's name, its docstring's first paragraph the rule."""

        def add(function: Callable[[Any], None]) -> Callable[[Any], None]:
            assert function.__doc__
            demands = " ".join(function.__doc__.strip().partition("\n\n")[0].split())
            self.append(Check(function.__name__.replace("_", "-"), demands, function, when, first, warns))
            return function

        return add

    def run(self, case: Any, expected: Mapping[str, str] = MappingProxyType({})) -> Iterator[Outcome]:
        """Run every check that applies, until a `first` check fails that was not expected to fail."""
        stopped = ""
        for check in self:
            if not check.applies_to(case):
                continue
            if stopped:
                yield Outcome(check, case.label, "not run", f"because {stopped} failed", case.place)
                continue
            try:
                check(case)
            except Broken as broken:
                yield Outcome(check, case.label, "warning" if check.warns else "failed", str(broken), case.place)
                known = why_expected(expected, check.name, case.label) is not None
                stopped = check.name if check.first and not known else ""
            else:
                yield Outcome(check, case.label, "passed", environment=case.place)


def why_expected(expected: Mapping[str, str], check: str, case: str) -> str | None:
    """The reason for which a check is expected to fail in this case: under its name, or under `NAME in TEXT`.

    TEXT is a part of the case's label.
    """
    for key, why in expected.items():
        name, _, where = key.partition(" in ")
        if name == check and where in case:
            return why
    return None


def judged(outcome: Outcome, expected: Mapping[str, str]) -> Outcome:
    """The outcome, changed to `expected` if this check was expected to fail or warn and did."""
    why = why_expected(expected, outcome.check.name, outcome.case)
    if why is None or outcome.result not in ("failed", "warning"):
        return outcome
    return attrs.evolve(outcome, result="expected", why=f"{why} ({outcome.why})")


def out_of_date(outcomes: Iterable[Outcome], expected: Mapping[str, str]) -> list[str]:
    """One sentence for each check that was expected to fail but fails in no case."""
    failed = [outcome for outcome in outcomes if outcome.result == "expected"]
    return [
        f"{key} was expected to fail but fails in no case: {why}"
        for key, why in expected.items()
        if not any(why_expected({key: why}, outcome.check.name, outcome.case) for outcome in failed)
    ]


def broken(sentence: str) -> NoReturn:
    raise Broken(sentence)


def shown(value: Any) -> str:
    """A value with its type and shape, shortened if it is long."""
    if isinstance(value, np.ndarray):
        text = np.array2string(value, threshold=8, edgeitems=3, precision=6, separator=", ").replace("\n", "")
        return f"{value.dtype} {value.shape} {text}"
    text = " ".join((str(value) if isinstance(value, np.generic) else repr(value)).split())
    return text if len(text) <= 80 else text[:77] + "..."


def same(found: Any, wanted: Any) -> bool:
    """Whether two values are equal; floats are compared up to rounding."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape:
        return False
    if found.dtype.kind == "f" or wanted.dtype.kind == "f":
        return bool(np.allclose(found, wanted, rtol=1e-6, atol=1e-9, equal_nan=True))
    return bool(np.array_equal(found, wanted))


@contextlib.contextmanager
def nothing_global_drawn() -> Iterator[None]:
    """Raise `Broken` if the global generators are drawn from or seeded inside the block."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002 - to see that nothing else uses it
    before = repr(state), random.getstate()
    yield
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    for module, one, other in zip(("np.random", "random"), before, (repr(state), random.getstate()), strict=True):
        if one != other:
            broken(f"{module} was drawn from or seeded; draw from `rng`, the generator passed in")


def description_of(thing: Any) -> None:
    """Raise `Broken` if a thing lacks a valid name, a docstring, or help or types of its parameters."""
    cls = type(thing)
    name = getattr(thing, "name", None)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        broken(f"its name is {shown(name)}; use lower case with hyphens, like epsilon-greedy")
    if not (cls.__doc__ or "").strip():
        broken(f"the class {cls.__name__} has no docstring")
    for field in parameters(cls):
        if not field.metadata.get("help"):
            broken(f"the parameter {field.name} has no help text: write it as parameter(..., help=...)")
        if field.type is None:
            broken(f"the parameter {field.name} has no type annotation, so its values cannot be validated")
