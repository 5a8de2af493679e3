"""The conformance checks as tests, for the test suite of a plugin:

    from corral_core.testing import conformance

    @conformance("corral-demo")
    def test_conformance(check):
        check()

You can check an installed plugin or anything registered (by name), a class, or an instance. If a check is known to
fail or to warn, pass its name and the reason in `expected`: pytest then shows XFAIL, or XPASS if the check passes.

`same_bits(kernel, ...)` tests that the twins of a kernel give the same.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from corral_core.checks.cases import Case, cases_of, checks_of, expectations
from corral_core.checks.names import subjects_of
from corral_core.checks.rules import Broken, Check, ConformanceWarning, why_expected
from corral_core.errors import CorralError
from corral_core.kernels.twins import Kernel, is_installed
from corral_core.parsing import shown
from corral_core.protocols.environment import Environment
from corral_core.selection.setup import given_rows

__all__ = ["bits", "conformance", "given_rows", "same_bits"]


def conformance(
    *things: Any, within: Sequence[Environment] = (), expected: Mapping[str, str] | None = None
) -> pytest.MarkDecorator:
    """Run a test once for every check of every case of these things; the test calls its argument `check`.

    Bases are checked `within` these environments (default: every small world that they fit).
    """
    if not things:
        raise CorralError("conformance needs something to check: a plugin's name, a class or an instance")
    expected = expectations(expected or {})
    tests = []
    for case in [case for thing in things for case in _cases(thing, within)]:
        known = {check.name: why_expected(expected, check.name, case.label) for check in checks_of(case)}
        failed = {name: False for name, reason in known.items() if reason is not None}  # these do not skip others
        for check in checks_of(case):
            if check.applies_to(case):
                reason = known[check.name]
                marks = [] if reason is None else [pytest.mark.xfail(reason=reason, raises=Broken, strict=False)]
                asked = Asked(check, case, failed, known=reason is not None)
                tests.append(pytest.param(asked, id=f"{case.label}: {check.name}", marks=marks))
    return pytest.mark.parametrize("check", tests)


def _cases(thing: Any, within: Sequence[Environment]) -> list[Case]:
    if not isinstance(thing, str):
        return cases_of(thing, within)
    subjects = subjects_of(thing, within)
    for subject in subjects:
        for problem in subject.problems:
            raise Broken(f"{subject.kind} {subject.name}: {problem}")
    return [case for subject in subjects for case in subject.cases]


class Asked:
    """A check of a case: call it to run it."""

    def __init__(self, check: Check, case: Case, failed: dict[str, bool], *, known: bool = False) -> None:
        self.check, self.case = check, case
        self._known = known  # whether the check is expected to fail or warn
        self._failed = failed  # whether each check that has run failed on this case

    def __call__(self) -> None:
        __tracebackhide__ = True
        for first in checks_of(self.case):
            if first is self.check:
                break
            if first.first and self._fails(first):
                pytest.skip(f"because {first.name} failed")
        try:
            self.check(self.case)
            self._failed.setdefault(self.check.name, False)
        except Broken as broken:
            self._failed.setdefault(self.check.name, True)
            if self._known or not self.check.warns:
                raise
            warnings.warn(ConformanceWarning(str(broken)), stacklevel=2)

    def _fails(self, check: Check) -> bool:
        if check.name not in self._failed:
            try:
                check(self.case)
                self._failed[check.name] = False
            except Broken:
                self._failed[check.name] = True
        return self._failed[check.name]


def same_bits(kernel: Kernel, *arguments: Any) -> tuple[Any, tuple[Any, ...]]:
    """Play the twins of a kernel with copies of these arguments; they must return and change the same, bit for bit.

    Returns what they gave, and the arguments as they left them. The loops play as they are and, if numba is installed,
    compiled.
    """
    __tracebackhide__ = True
    left = copy.deepcopy(arguments)
    expected = kernel.arrays(*left)
    twins: dict[str, Callable[..., Any]] = {"loops": kernel.loops}
    if is_installed():
        twins["compiled loops"] = kernel.compiled
    for name, twin in twins.items():
        mine = copy.deepcopy(arguments)
        with np.errstate(all="ignore"):  # uncompiled loops divide scalars, which warn where compiled ones do not
            found = twin(*mine)
        for what, theirs, wanted in (("result", found, expected), ("argument", mine, left)):
            where = difference(theirs, wanted, what)
            assert not where, f"{kernel.__name__}: the {name} give other bits than the arrays: {where}"
    return expected, left


def difference(found: Any, wanted: Any, what: str) -> str:
    """Where two values first differ, in words; empty if they have the same bits."""
    if bits(found) == bits(wanted):
        return ""
    if isinstance(wanted, tuple | list) and isinstance(found, tuple | list) and len(found) == len(wanted):
        pairs = enumerate(zip(found, wanted, strict=True))
        return next(filter(None, (difference(*pair, f"{what} {number}") for number, pair in pairs)))
    if isinstance(wanted, np.ndarray) and isinstance(found, np.ndarray):
        if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
            return f"{what} is {found.dtype} of {found.shape}, not {wanted.dtype} of {wanted.shape}"
        pairs = enumerate(zip(found.ravel(), wanted.ravel(), strict=True))
        places = [place for place, (one, other) in pairs if one.tobytes() != other.tobytes()]
        at = np.unravel_index(places[0], found.shape)
        first = f"[{', '.join(map(str, at))}] is {found[at]!r}, not {wanted[at]!r}"
        return f"{what} differs in {len(places)} of {found.size} numbers; {first}"
    return f"{what} is {shown(found)}, not {shown(wanted)}"


def bits(found: Any) -> Any:
    """Types, shapes and bytes of what a kernel returned or changed."""
    if isinstance(found, tuple | list):
        return [bits(each) for each in found]
    if isinstance(found, np.ndarray):
        return found.dtype.str, found.shape, found.tobytes()
    return bool(found) if isinstance(found, bool | np.bool_) else found
