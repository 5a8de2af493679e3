"""Exceptions in one line, and where they were raised."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from corral_core.errors import CorralError, Interrupted, place, reason, warn_plainly


class SilentError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot even say what is wrong")


def test_an_exception_in_one_line() -> None:
    assert reason(ValueError("two\nlines")) == "ValueError: two lines"
    assert reason(KeyError()) == "KeyError"
    assert reason(SilentError()) == "SilentError"
    assert issubclass(Interrupted, CorralError)


def test_the_place_is_the_last_line_outside_libraries() -> None:
    with pytest.raises(ValueError) as caught:
        np.zeros(2).reshape(3)
    assert place(caught.value).startswith(" (test_errors.py, line ")
    assert place(ValueError("never raised")) == ""


def test_warnings_are_one_line() -> None:
    before = warnings.formatwarning
    try:
        warn_plainly()
        assert warnings.formatwarning("a\nb", UserWarning, "file.py", 3) == "Warning: a b\n"
    finally:
        warnings.formatwarning = before
