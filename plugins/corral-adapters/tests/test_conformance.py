"""Corral's conformance checks of everything in corral-adapters."""

from __future__ import annotations

from collections.abc import Callable

from corral_core.testing import conformance


@conformance("corral-adapters")
def test_conformance(check: Callable[[], None]) -> None:
    check()
