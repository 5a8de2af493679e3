"""What metas state about themselves, and one sentence where it cannot be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from corral_mab import Ucb

from corral_core.bounds import Term
from corral_core.errors import CorralError
from corral_core.metas.uniform import Uniform
from corral_core.protocols.meta import Condition, Guarantee, MetaProblem
from corral_core.protocols.problem import Problem
from corral_core.registry.classes import check_class
from corral_core.selection.selection import Selection
from corral_core.selection.stated import check_declared, stated_choices, stated_guarantee, stated_order

TOLD = MetaProblem(bases=2, horizon=100, delta=0.01)
PROBLEM = Problem(arms=2, noise=0.5, low=0.0, high=1.0, delta=0.1)


def meta(**members: Any) -> Uniform:
    return attrs.frozen(type("Odd", (Uniform,), {"name": "odd", **members}))()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("needs_bounds", "all", 'odd: needs_bounds must be "none" or "one" or "every", not \'all\''),
        ("player", "smoth", 'odd: player must be "any" or "plain" or "smooth" or "boosted", not \'smoth\''),
        ("feedback", "rw", 'odd: feedback must be "raw" or "importance-weighted", not \'rw\''),
        ("restarts", True, 'odd: restarts must be "optional" or "required", not True'),
        ("needs_horizon", "no", "odd: needs_horizon must be True or False, not 'no'"),
        ("per_step", 1, "odd: per_step must be True or False, not 1"),
        ("clip", (1.0, 0.0), "odd: clip must be two numbers, the lower one first, like (0.0, 1.0), not (1.0, 0.0)"),
        ("clip", (0.0, np.nan), "odd: clip must be two numbers, the lower one first, like (0.0, 1.0), not (0.0, nan)"),
        ("clip", "auto", "odd: clip must be two numbers, the lower one first, like (0.0, 1.0), not 'auto'"),
    ],
)
def test_what_is_declared_wrongly(name: str, value: Any, sentence: str) -> None:
    odd = meta(**{name: value})
    with pytest.raises(CorralError) as refused:
        Selection([Ucb().resolve(PROBLEM)], odd, PROBLEM, rounds=10, rng=1)
    assert str(refused.value) == sentence
    with pytest.raises(CorralError, match=r"^Odd: "):
        check_class(type(odd), "meta")


def test_what_is_declared_rightly() -> None:
    check_declared(Uniform(), "uniform")
    check_declared(meta(clip=(-1, 2), needs_bounds="every"), "odd")


def guaranteeing(**fields: Any) -> Uniform:
    whole = {"source": "a theorem", "formula": "sqrt(T)", "order": lambda term, rounds: rounds**0.5, **fields}
    return meta(guarantee=lambda self, told: Guarantee(**whole))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"source": None}, "the guarantee of odd needs a source, not None"),
        ({"formula": " "}, "the guarantee of odd needs a formula, not ' '"),
        ({"row": 3}, "the guarantee of odd: row must be text, not int 3"),
        ({"requires": ["player"]}, "requires must be a dict of options, like {\"bias\": 1.0}, not list ['player']"),
        ({"requires": {"playr": "plain"}}, "what the guarantee of odd requires has no 'playr'; did you mean player?"),
        ({"conditions": Condition("x", True)}, "the guarantee of odd: conditions must be a tuple of Conditions"),
        (
            {"conditions": ("x",)},
            "of odd has the condition 'x'; use Condition(text, True, False or None)",
        ),
        ({"conditions": (Condition("x", "yes"),)}, "the guarantee of odd has the condition Condition(text='x'"),  # type: ignore[arg-type]
    ],
)
def test_a_guarantee_that_is_none(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CorralError) as refused:
        stated_guarantee(guaranteeing(**fields), TOLD)
    assert sentence in str(refused.value)


def test_a_guarantee_that_is_another_thing_or_raises() -> None:
    with pytest.raises(CorralError, match="odd: guarantee must return a Guarantee or None, not str 'small'"):
        stated_guarantee(meta(guarantee=lambda self, told: "small"), TOLD)
    with pytest.raises(CorralError, match=r"odd: guarantee raised ZeroDivisionError: .* \(test_stated.py, line \d+\)"):
        stated_guarantee(meta(guarantee=lambda self, told: 1 / 0), TOLD)
    assert stated_guarantee(Uniform(), TOLD) is None


def test_a_condition_may_be_a_numpy_boolean() -> None:
    stated = stated_guarantee(guaranteeing(conditions=(Condition("x", np.float64(1) > 2),)), TOLD)
    assert stated is not None
    assert stated.conditions[0].holds is False


ORDERS: dict[str, tuple[Any, str]] = {
    "nan": (lambda term, rounds: np.nan, "must be a positive number, not nan"),
    "infinite": (lambda term, rounds: np.inf, "must be a positive number, not inf"),
    "zero": (lambda term, rounds: 0, "must be a positive number, not 0"),
    "negative": (lambda term, rounds: -1.5, "must be a positive number, not -1.5"),
    "text": (lambda term, rounds: "12", "must be a positive number, not '12'"),
    "array": (lambda term, rounds: np.ones(2), "must be a positive number, not array"),
    "complex": (lambda term, rounds: 1j, "must be a positive number, not 1j"),
    "raises": (lambda term, rounds: 1 / 0, "of its guarantee raised ZeroDivisionError"),
    "one argument": (lambda term: 1, "of its guarantee raised TypeError"),
    "not callable": (3.0, "of its guarantee raised TypeError"),
}


@pytest.mark.parametrize("name", ORDERS)
def test_an_order_that_is_none(name: str) -> None:
    order, sentence = ORDERS[name]
    odd = guaranteeing(order=order)
    stated = stated_guarantee(odd, TOLD)
    assert stated is not None
    with pytest.raises(CorralError) as refused:
        stated_order(odd, stated, Term(1.0, 0.5), 100)
    assert str(refused.value).startswith("odd: the order of its guarantee ")
    assert sentence in str(refused.value)


def test_an_order_is_a_number_at_many_rounds() -> None:
    odd = guaranteeing(order=lambda term, rounds: float(np.sqrt(2 * rounds)))
    stated = stated_guarantee(odd, TOLD)
    assert stated is not None
    assert stated_order(odd, stated, Term(1.0, 0.5), 2.0**400) == 2.0**200.5


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        (lambda self, told: "abc", "odd: choices must return a list of sentences, not str 'abc'"),
        (lambda self, told: [3], r"odd: choices must return a list of sentences, not list \[3\]"),
        (lambda self, told: 1 / 0, "odd: choices raised ZeroDivisionError"),
    ],
)
def test_choices_that_are_none(choices: Callable[..., Any], sentence: str) -> None:
    with pytest.raises(CorralError, match=sentence):
        stated_choices(meta(choices=choices), TOLD)
    assert stated_choices(meta(choices=lambda self, told: ("eta is 1",)), TOLD) == ["eta is 1"]
    assert isinstance(Uniform.records, tuple)


class Recording(Uniform):
    """With the reserved name of a quantity."""

    records: ClassVar[tuple[str, ...]] = ("probabilities",)


def test_reserved_names_of_quantities() -> None:
    with pytest.raises(CorralError, match="a recorded quantity cannot be called probabilities"):
        check_class(Recording, "meta")
