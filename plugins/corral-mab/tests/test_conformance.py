"""Corral's own checks of everything that corral-mab provides."""

from __future__ import annotations

from collections.abc import Callable

from corral_core.testing import conformance


@conformance(
    "corral-mab",
    expected={
        "regret-grows-as-stated in rate in": "rate plays two fixed arms, which are right only in worlds made for it"
    },
)
def test_conformance(check: Callable[[], None]) -> None:
    check()
