"""Corral's conformance checks of everything in corral-nonparam."""

from __future__ import annotations

from collections.abc import Callable

from corral_core.testing import conformance


@conformance(
    "corral-nonparam",
    expected={"regret-grows-as-stated in dimension=1": "features of the small worlds have two dimensions, not one"},
)
def test_conformance(check: Callable[[], None]) -> None:
    check()
