"""What learning rates are made of: the row of the paper's table (Theorem 4.11), and rates that a user sets."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import attrs
import numpy as np

from corral_core.bounds import Bound
from corral_core.errors import CorralError, shortened
from corral_core.metas.formulas import FormulaError, evaluate
from corral_core.parsing import shown
from corral_core.protocols.meta import MetaProblem
from corral_core.terminal import printable

ALPHA = 'exponent of U_*(T) = c T^alpha that "auto" is made for (default: that of the bounds)'
LIKE = 'a number, "auto" or a formula like "20/sqrt(T)"'
C = "its constant, in units of the reward range (default: that of the bounds' shape)"


@attrs.frozen
class Target:
    """What the bounds say about U_*(T) = c T^alpha, and so which row of the paper's table applies."""

    row: str
    alpha: float | None = None
    c: float | None = None
    given: tuple[str, ...] = ()  # which of alpha and c the user gave

    @property
    def sentence(self) -> str:
        """Which row of the table applies, and which alpha and c it was read with."""
        values = {"alpha": self.alpha, "c": self.c}
        known = {name: f"{name} = {value:.4g}" for name, value in values.items() if value is not None}
        of_shape = [said for name, said in known.items() if name not in self.given]
        parts = [f"{' and '.join(known[name] for name in self.given)} as given"] if self.given else []
        if of_shape:
            parts.append(f"{' and '.join(of_shape)} of the bounds' shape without logarithms and delta")
        return f"the paper's table, row '{self.row}'" + (f", with {', '.join(parts)}" if parts else "")


def target(bounds: Sequence[Bound | None]) -> Target:
    """What all bounds agree on, because it is unknown in advance which base is best.

    alpha and c known    every bound has the same leading term
    alpha known          the leading terms differ only in c
    neither known        otherwise: a base without a bound, or different exponents
    """
    leading = [bound.leading if bound else None for bound in bounds]
    if not leading or None in leading:
        return Target("neither alpha nor c known")
    exponents = {round(term.alpha, 12) for term in leading if term}
    constants = {float(f"{term.c:.9g}") for term in leading if term}
    if len(exponents) > 1:
        return Target("neither alpha nor c known")
    if len(constants) > 1:
        return Target("alpha known, c unknown", exponents.pop())
    return Target("alpha and c known", exponents.pop(), constants.pop())


def aim(problem: MetaProblem, alpha: float | None, c: float | None, meta: str) -> Target:
    """The target of these bounds, or the one with the alpha and c that a user gave instead."""
    found = target(problem.bounds)
    given = tuple(name for name, value in (("alpha", alpha), ("c", c)) if value is not None)
    if not given:
        return found
    if alpha is None and found.alpha is None:
        raise CorralError(f"{meta}: c = {c:g} needs an alpha, and the bases do not agree on one; set alpha too")
    if alpha is None or alpha == found.alpha:  # a c of the bounds belongs to their own alpha
        alpha, c = found.alpha, found.c if c is None else c
    row = "alpha known, c unknown" if c is None else "alpha and c known"
    return Target(row, alpha, c, given)


def rate_of(value: float | str, problem: MetaProblem, parameter: str, *, zero: bool = False) -> float | None:
    """A rate the user gave: a number, or a formula of T (rounds), M (bases) and horizon (plays); None for "auto".

    It must be positive; with `zero`, it may be 0.
    """
    if isinstance(value, str) and value == "auto":
        return None
    text = printable(shortened(value)) if isinstance(value, str) else shown(value)
    if isinstance(value, str):
        plays = problem.rounds if problem.plays is None else problem.plays
        try:
            rate = evaluate(value, {"T": problem.rounds, "M": problem.bases, "horizon": plays})
        except FormulaError as wrong:
            raise CorralError(f'{parameter} must be {LIKE}, not "{text}": {wrong}') from None
    elif isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise CorralError(f"{parameter} must be {LIKE}, not {text}")
    else:
        rate = float(value) if abs(value) <= sys.float_info.max else math.inf
    if not 0 < rate < math.inf and not (zero and rate == 0):
        wanted = "finite and at least 0" if zero else "positive and finite"
        raise CorralError(f"{parameter} must be {wanted}, not {text}")
    return rate
