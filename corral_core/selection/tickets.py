"""The tickets of a selection: each has a number, in the order of asking, and is open until it is told or abandoned."""

from __future__ import annotations

from typing import Any

import numpy as np

from corral_core.errors import CorralError
from corral_core.selection.round import Ticket
from corral_core.selection.validation import kind


class Owner:
    """Stands for a selection in its tickets; a copy of a ticket has the same owner."""

    def __copy__(self) -> Owner:
        return self

    def __deepcopy__(self, memo: Any) -> Owner:
        return self


class Tickets:
    """The open tickets of a selection by number."""

    def __init__(self) -> None:
        self.owner = Owner()
        self.issued = 0  # the number of the next ticket
        self._open: dict[int, Ticket] = {}

    def issue(self, ticket: Ticket) -> None:
        """Give a ticket its number; it is open now."""
        ticket.number = self.issued
        self._open[self.issued] = ticket
        self.issued += 1

    def close(self, ticket: Ticket) -> None:
        """Take a ticket off the list: its reward has come, or never will."""
        ticket.told = True
        del self._open[ticket.number]

    def find(self, asked: Ticket | int) -> Ticket:
        """The open ticket of this number, or this ticket (or a copy of it); otherwise one sentence."""
        number = asked.number if isinstance(asked, Ticket) else asked
        if number.__class__ is int and self._open.get(number) is asked:  # the usual case
            return asked
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise CorralError(f"expected the ticket that ask returned, or its number, not {kind(asked)}")
        if isinstance(asked, Ticket):
            if asked.owner is not self.owner:
                raise CorralError("this ticket belongs to another selection; tell it to the one that issued it")
            if asked.abandoned:
                raise CorralError("this ticket was abandoned; its reward can no longer be told")
            if asked.told:
                raise CorralError("this ticket was told already; call `tell` once for each call of `ask`")
        found = self._open.get(int(number))
        if found is not None:
            return found
        if 0 <= number < self.issued:
            raise CorralError(f"ticket {number} was told or abandoned already; each ticket is told once")
        issued = f"0 to {self.issued - 1} were issued so far" if self.issued else "none was issued yet"
        raise CorralError(f"there is no ticket {number}: {issued}")

    def listed(self) -> list[Ticket]:
        """The open tickets, in the order of asking."""
        return list(self._open.values())

    def restore(self, issued: int, tickets: list[Ticket]) -> None:
        """Continue with these open tickets of a selection that was saved."""
        self.issued = issued
        self._open = {ticket.number: ticket for ticket in tickets}
