"""Which checks run on which cases."""

from __future__ import annotations

import pytest

from corral_core.checks import checks_of
from corral_core.checks.names import subjects_of
from corral_core.checks.plan import LISTED, check_selection, jobs_of
from corral_core.errors import CorralError

(UNIFORM,) = subjects_of("uniform")


def test_all_checks_of_all_cases_unless_some_are_asked_for() -> None:
    jobs = jobs_of("uniform", 0, UNIFORM)
    assert [job.number for job in jobs] == [0, 1]
    checks = [[check.name for check in checks_of(case) if check.applies_to(case)] for case in UNIFORM.cases]
    assert [[check.name for check in job.checks] for job in jobs] == checks
    (job,) = jobs_of("uniform", 0, UNIFORM, only=["single-row"], within="Without")
    assert (job.number, [check.name for check in job.checks]) == (1, ["single-row"])
    assert job.case is UNIFORM.cases[1]


def test_a_selection_that_leaves_something_is_fine() -> None:
    jobs = jobs_of("uniform", 0, UNIFORM, ["single-row"], "with")
    check_selection([UNIFORM], jobs, ["single-row"], "with")


def test_a_selection_that_leaves_nothing_is_an_error() -> None:
    with pytest.raises(CorralError, match="there is no check 'single-roe'; did you mean single-row"):
        check_selection([UNIFORM], [], ["single-roe"], "")
    with pytest.raises(CorralError, match="no-rows: no such check applies to what is checked here"):
        check_selection([UNIFORM], [], ["no-rows"], "")
    many = [UNIFORM] * LISTED
    with pytest.raises(CorralError, match=rf"no case contains 'x{{80}}'; there are uniform over .* and {LISTED} more$"):
        check_selection(many, [], [], "x" * 1_000_000)
