"""The pytest door to the conformance checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corral_core.checks import CHECKS, Broken, ConformanceWarning
from corral_core.checks.contests import MetaCase
from corral_core.errors import CorralError
from corral_core.kernels import twins
from corral_core.metas.uniform import Uniform
from corral_core.protocols.meta import Meta
from corral_core.testing import conformance, same_bits

sys.path.insert(0, str(Path(__file__).parent / "checks"))
import broken_metas
import broken_policies


def asked(meta: Meta) -> list[str]:
    """The checks that apply to a meta."""
    return [check.name for check in CHECKS[MetaCase] if check.applies_to(MetaCase(meta, True))]


def test_one_test_for_every_check_of_every_case() -> None:
    mark = conformance(Uniform).mark
    assert mark.args[0] == "check"
    names = asked(Uniform())
    cases = ["uniform over bases with bounds", "uniform over bases without bounds"]
    assert [test.id for test in mark.args[1]] == [f"{case}: {name}" for case in cases for name in names]
    for test in mark.args[1]:
        test.values[0]()


def test_a_failure_says_what_was_seen() -> None:
    tests = {test.id: test.values[0] for test in conformance(broken_metas.SaysWhatItIs).mark.args[1]}
    with pytest.raises(Broken, match=r'says-what-it-is: \S+: feedback must be "raw" or "importance-weighted"'):
        tests["sound over bases with bounds: says-what-it-is"]()


def test_after_a_first_failure_the_rest_is_skipped() -> None:
    tests = {test.id: test.values[0] for test in conformance(broken_metas.Shapes).mark.args[1]}
    with pytest.raises(Broken, match="shapes: "):
        tests["sound over bases with bounds: shapes"]()
    with pytest.raises(pytest.skip.Exception, match="because shapes failed"):
        tests["sound over bases with bounds: single-base"]()


def test_a_warning_warns() -> None:
    mark = conformance(broken_policies.PolicyIsNoLargerThanTheState).mark
    tests = {test.id: test.values[0] for test in mark.args[1]}
    with pytest.warns(ConformanceWarning, match="a policy takes 816 bytes per row, the state 72"):
        tests["sound in plain arms: policy-is-no-larger-than-the-state"]()


def test_wrong_names_are_refused() -> None:
    with pytest.raises(CorralError, match="there is no check 'shape'"):
        conformance(Uniform, expected={"shape": "why"})
    with pytest.raises(CorralError, match="there is nothing called nobody"):
        conformance("nobody")


FIVE_LINES = """
import sys; sys.path.insert(0, {folder!r})
from broken_metas import SaysWhatItIs
from corral_core.testing import conformance

@conformance(SaysWhatItIs, expected={expected})
def test_conformance(check):
    check()
"""


PASS = 2 * (len(asked(broken_metas.SaysWhatItIs())) - 1)  # in two cases all but one


@pytest.mark.parametrize(
    ("expected", "summary"),
    [({}, f"2 failed, {PASS} passed"), ({"says-what-it-is": "so it is"}, f"{PASS} passed, 2 xfailed")],
    ids=["unexpected", "expected"],
)
def test_in_a_suite_of_ones_own(expected: dict[str, str], summary: str, tmp_path: Path) -> None:
    test = tmp_path / "test_mine.py"
    folder = str(Path(__file__).parent / "checks")
    test.write_text(FIVE_LINES.format(folder=folder, expected=expected), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(test)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert summary in ran.stdout
    assert ran.returncode == (0 if expected else 1)


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of a test are forgotten after it, and are not compiled."""
    monkeypatch.setattr("corral_core.testing.is_installed", lambda: False)
    monkeypatch.setattr(twins, "_kernels", [])
    monkeypatch.setattr(twins, "_bound", "numpy")


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    ("loops", "said"),
    [
        (lambda x: (x + 1, 2), "result 0 differs in 3 of 3 numbers; [0] is np.float64(1.0), not np.float64(0.0)"),
        (lambda x: (x * [-1, 1, 1], 2), "result 0 differs in 1 of 3 numbers; [0] is np.float64(-0.0)"),
        (lambda x: (x, 3), "result 1 is 3, not 2"),
        (lambda x: (x.astype(np.float32), 2), "result 0 is float32 of (3,), not float64 of (3,)"),
        (lambda x: (x.copy(),), "result is "),
    ],
)
def test_same_bits_says_where_twins_differ(loops: Any, said: str) -> None:
    pair = twins.kernel(lambda x: (x.copy(), 2))(loops)
    with pytest.raises(AssertionError) as raised:
        same_bits(pair, np.array([0.0, 1.0, 2.0]))
    assert f"the loops give other bits than the arrays: {said}" in str(raised.value)


@pytest.mark.usefixtures("uncompiled")
def test_same_bits_says_what_a_twin_leaves_in_its_arguments() -> None:
    def changes(x: Any) -> None:
        x[1, 0] = 5.0

    with pytest.raises(AssertionError, match=r"argument 0 differs in 1 of 4 numbers; \[1, 0\] is np.float64\(5.0\)"):
        same_bits(twins.kernel(lambda x: None)(changes), np.zeros((2, 2)))
