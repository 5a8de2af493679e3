"""Corral's own checks of everything that corral-glm provides."""

from __future__ import annotations

from collections.abc import Callable

from corral_core.testing import conformance


@conformance("corral-glm")
def test_conformance(check: Callable[[], None]) -> None:
    check()
