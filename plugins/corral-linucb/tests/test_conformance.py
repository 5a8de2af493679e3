"""Corral's own checks of everything that corral-linucb provides."""

from __future__ import annotations

from collections.abc import Callable

from corral_core.testing import conformance

LINEAR = "rewards of the small worlds are linear in the features, not quadratic"


@conformance(
    "corral-linucb",
    expected={
        "regret-grows-as-stated in quadratic-linucb in changing": LINEAR,
        "regret-grows-as-stated in quadratic-linucb(switching=0.5) in changing": LINEAR,
    },
)
def test_conformance(check: Callable[[], None]) -> None:
    check()
