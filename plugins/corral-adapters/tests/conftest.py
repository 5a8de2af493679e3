"""What the tests of both libraries need."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture
def untouched() -> Iterator[None]:
    """The global generators are as they were before the test."""
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    yield
    after = random.getstate(), np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    assert all(np.array_equal(one, other) for one, other in zip(before[1], after[1], strict=True))


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the libraries can be imported."""

    def refuse(name: str, package: str | None = None) -> None:
        top = name.partition(".")[0]
        raise ModuleNotFoundError(f"No module named {top!r}", name=top)

    monkeypatch.setattr(importlib, "import_module", refuse)
