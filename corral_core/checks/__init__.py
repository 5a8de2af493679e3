"""Conformance checks: many small named rules, each of which a base, environment or meta keeps or breaks.

A check is a function over a *case* (a base in an environment, an environment, a meta over some bases, an experiment);
its docstring is the rule. `cases_of` makes the cases of anything, `check_all` runs them.

>>> from corral_core.metas.uniform import Uniform
>>> {outcome.result for outcome in check_all(cases_of(Uniform))}
{'passed'}
"""

from corral_core.checks.cases import CHECKS, Case, cases_of, check_all, checks_of
from corral_core.checks.rules import Broken, Check, ConformanceWarning, Outcome

__all__ = ["CHECKS", "Broken", "Case", "Check", "ConformanceWarning", "Outcome", "cases_of", "check_all", "checks_of"]
