"""Corral's own checks of everything that corral-glm provides."""

from __future__ import annotations

from collections.abc import Callable

from corral_core.testing import conformance


@conformance(
    "corral-glm",
    expected={
        "regret-grows-as-stated in ucb-glm(link=square": "the square of a mean reward is not a link of the small worlds"
    },
)
def test_conformance(check: Callable[[], None]) -> None:
    check()
