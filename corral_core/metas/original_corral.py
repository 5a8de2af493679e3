"""The original CORRAL: every base learns every round, from importance-weighted rewards.

Each base proposes an action on the same observation; that of the drawn base is played. The drawn base learns
reward/pbar for its action, every other base learns 0 for its own. One play per round, no smoothing. Bases must be
stable under such rewards (Definition 3 of the source), which UCB is not.

Source: Agarwal, Luo, Neyshabur, Schapire, "Corralling a band of bandit algorithms", 2017, Algorithm 1.
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from corral_core.metas.corral import Corral
from corral_core.protocols.meta import FeedbackKind, Players


@attrs.frozen
class OriginalCorral(Corral):
    """CORRAL as first published: every base learns importance-weighted rewards every round."""

    name: ClassVar[str] = "original-corral"
    player: ClassVar[Players] = "plain"
    feedback: ClassVar[FeedbackKind] = "importance-weighted"
