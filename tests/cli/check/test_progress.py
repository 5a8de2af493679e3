"""How far `corral check` is: one changing line on a terminal, and elsewhere not more than a line every ten seconds."""

from __future__ import annotations

import io
import sys

import pytest

from corral_core.cli.check.progress import BETWEEN_LINES, Meter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_is_not_flooded(capsys: pytest.CaptureFixture[str]) -> None:
    """A thousand checks of a twentieth of a second take fifty seconds: five lines."""
    now = [0.0]
    with Meter(1000, clock=lambda: now[0]) as meter:
        for number in range(1000):
            meter.begin(f"case {number // 100}", "shapes")
            now[0] += BETWEEN_LINES / 200
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0] == "201 of 1000 checks: case 2: shapes"
    assert len(lines) == 4


def test_a_check_that_takes_a_moment_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Meter(2, clock=lambda: 0.0) as meter:
        meter.begin("x in y", "shapes")
        meter.begin("x in y", "single-row")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_the_check_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    with Meter(25) as meter:
        for case in ("ucb in plain arms", "u" * 100):
            meter.begin(case, "shapes")
            meter._status._live.refresh()  # type: ignore[union-attr]  # it redraws itself only now and then
    assert "1 of 25 checks: ucb in plain arms: shapes" in terminal.getvalue()
    assert "2 of 25 checks: " + "u" * 37 + "..." in terminal.getvalue()
    assert "u" * 60 not in terminal.getvalue()
