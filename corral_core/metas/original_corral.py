"""The original CORRAL: every base learns every round, from importance-weighted losses.

Each base proposes an action on the same observation; that of the drawn base is played. Losses are counted from the
highest mean reward, `high`: the drawn base learns high - (high - reward)/pbar for its action, every other base learns
high for its own. So regret does not depend on where rewards begin. One play per round, no smoothing.

Bases must be stable under such rewards (Definition 3 of the source), which UCB is not. For bases that are only weakly
stable the source restarts a base whenever its threshold is halved: the option `restart`, on in the preset `theory`.

If the best base is (1 - alpha)-stable with R(T) = c T^alpha, the regret is of the order

    M/eta + T eta + T c^(1/alpha) eta^((1-alpha)/alpha):

stability adds rho^(1-alpha) R(T) and the barrier takes away rho/eta, for any rho. EXP3 has alpha = 1/2.

Source: Agarwal, Luo, Neyshabur, Schapire, "Corralling a band of bandit algorithms", 2017, Algorithm 1.
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from corral_core.metas import theorem
from corral_core.metas.corral import Corral, learning_order
from corral_core.protocols.meta import Condition, FeedbackKind, Guarantee, MetaProblem, Players


@attrs.frozen
class OriginalCorral(Corral):
    """CORRAL as first published: every base learns importance-weighted losses every round."""

    name: ClassVar[str] = "original-corral"
    player: ClassVar[Players] = "plain"
    feedback: ClassVar[FeedbackKind] = "importance-weighted"

    def guarantee(self, told: MetaProblem) -> Guarantee | None:
        eta = self.rate(told)
        return Guarantee(
            source="the main theorem of Agarwal et al. 2017",
            formula=f"M/eta + T eta + T c^(1/alpha) eta^((1-alpha)/alpha), eta = {eta:.4g}",
            order=lambda term, rounds: learning_order(told.bases, rounds, eta, term),
            row=self.aim(told).row if self.eta == "auto" else theorem.GIVEN,
            requires={"player": "plain", "restart": True, "units": "range", "clip": "auto"},
            conditions=(
                *self.own_conditions(told),
                Condition("p is kept separate from the sampling distribution", self.mixing == "separate"),
                Condition("the best base is weakly (1 - alpha)-stable (Definition 3): EXP3 is, UCB is not", None),
            ),
        )
