"""The meta-algorithms of the core keep the rules. (Each plugin asks the same of what it brings.)"""

from __future__ import annotations

from collections.abc import Callable

from corral_core.testing import conformance


@conformance("core")
def test_conformance(check: Callable[[], None]) -> None:
    check()
