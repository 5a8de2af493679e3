"""What bases of generalised linear models share: their link, and its smallest slope kappa."""

from __future__ import annotations

from typing import Any, Self

import attrs
import numpy as np
from attrs.validators import and_, ge, gt, le, optional
from corral_kit.linear.featured import Linear

from corral_core import Array, CorralError, Problem, parameter
from corral_glm.estimates import logged_bytes
from corral_glm.links import Link, check_reach, link_of, valid_link

LEAST = 1e-12  # a slope below this counts as zero


@attrs.frozen(slots=False)  # so that it can be mixed with another subclass of Linear
class Generalised(Linear):
    """A base for mean rewards mu(<x, theta>)."""

    link: Any = parameter(
        "logistic",
        help="mu: logistic, probit, cloglog, identity, half-identity, square, or your own as 'module:object'",
        validator=valid_link,
    )
    curvature: float | None = parameter(
        None,
        help="kappa, smallest slope of mu that matters (default: that on |z| <= L (S + 1), or 1 if that is smaller)",
        validator=optional(and_(ge(LEAST), le(1e9))),
    )
    length: float = parameter(1.0, help="bound L on the norm of an arm's features", validator=and_(gt(0), le(1e9)))

    def resolve(self, problem: Problem) -> Self:
        found = super().resolve(problem)
        check_reach(self.mu, self.reach, self.name)
        if not found.kappa >= LEAST:
            raise CorralError(
                f"{self.name}: the slope of the {self.mu.name} link falls to 0 on |z| <= {self.reach:.4g}; "
                f"set a smaller norm, or a curvature"
            )
        return found

    @property
    def mu(self) -> Link:
        """The link itself."""
        return link_of(self.link)

    @property
    def reach(self) -> float:
        """The largest possible |<x, theta>|, for theta within 1 of a vector of norm S."""
        return self.length * (self.norm + 1)

    @property
    def kappa(self) -> float:
        """The smallest slope of mu that matters.

        At most 1, because kappa V must not exceed sum mu' x x^T + lambda I, in which the ridge has no slope factor.
        """
        return min(1.0, self.mu.least_slope(self.reach)) if self.curvature is None else self.curvature

    def history_bytes(self, plays: int) -> int:
        return 0 if self.fixed else logged_bytes(plays, self.dimension)

    def value(self, product: Array) -> Array:
        """A quantity that rises with the mean reward, from <x, theta>."""
        return np.abs(product) if self.mu.even else product
