"""The meta-algorithms of the core pass all checks. (Each plugin checks what it provides.)"""

from __future__ import annotations

from collections.abc import Callable

from corral_core.testing import conformance


@conformance("core")
def test_conformance(check: Callable[[], None]) -> None:
    check()
