"""Regret bounds U(s, delta).

A base's bound has two forms: *literal*, with the constants of its source, and a *shape*, the sum of terms c s^alpha
that the analysis of Stochastic CORRAL works with. Both are in raw reward units; `scaled` turns them into the units of
a meta-algorithm, in which mean rewards span [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from corral_core.errors import CorralError

Array = NDArray[Any]
Form = Literal["literal", "shape"]  # of a bound


class Term(NamedTuple):
    """c s^alpha."""

    c: float
    alpha: float

    def __str__(self) -> str:
        return f"{self.c:.4g} s^{self.alpha:.4g}"


@attrs.frozen(eq=False)
class Bound:
    """U(s) for a fixed delta: with high probability the regret of the first s plays is at most U(s), for all s."""

    literal: Callable[[Array], Array]
    shape: tuple[Term, ...]

    def __call__(self, plays: Any, mode: Form = "literal") -> Array:
        """U at these numbers of plays; mode is `literal` or `shape`."""
        s = np.asarray(plays, dtype=np.float64)
        found = self.literal(s) if mode == "literal" else sum(c * s**alpha for c, alpha in self.shape)
        return np.broadcast_to(np.asarray(found, dtype=np.float64), s.shape)  # a bound may be constant

    def scaled(self, factor: float) -> Bound:
        """This bound with regret measured in other units."""
        literal = self.literal
        return Bound(lambda s: factor * literal(s), tuple(Term(factor * c, alpha) for c, alpha in self.shape))

    @property
    def leading(self) -> Term | None:
        """The largest term below linear: learning rates are tuned to it (no rate can make up for a linear term)."""
        terms = [term for term in self.shape if term.c > 0 and term.alpha < 1]
        return max(terms, key=lambda term: (term.alpha, term.c), default=None)


def sum_of(terms: Sequence[Term]) -> Bound:
    """The bound that is the sum of these terms, as its literal form and as its shape."""
    return Bound(lambda s: np.asarray(sum(c * s**alpha for c, alpha in terms)), tuple(terms))


class BoundTable:
    """U_j(s) for all bases j, tabulated up to the plays needed so far; (bases, plays) with column 0 unused."""

    def __init__(self, bounds: Sequence[Bound], mode: Form = "literal") -> None:
        self._bounds = bounds
        self._mode = mode
        self._table: Array = np.empty((len(bounds), 0))

    def __call__(self, base: Array, plays: Array) -> Array:
        """U of each base at its own number of plays (at least 1)."""
        width = self._table.shape[1]
        most = int(plays.max(initial=0))
        if most >= width:
            width = max(1024, 2 * most)
            s = np.arange(1, width, dtype=np.float64)
            rows = [np.concatenate([[0.0], bound(s, self._mode)]) for bound in self._bounds]
            self._table = np.ascontiguousarray(rows)
            if not np.isfinite(self._table).all():
                raise CorralError("the regret bound of a base must be a finite number for every number of plays")
        found: Array = self._table.take(base * width + plays)
        return found
