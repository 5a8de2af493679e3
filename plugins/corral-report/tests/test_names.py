"""Names and numbers in pictures: broken where it can be read, and never within a number."""

from __future__ import annotations

import pytest
from corral_report.figures.style import DASHES, thousands, with_number, wrapped_name

LONG = "a-rather-long-name(with_some=1, parameters=22) that goes on until it has eighty-5 signs"


def test_long_names_stay_distinct() -> None:
    first, second = wrapped_name(LONG * 3), wrapped_name(LONG * 3 + "!")
    assert first != second and "…" in first
    assert all(len(line) <= 34 for line in (first + "\n" + second).split("\n")) and first.count("\n") <= 4
    assert wrapped_name("epsilon-greedy(c=10)") == "epsilon-greedy(c=10)"
    assert (
        wrapped_name("lower-bound-unknown-rate-base(exponent=0.5)", 28)
        == "lower-bound-unknown-rate-\nbase(exponent=0.5)"
    )
    assert "".join(wrapped_name("x" * 50).split("\n")) == "x" * 50
    assert "".join(wrapped_name("=" * 50).split("\n")) == "=" * 50


@pytest.mark.parametrize("wide", [14, 20, 34])
def test_narrow_lines_are_more_lines_and_cut_nothing(wide: int) -> None:
    name = wrapped_name(LONG, wide)
    assert max(map(len, name.split("\n"))) <= wide
    assert name.replace("\n", "").replace(" ", "") == LONG.replace(" ", "")
    assert wrapped_name("linucb(epsilon=0.03125)", 14) == "linucb(\nepsilon=\n0.03125)"


@pytest.mark.parametrize("length", range(1, 70))
def test_numbers_are_not_broken(length: int) -> None:
    lines = with_number("x" * length, "1,137").split("\n")
    assert "".join(lines).replace(" ", "") == "x" * length + ":1,137"
    assert lines[-1].endswith("1,137") and max(map(len, lines)) <= 35  # a colon may stand out
    assert with_number("misspecified-linucb(epsilon=1)", "1,137") == "misspecified-linucb(epsilon=1):\n1,137"


def test_no_curve_is_dotted_like_theory() -> None:
    assert all(dashes == "-" or max(dashes[1][::2]) >= 2 * dashes[1][1] for dashes in DASHES)


def test_numbers_on_axes() -> None:
    assert [thousands(each) for each in (0, 0.25, 1500, 2_500_000, 3e9, -20)] == [
        "0",
        "0.25",
        "1,500",
        "2,500,000",
        "3,000M",
        "-20",
    ]
