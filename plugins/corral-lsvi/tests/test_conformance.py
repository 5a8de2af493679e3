"""Corral's conformance checks of everything in corral-lsvi."""

from __future__ import annotations

from collections.abc import Callable

from corral_core.testing import conformance


@conformance(
    "corral-lsvi", expected={"regret-grows-as-stated in lsvi-ucb": "the small MDP is not linear in its two features"}
)
def test_conformance(check: Callable[[], None]) -> None:
    check()
