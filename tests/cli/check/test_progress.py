"""How far `corral check` is: one changing line on a terminal, and elsewhere not more than a line every ten seconds."""

from __future__ import annotations

import io
import re
import sys

import pytest

from corral_core.checks import CHECKS
from corral_core.checks.contests import MetaCase
from corral_core.cli.check.progress import BETWEEN_LINES, Meter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_is_not_flooded(capsys: pytest.CaptureFixture[str]) -> None:
    """A thousand checks of a twentieth of a second take fifty seconds: five lines."""
    now = [0.0]
    checks = CHECKS[MetaCase] * 2
    with Meter(50, clock=lambda: now[0]) as meter:
        for number in range(1000):
            meter.begin(f"ucb in world {number // 20}", number % 20, checks)
            now[0] += BETWEEN_LINES / 200
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0] == f"case 11 of 50, check 1 of {len(checks)}: ucb in world 10: {checks[0].name}"
    assert len(lines) == 4


def test_a_check_that_takes_a_moment_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Meter(1, clock=lambda: 0.0) as meter:
        for number in range(2):
            meter.begin("x in y", number, CHECKS[MetaCase])
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_the_check_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "90")
    with Meter(2) as meter:
        for case in ("ucb in plain arms", "u" * 100):
            meter.begin(case, 0, CHECKS[MetaCase])
            meter._status._live.refresh()  # type: ignore[union-attr]  # it redraws itself only now and then
    total = len(CHECKS[MetaCase])
    assert f"case 1 of 2, check 1 of {total}: ucb in plain arms: draws-have-rows-first" in terminal.getvalue()
    assert re.search(rf"case 2 of 2, check 1 of {total}: u+\.\.\.", terminal.getvalue())
    assert "u" * 80 not in terminal.getvalue()
