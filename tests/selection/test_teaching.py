"""Sharing plays: who learns what, what s counts, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from corral_mab import EpsilonGreedy, Exp3, Ucb

from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.metas.original_corral import OriginalCorral
from corral_core.metas.uniform import Uniform
from corral_core.protocols.parameters import fitted
from corral_core.protocols.problem import Feedback
from corral_core.rows import Array
from corral_core.selection.options import PRESETS, Options

sys.path.insert(0, str(Path(__file__).parent))
from made import PROBLEM, play, selection

SHARE = Options(player="plain", share=True)


@attrs.frozen
class Open(Ucb):
    """A UCB that learns from others."""

    name: ClassVar[str] = "open"
    learns_from_others: ClassVar[bool] = True


@attrs.frozen
class Watchful(Open):
    """Notes for every call of `learn` what it was taught."""

    name: ClassVar[str] = "watchful"
    calls: list = attrs.field(factory=list, eq=False, metadata={"hidden": True})

    def learn(self, state: Any, rows: Array, feedback: Feedback, rng: Any) -> None:
        self.calls.append((rows.tolist(), feedback.action.tolist(), feedback.reward.tolist()))
        super().learn(state, rows, feedback, rng)


def test_no_preset_shares() -> None:
    assert not any(options.share for options in PRESETS.values())


def test_everybody_who_can_learns_every_play() -> None:
    """The statistics of both sharing bases are those of all plays; the third has its own plays alone."""
    chosen = selection([Open(), Open(scale=0.3), Exp3()], Corral(eta=0.2), 5, SHARE)
    counts, luck = np.zeros((5, 3)), np.random.default_rng(3)
    for _ in range(200):
        actions, ticket = chosen.ask()
        counts[np.arange(5), actions] += 1
        chosen.tell(ticket, luck.random(5))
    block, exp3 = chosen.blocks
    assert (block.player.state.means.pulls.reshape(2, 5, 3) == counts).all()
    assert exp3.player.state.played.tolist() == chosen.rounds_of[2].tolist()
    assert (block.player.plays.reshape(2, 5) == chosen.rounds_of[:2]).all(), "plays are own plays"
    assert (block.player.learned_from(np.arange(10)) == 200).all(), "s counts all that was learned"
    assert (exp3.player.learned_from(np.arange(5)) == chosen.rounds_of[2]).all()


def test_kin_learn_in_one_call() -> None:
    base = Watchful()
    chosen = selection([base, attrs.evolve(base, scale=0.5)], Uniform(), 4, SHARE)
    assert len(chosen.blocks) == 1
    calls = chosen.blocks[0].player.base.calls
    before = len(calls)
    actions, ticket = chosen.ask()
    chosen.tell(ticket, np.arange(4.0))
    assert calls[before:] == [(list(range(8)), actions.tolist() * 2, [0.0, 1.0, 2.0, 3.0] * 2)]


def test_actions_beyond_a_base_are_skipped() -> None:
    """Two of five arms: other arms teach it nothing, and its neighbours' rows stay as they are."""

    @attrs.frozen
    class Short(Open):
        name = "short"
        arms: int = fitted(help="number of arms")

    problem = attrs.evolve(PROBLEM, arms=5)
    chosen = selection([Short(arms=2), Open()], Uniform(), 6, SHARE, problem=problem)
    counts = np.zeros((6, 5))
    for _ in range(150):
        actions, ticket = chosen.ask()
        counts[np.arange(6), actions] += 1
        chosen.tell(ticket, np.ones(6))
    short, whole = chosen.blocks
    assert (counts[:, 2:] > 0).all()
    assert (short.player.state.means.pulls == counts[:, :2]).all()
    assert (whole.player.state.means.pulls == counts).all()
    assert (short.player.learned_from(np.arange(6)) == counts[:, :2].sum(axis=1)).all()


def test_the_bias_divides_by_all_that_was_learned() -> None:
    """b = U(s)/s of the chosen base, with s from its own plays and those of others."""
    gains: list[Array] = []

    @attrs.frozen
    class Spy(Uniform):
        def update(self, state, chosen, probability, gain, active):
            gains.append(gain)

    options = attrs.evolve(SHARE, bias=1.0)
    chosen = selection([Open(), Open(scale=2.0)], Spy(), 1, options)
    for number in range(1, 60):
        _, ticket = chosen.ask()
        assert ticket.round.plays.tolist() == [number]
        chosen.tell(ticket, 0.5)
        bound = chosen.bases[int(ticket.chosen[0])].stated_bound(PROBLEM.delta)
        assert gains[-1][0] == pytest.approx(0.5 - min(float(bound(np.float64(number))) / number, 1.0))


def test_late_and_abandoned_plays_are_shared_when_told() -> None:
    chosen = selection([Open(), Open(scale=0.3)], Uniform(), 2, SHARE)
    asked = [chosen.ask()[1] for _ in range(10)]
    chosen.abandon(asked[4])
    for ticket in reversed([*asked[:4], *asked[5:]]):
        chosen.tell(ticket, np.ones(2))
    assert (chosen.blocks[0].player.state.means.pulls.sum(axis=1) == 9).all()


def test_a_base_beside_one_that_shares_learns_its_own_plays_alone() -> None:
    chosen = selection([Open(), EpsilonGreedy(c=1)], Uniform(), 3, SHARE)
    play(chosen, 90)
    for block in chosen.blocks:
        assert block.player.state.means.pulls.sum() == (
            270 if block.player.base.learns_from_others else chosen.rounds_of[1].sum()
        )


@pytest.mark.parametrize(
    ("meta", "options", "sentence"),
    [
        (
            Uniform(),
            {"player": "smooth"},
            "share needs plain players, which learn from every play: set player to plain",
        ),
        (Uniform(), {"player": "boosted"}, "share needs plain players.*not boosted"),
        (
            OriginalCorral(eta=0.1),
            {},
            "share needs raw feedback, but original-corral takes importance-weighted feedback",
        ),
    ],
)
def test_what_cannot_share_is_named(meta: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        selection([Open(), Ucb()], meta, options=attrs.evolve(SHARE, **options))
