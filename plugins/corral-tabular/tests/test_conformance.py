"""Corral's conformance checks of everything in corral-tabular."""

from __future__ import annotations

from collections.abc import Callable

from corral_core.testing import conformance


@conformance("corral-tabular")
def test_conformance(check: Callable[[], None]) -> None:
    check()
