"""LinUCB for rewards that are linear up to epsilon: |E r - <a, theta*>| <= epsilon.

The radius is that of LinUCB (`scale` multiplies only this part) plus epsilon sqrt(s), where s includes this play: an
error of at most epsilon in each past reward moves the estimate by at most epsilon sqrt(s) in the norm of V.

Bound: U(s, delta) of LinUCB + 2 epsilon s sqrt(2 d ln(1 + s L^2/(lambda d))) + 2 epsilon s; rare switching multiplies
all but the last term by sqrt(1 + C). The part that is linear in s, of the order epsilon sqrt(d) s, is the price of
misspecification. As for LinUCB, there is no bound for a scale below 1, and masks leave it as it is.

Source: Zanette, Lazaric, Kochenderfer, Brunskill, "Learning near optimal policies with low inherent Bellman error",
2020, Corollary 1.

>>> from corral_core import Problem
>>> base = MisspecifiedLinUcb(epsilon=0.1).resolve(Problem(arms=3, dimension=2, noise=1.0, delta=0.01))
>>> [round(term.c, 2) for term in base.bound(0.01).shape]
[2.0, 0.14]
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from corral_kit.linear.featured import MODERATE
from corral_kit.linear.optimism import OptimisticState

from corral_core import Bound, knob
from corral_linucb.bases.linucb import LinUcb


@attrs.frozen
class MisspecifiedLinUcb(LinUcb):
    """LinUCB with a target level of misspecification."""

    name: ClassVar[str] = "misspecified-linucb"
    formula: ClassVar[str] = "the bound of LinUCB + 2 epsilon s (sqrt(2 d ln(1 + s L^2/(lambda d))) + 1)"

    epsilon: float = knob(0.0, help="how far from linear mean rewards may be, in reward units", validator=MODERATE)

    def _fresh(self, given: Any) -> OptimisticState:
        return super()._fresh(given).replace(epsilon=np.asarray(given.epsilon, dtype=np.float64))

    def bound(self, delta: float) -> Bound | None:
        return self._bound(delta, self.noise * self.parameters, self.epsilon)
