"""The allocator keeps what is freed, where it can be asked to."""

import ctypes
import resource

import numpy as np
import pytest

from corral_core.engines.machine import keep_freed_memory


def faults(rounds: int) -> int:
    """Page faults of making and freeing arrays of 8 MB, which are mapped and unmapped each time by default."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        np.ones(1_000_000).sum()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_what_is_freed_is_used_again() -> None:
    if not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("this C library has no mallopt")
    keep_freed_memory()
    faults(2)
    assert faults(20) < 2000  # an array has some 2,000 pages, and there are twenty


@pytest.mark.parametrize("problem", [OSError, AttributeError, TypeError])
def test_elsewhere_nothing_happens(problem: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise problem

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    keep_freed_memory()
