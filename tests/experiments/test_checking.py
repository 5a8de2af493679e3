"""Checks of single values, which files of users and folders of runs share."""

import attrs
import pytest

from corral_core.errors import CorralError
from corral_core.experiments.checking import check_name, check_number, check_sizes, check_source, check_text
from corral_core.experiments.point import parse_point
from corral_core.protocols.problem import Problem

SOURCE = {
    "name": "small",
    "horizon": 30,
    "replicates": 4,
    "environment": {"name": "bernoulli-arms", "means": [0.5, 0.4]},
    "bases": [{"name": "ucb"}],
}


@pytest.mark.parametrize(("name", "value"), [("horizon", 2**31 - 1), ("replicates", 10**6), ("seed", 0)])
def test_numbers_at_the_ends_of_their_ranges(name: str, value: int) -> None:
    assert check_number(value, name, "here") == value


def test_names_and_texts() -> None:
    check_name("épsilon-greedy(c=1, d=2) ≤ 3", "here")
    check_text("two\nlines", "here")
    for sign in ("\r", "\x1b", "\x00", "\x9b", "\ud800"):
        with pytest.raises(CorralError, match="has a character that cannot be printed"):
            check_name(f"a{sign}", "here")
    with pytest.raises(CorralError, match="has a character that cannot be printed"):
        check_text("a\x1b[2J", "here")
    with pytest.raises(CorralError, match="has a character that cannot be printed"):
        parse_point({**SOURCE, "name": "a\x1b[2J"})


def test_a_resolved_source_passes() -> None:
    check_source(parse_point(SOURCE).source, "here")
    with pytest.raises(CorralError, match=r"here: source has no 'horizn'"):
        check_source({**SOURCE, "horizn": 3}, "here")


def test_sizes_are_judged_together() -> None:
    problem = Problem("somewhere", arms=2**20, dimension=2**7)
    check_sizes(problem, "here")
    with pytest.raises(
        CorralError, match=r"here: somewhere is too large for memory \(arms = 1,048,576, dimension = 256"
    ):
        check_sizes(attrs.evolve(problem, dimension=2**8), "here")
    check_sizes(attrs.evolve(problem, dimension=2**8, shared=True), "here")


def test_a_chunk_whose_curves_are_too_large_is_refused() -> None:
    with pytest.raises(CorralError, match="take 870,000,000 bytes"):
        parse_point({**SOURCE, "horizon": 30, "replicates": 10**6, "chunk_size": 10**6})
