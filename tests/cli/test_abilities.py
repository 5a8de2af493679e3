"""The abilities of bases, as the catalogue shows them."""

from __future__ import annotations

from typing import Any

import pytest
from corral_adapters import River
from corral_linucb import DisjointLinUcb, LinUcb
from corral_mab import Exp3, Ucb

from corral_core.cli.abilities import abilities


def having(cls: Any) -> dict[str, str]:
    return {name: has for name, has in abilities(cls).items() if has != "no"}


def test_each_column_says_what_the_base_declares_and_where_it_fits() -> None:
    assert having(Ucb) == dict.fromkeys(("masks", "sharing", "saving", "renewing"), "yes")
    assert having(Exp3) == dict.fromkeys(("masks", "saving"), "yes")
    assert having(LinUcb) == dict.fromkeys(("masks", "contexts", "sharing", "saving"), "yes")
    assert set(having(DisjointLinUcb)) == {"masks", "contexts", "shared contexts", "sharing", "saving", "renewing"}


def test_what_depends_on_parameters_is_some() -> None:
    assert having(River) == {
        "masks": "yes",
        "shared contexts": "some",
        "sharing": "some",
        "saving": "yes",
        "renewing": "some",
    }


def test_nothing_is_known_of_a_base_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ucb, "examples", classmethod(lambda cls: [cls(delta="?")]))
    assert abilities(Ucb) == {}
