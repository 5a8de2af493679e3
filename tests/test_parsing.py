"""From tables to attrs classes: what fits is converted, the rest is one sentence."""

from typing import Any, Literal

import attrs
import pytest
from attrs.validators import gt

from corral_core.errors import CorralError
from corral_core.parsing import build, convert, parameters, shown
from corral_core.protocols.parameters import parameter
from corral_core.suggestions import suggestion


@attrs.frozen
class Fence:
    length: float = parameter(help="metres", validator=gt(0))
    posts: int = parameter(2, help="how many")
    wood: Literal["oak", "ash"] = parameter("oak", help="of what")
    gaps: tuple[float, ...] | None = parameter(None, help="between posts")
    rate: float | str = parameter("auto", help="a number, or auto")
    secret: int = attrs.field(default=0, metadata={"hidden": True})


def refusal(values: dict[str, Any]) -> str:
    with pytest.raises(CorralError) as caught:
        build(Fence, values, "fence")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_table_becomes_an_object() -> None:
    made = build(Fence, {"length": 3, "gaps": [1, 2.5], "rate": 1}, "fence")
    assert made == Fence(3.0, gaps=(1.0, 2.5), rate=1.0)
    assert isinstance(made.length, float)
    assert build(Fence, {"length": 1, "rate": "auto"}, "fence").rate == "auto"


def test_a_hidden_field_cannot_be_set() -> None:
    assert [field.name for field in parameters(Fence)] == ["length", "posts", "wood", "gaps", "rate"]
    assert "has no 'secret'" in refusal({"length": 1, "secret": 1})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "fence needs length: metres"),
        ({"length": "3"}, "fence: length must be a number, not '3'"),
        ({"length": True}, "fence: length must be a number, not True"),
        ({"length": float("nan")}, "fence: length must be finite, not nan"),
        ({"length": 10**400}, "fence: length must be finite, not 1000"),
        ({"length": -1}, "fence: length must be > 0: -1.0"),
        ({"length": 1, "posts": 2.0}, "fence: posts must be a whole number, not 2.0"),
        ({"length": 1, "posts": 2**63}, "fence: posts must be less than 2^63"),
        ({"length": 1, "wood": "elm"}, "fence: wood must be oak or ash, not 'elm'"),
        ({"length": 1, "gaps": 3}, "fence: gaps must be a list, not 3"),
        ({"length": 1, "gaps": [1, "x"]}, "fence: gaps[1] must be a number, not 'x'"),
        ({"length": 1, "rate": [1]}, "fence: rate must be a number or a string, not [1]"),
        ({"length": 1, "lenght": 1}, "fence has no 'lenght'; did you mean length?"),
        ({"length": 1, "zzz": 1}, "fence has no 'zzz'; it takes length, posts, wood, gaps, rate"),
    ],
)
def test_what_does_not_fit_is_said(values: dict[str, Any], said: str) -> None:
    assert refusal(values).startswith(said)


def test_a_number_too_long_to_print_is_not_printed() -> None:
    assert shown(1 << 20_000) == "a number with thousands of digits"
    assert shown([1 << 20_000]) == "a number with thousands of digits"
    assert shown("x" * 100) == "'" + "x" * 56 + "..."


def test_whatever_may_stand_there_is_left_alone() -> None:
    assert convert([1], Any, "here") == [1]


def test_suggestions() -> None:
    assert suggestion("epsilon", ["epsilon-greedy", "ucb"]) == "; did you mean epsilon-greedy?"
    assert suggestion("epsilon", []) == "; it takes none"
