"""What bases, metas, problems and options cannot go together.

Also tests `selection/options.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import attrs
import pytest
from corral_mab import EpsilonGreedy, Exp3, Ucb

from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.metas.original_corral import OriginalCorral
from corral_core.metas.uniform import Uniform
from corral_core.selection.options import PRESETS, Options

sys.path.insert(0, str(Path(__file__).parent))
from made import PROBLEM, play, selection


@pytest.mark.parametrize(
    ("bases", "meta", "options", "sentence"),
    [
        ([], Uniform(), None, "at least one base"),
        ([Ucb(), Exp3()], None, None, "need a meta-algorithm"),
        ([Ucb(), Exp3()], Corral(), Options(player="plain", base_test=True), "two steps of a smoothed base"),
    ],
)
def test_what_cannot_go_together_is_refused(bases, meta, options, sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        selection(bases, meta, options=options)


def test_bounds_are_asked_for_where_they_are_needed() -> None:
    @attrs.frozen
    class Unbounded(Ucb):
        name = "unbounded"

        def bound(self, delta):
            return None

    selection([Unbounded(), Exp3()], Corral())
    with pytest.raises(CorralError, match="unbounded has no regret bound"):
        selection([Unbounded(), Exp3()], Corral(), options=PRESETS["theory"])


def test_rewards_need_a_known_range() -> None:
    with pytest.raises(CorralError, match="no known range"):
        selection([Ucb(low=0.0, high=1.0)], Uniform(), problem=attrs.evolve(PROBLEM, low=None, high=None))


def test_what_judges_the_played_base_is_off_where_every_base_is_taught() -> None:
    """Original CORRAL has neither bias nor test, whatever the preset; restarts are its source's."""
    chosen = selection([Exp3(), EpsilonGreedy(c=3)], OriginalCorral(eta=0.1), options=PRESETS["theory"])
    assert chosen.options == attrs.evolve(PRESETS["practice"], restart=True)
    play(chosen, 20)
