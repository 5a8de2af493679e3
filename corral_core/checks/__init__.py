"""Conformance checks: small named rules that a base, environment, meta or experiment passes or fails.

A check is a function over a *case* (a base in an environment, an environment, a meta over some bases, an experiment);
its docstring is the rule. `cases_of` makes the cases of a thing, `check_all` runs the checks on them.

>>> from corral_core import Uniform
>>> {outcome.result for outcome in check_all(cases_of(Uniform))}
{'passed'}
"""

from corral_core.checks.cases import CHECKS, Case, cases_of, check_all, checks_of
from corral_core.checks.rules import Broken, Check, ConformanceWarning, Outcome

__all__ = ["CHECKS", "Broken", "Case", "Check", "ConformanceWarning", "Outcome", "cases_of", "check_all", "checks_of"]
