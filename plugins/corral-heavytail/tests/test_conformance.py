"""Corral's own checks of everything that corral-heavytail provides."""

from __future__ import annotations

from collections.abc import Callable

from corral_core.testing import conformance


@conformance("corral-heavytail")
def test_conformance(check: Callable[[], None]) -> None:
    check()
