"""Tests of what commands print do not depend on whether kernels were compiled before: nothing is said of that.

`kernels/test_compiling.py` tests it, in processes of its own.
"""

import pytest


@pytest.fixture(autouse=True)
def compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral_core.cli.progress.watcher.announcement", lambda: "")
