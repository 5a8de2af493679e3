"""Tickets by number, abandoned tickets and renewed arms.

Also tests `selection/renewing.py` and `selection/lineup.py`.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from corral_mab import Exp3, Ucb

from corral_core.errors import CorralError
from corral_core.metas.corral import Corral
from corral_core.metas.uniform import Uniform
from corral_core.rows import Array
from corral_core.selection.options import PRESETS, Options

sys.path.insert(0, str(Path(__file__).parent))
from made import PROBLEM, digest, play, selection

PLAIN = PRESETS["practice"]


@pytest.mark.parametrize("preset", ["practice", "paper"])
def test_a_number_is_as_good_as_the_ticket(preset: str) -> None:
    one, other = (selection([Ucb(), Exp3()], Corral(eta=0.3), options=PRESETS[preset]) for _ in range(2))
    for number in range(40):
        _, ticket = one.ask()
        one.tell(ticket, np.ones(4))
        assert other.ask()[1].number == ticket.number == number
        other.tell(np.int64(number) if number % 2 else number, np.ones(4))
    assert (one.probabilities == other.probabilities).all()
    assert one.open_tickets == []


def test_open_tickets_are_listed_in_the_order_of_asking() -> None:
    chosen = selection([Ucb(), Exp3()], Corral(eta=0.3))
    asked = [chosen.ask()[1] for _ in range(6)]
    chosen.tell(3, np.ones(4))
    chosen.abandon(asked[1])
    assert [ticket.number for ticket in chosen.open_tickets] == [0, 2, 4, 5]
    assert chosen.open_tickets[1] is asked[2]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda told, gone: told, "this ticket was told already"),
        (lambda told, gone: gone, "this ticket was abandoned; its reward can no longer be told"),
        (lambda told, gone: told.number, "ticket 0 was told or abandoned already; each ticket is told once"),
        (lambda told, gone: gone.number, "ticket 1 was told or abandoned already"),
        (lambda told, gone: 3, "there is no ticket 3: 0 to 2 were issued so far"),
        (lambda told, gone: -1, "there is no ticket -1"),
        (lambda told, gone: True, "expected the ticket that ask returned, or its number, not bool True"),
        (lambda told, gone: attrs.evolve(told, told=False), "ticket 0 was told or abandoned already"),
    ],
)
@pytest.mark.parametrize("method", ["tell", "abandon"])
def test_wrong_numbers_are_named_and_change_nothing(wrong: Any, sentence: str, method: str) -> None:
    chosen = selection([Ucb(), Exp3()], Corral(eta=0.3))
    told, gone, _ = (chosen.ask()[1] for _ in range(3))
    chosen.tell(told, np.ones(4))
    chosen.abandon(gone.number)
    before = digest(chosen)
    with pytest.raises(CorralError, match=sentence):
        chosen.tell(wrong(told, gone), np.ones(4)) if method == "tell" else chosen.abandon(wrong(told, gone))
    assert digest(chosen) == before
    with pytest.raises(CorralError, match="none was issued yet"):
        selection([Ucb()], None).tell(0, np.ones(4))


def test_a_copy_of_a_ticket_is_told_once() -> None:
    chosen = selection([Ucb(), Exp3()], Corral(eta=0.3))
    _, ticket = chosen.ask()
    chosen.tell(copy.deepcopy(ticket), np.ones(4))
    assert ticket.told
    with pytest.raises(CorralError, match="ticket 0 was told or abandoned already"):
        chosen.tell(copy.copy(attrs.evolve(ticket, told=False)), np.ones(4))


@pytest.mark.parametrize("step", [0, 1])
def test_nobody_learns_from_an_abandoned_ticket(step: int) -> None:
    """Step 2 of a smoothed round counts for the gain; step 1 does not, so without it the meta still hears of it."""
    chosen = selection([Ucb(), Exp3()], Corral(eta=0.3))
    tickets = [chosen.ask()[1] for _ in range(2)]
    before = digest([block.player.state for block in chosen.blocks])
    chosen.abandon(tickets[step])
    chosen.tell(tickets[1 - step], np.zeros(4))
    learned = digest([block.player.state for block in chosen.blocks]) != before
    heard = bool((chosen.probabilities != 0.5).any())
    assert (learned, heard) == ((False, True) if step == 0 else (True, False))
    assert chosen.rounds_of.sum(axis=0).tolist() == [1] * 4, "the play was made"
    play(chosen, 20)


def test_after_the_last_base_raised_the_round_begins_anew() -> None:
    """Without this, the next call of `ask` went on with step 2 of a round that had no step 1."""

    @attrs.frozen
    class Once(Ucb):
        name = "once"
        calls: list = attrs.field(factory=list, eq=False, metadata={"hidden": True})

        def act(self, policy, observation, rng):
            self.calls.append(1)
            if len(self.calls) == 1:
                raise ZeroDivisionError("only now")
            return super().act(policy, observation, rng)

    chosen = selection([Once()], None, rows=1)
    with pytest.raises(ZeroDivisionError):
        chosen.ask()
    assert chosen.open_tickets == []
    assert chosen.ask()[1].step == 0


# --- renewing ---


@attrs.frozen
class Renewing(Ucb):
    name: ClassVar[str] = "renewing"
    renews: ClassVar[bool] = True

    def renew(self, state: Any, rows: Array, arms: Array) -> None:
        for array in (state.means.pulls, state.means.total, state.means.mean):
            array[rows] = np.where(arms, 0, array[rows])


RENEWABLE = attrs.evolve(PROBLEM, renewable=True)


def renewing(options: Options = PLAIN) -> Any:
    return selection([Renewing(), Renewing(scale=0.5)], Uniform(), options=options, problem=RENEWABLE)


@pytest.mark.parametrize(
    ("arms", "rows", "wanted"),
    [
        (1, None, [(row, 1) for row in range(4)]),
        ([0, 2], [3], [(3, 0), (3, 2)]),
        (np.array([False, True, True]), np.array([True, False, False, True]), [(0, 1), (0, 2), (3, 1), (3, 2)]),
        (np.eye(4, 3, dtype=bool), None, [(0, 0), (1, 1), (2, 2)]),
        ([], None, []),
    ],
)
def test_only_these_arms_are_forgotten(arms: Any, rows: Any, wanted: list[tuple[int, int]]) -> None:
    chosen = renewing()
    play(chosen, 60)
    before = chosen.blocks[0].player.state.means.pulls.reshape(2, 4, 3).copy()
    chosen.renew(arms, rows)
    forgotten = np.zeros((4, 3), dtype=bool)
    for place in wanted:
        forgotten[place] = True
    assert (chosen.blocks[0].player.state.means.pulls.reshape(2, 4, 3) == np.where(forgotten, 0, before)).all()


def test_open_tickets_on_renewed_arms_teach_no_base() -> None:
    chosen = renewing()
    actions, ticket = chosen.ask()
    chosen.renew(int(actions[0]), rows=[0])
    chosen.tell(ticket, np.ones(4))
    pulls = chosen.blocks[0].player.state.means.pulls.reshape(2, 4, 3).sum(axis=(0, 2))
    assert pulls.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("chosen", "arms", "rows", "sentence"),
    [
        (lambda: selection([Ucb()], None), 0, None, "the problem has no arms that can be renewed"),
        (lambda: renewing(PRESETS["paper"]), 0, None, "renew needs plain players"),
        (renewing, 3, None, "arms to renew must be from 0 to 2, not 3"),
        (renewing, 0.5, None, "arms to renew must be whole numbers or booleans, not float64"),
        (renewing, [True], None, "arms to renew must be numbers, or 3 booleans, not bool"),
        (renewing, [[1], [1, 2]], None, "arms to renew must be whole numbers or booleans, not list"),
        (renewing, 0, -1, "rows to renew must be from 0 to 3, not -1"),
    ],
)
def test_wrong_arms_are_named_and_change_nothing(chosen: Any, arms: Any, rows: Any, sentence: str) -> None:
    made = chosen()
    before = digest(made)
    with pytest.raises(CorralError, match=sentence):
        made.renew(arms, rows)
    assert digest(made) == before


def test_a_base_that_cannot_forget_is_refused() -> None:
    with pytest.raises(CorralError, match="cannot forget an arm"):
        selection([Exp3()], None, problem=RENEWABLE)
