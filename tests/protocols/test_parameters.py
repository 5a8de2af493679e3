"""Knobs, fitted fields, and which bases are kin."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
import pytest

from corral_core.errors import CorralError
from corral_core.parsing import parameters
from corral_core.protocols.named import Named
from corral_core.protocols.parameters import fitted, fitted_names, kin, knob, knobs, parameter


@attrs.frozen(eq=False)
class Animal(Named):
    """Something with one field of every kind."""

    name: ClassVar[str] = "animal"

    rate: float = knob(1.0, help="a knob")
    size: int = parameter(2, help="a plain parameter")
    arms: int = fitted(help="filled by resolve")
    delta: float = fitted(help="both", knob=True)
    weights: Any = attrs.field(default=None, metadata={"hidden": True})


@attrs.frozen(eq=False)
class Sheep(Animal):
    """Another class with the same fields."""


def test_fields_say_what_they_are() -> None:
    assert knobs(Animal(rate=3.0, delta=0.1)) == {"rate": 3.0, "delta": 0.1}
    assert fitted_names(Animal()) == ["arms", "delta"]
    assert [field.name for field in parameters(Animal)] == ["rate", "size", "arms", "delta"]
    assert next(field.metadata["help"] for field in parameters(Animal)) == "a knob"


def test_kin_differ_in_knobs_alone() -> None:
    assert kin(Animal(rate=1.0, delta=0.1), Animal(rate=2.0, delta=0.2))
    assert not kin(Animal(size=2), Animal(size=3))
    assert not kin(Animal(arms=2), Animal(arms=3))
    assert not kin(Animal(), Sheep())
    assert not kin(Animal(size=2), Animal(size=2.0)), "of another type"  # type: ignore[arg-type]


@attrs.frozen(eq=False)
class Goat(Animal):
    """Of any size, but kin only up to size 9 or above."""

    more_knobs: ClassVar[tuple[str, ...]] = ("size",)

    @property
    def kinship(self) -> bool:
        return self.size > 9


@attrs.frozen(eq=False)
class Ibex(Goat):
    """Adds to the knobs of its parents, and declares one of them anew."""

    more_knobs: ClassVar[tuple[str, ...]] = ("arms",)
    size: int = parameter(3, help="a plain parameter again")


@attrs.frozen(eq=False)
class Misspelt(Animal):
    more_knobs: ClassVar[tuple[str, ...]] = ("sise",)


def test_knobs_add_up_along_the_classes() -> None:
    assert set(knobs(Ibex(arms=2))) == {"rate", "delta", "arms"}
    assert not kin(Ibex(size=2), Ibex(size=3)) and kin(Ibex(arms=2), Ibex(arms=3))
    with pytest.raises(CorralError, match="Misspelt: more_knobs has sise, which is not one of its fields"):
        knobs(Misspelt())


def test_inherited_fields_may_be_knobs() -> None:
    assert list(knobs(Goat())) == ["rate", "size", "delta"] and "size" not in knobs(Animal())
    assert kin(Goat(size=2), Goat(size=9)) and kin(Goat(size=10), Goat(size=11))
    assert not kin(Goat(size=9), Goat(size=10)), "they have nothing in common"


def test_arrays_are_compared_as_a_whole() -> None:
    ones = Animal(weights=np.ones(2))
    assert kin(ones, Animal(weights=np.ones(2)))
    assert not kin(ones, Animal(weights=np.zeros(2)))
    assert not kin(ones, Animal(weights=np.ones(3)))
