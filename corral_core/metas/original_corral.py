"""The original CORRAL: every base learns every round, from importance-weighted losses.

Each base proposes an action on the same observation; that of the drawn base is played. Losses are counted from the
highest mean reward, `high`: the drawn base learns high - (high - reward)/pbar for its action, every other base learns
high for its own. So regret does not depend on where rewards begin. One play per round, no smoothing.

Bases must be stable under such rewards (Definition 3 of the source), which UCB is not. For bases that are only weakly
stable the source restarts a base whenever its threshold is halved: the option `restart`, on in the preset `theory`.

Source: Agarwal, Luo, Neyshabur, Schapire, "Corralling a band of bandit algorithms", 2017, Algorithm 1.
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from corral_core.metas.corral import Corral
from corral_core.protocols.meta import FeedbackKind, Players


@attrs.frozen
class OriginalCorral(Corral):
    """CORRAL as first published: every base learns importance-weighted losses every round."""

    name: ClassVar[str] = "original-corral"
    player: ClassVar[Players] = "plain"
    feedback: ClassVar[FeedbackKind] = "importance-weighted"
