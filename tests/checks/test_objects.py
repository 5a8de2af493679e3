"""Of a learner that changed, the attribute that changed is named."""

from __future__ import annotations

import copy
from typing import Any

import attrs
import numpy as np
import pytest

from corral_core.bases.lift import Lifted
from corral_core.checks import cases_of, check_all
from corral_core.checks.objects import fingerprint, what_changed
from corral_core.checks.worlds import Small


class Inner:
    def __init__(self) -> None:
        self.seen = {"a": [1, 2]}


class Thing:
    __slots__ = ("inner", "mean", "tag")

    def __init__(self) -> None:
        self.inner, self.mean, self.tag = Inner(), np.zeros(2), (0, "x")


def change_nested(thing: Any) -> None:
    thing.inner.seen["a"][1] = 5


def change_array(thing: Any) -> None:
    thing.mean[0] = 1.5


def add_attribute(thing: Any) -> None:
    thing.inner.extra = 3


def grow(thing: Any) -> None:
    thing.inner.seen["a"].append(7)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (change_nested, "attribute `inner.seen['a'][1]` went from 2 to 5"),
        (change_array, "attribute `mean` went from float64 (2,) [0., 0.] to float64 (2,) [1.5, 0. ]"),
        (add_attribute, "attribute `inner.extra` went from 'nothing' to 3"),
        (grow, "attribute `inner.seen['a'][2]` went from 'nothing' to 7"),
    ],
)
def test_the_attribute_is_named(change: Any, sentence: str) -> None:
    thing = Thing()
    before = fingerprint(thing)
    assert fingerprint(copy.deepcopy(thing)) == before
    change(thing)
    assert what_changed(before, fingerprint(thing)) == sentence


def test_one_that_cannot_be_pickled_is_read_attribute_by_attribute() -> None:
    thing: Any = Inner()
    thing.rate = lambda: 1  # cannot be pickled
    before = fingerprint(thing)
    thing.seen["a"][0] = 9
    assert what_changed(before, fingerprint(thing)) == "attribute `seen['a'][0]` went from 1 to 9"


def test_one_that_cannot_be_loaded_has_changed() -> None:
    assert what_changed(b"x", b"y") == "it changed"


class Counter:
    """Plays the arm that it acted with least; `act` counts, which only `learn` may do."""

    def __init__(self, arms: int) -> None:
        self.counts, self.total = [0] * arms, [0.0] * arms

    def act(self, context: Any, rng: Any) -> int:
        arm = int(np.argmin(self.counts))
        self.counts[arm] += 1
        return arm

    def learn(self, context: Any, action: int, reward: float) -> None:
        self.total[action] += reward


class Sharer(Counter):
    """Its copies share the list of counts with it."""

    def act(self, context: Any, rng: Any) -> int:
        return int(np.argmin(self.counts))

    def learn(self, context: Any, action: int, reward: float) -> None:
        self.counts[action] += 1

    def snapshot(self) -> Any:
        return copy.copy(self)


@attrs.frozen
class Counting(Lifted):
    """Counts when it acts."""

    name = "counting"
    learner = Counter

    def make(self, problem: Any) -> Any:
        return self.learner(problem.arms)


class Sharing(Counting):
    """Shares what it counts with its copies."""

    learner = Sharer


def failures(cls: type[Any], shows: Any) -> dict[str, str]:
    outcomes = check_all(cases_of(cls, within=[Small(shows=shows)]))
    return {outcome.check.name: outcome.why for outcome in outcomes if outcome.result == "failed"}


@pytest.mark.parametrize("shows", ["nothing", "fixed"])
def test_a_learner_that_changes_when_it_acts(shows: Any) -> None:
    found = failures(Counting, shows)
    assert set(found) == {"arguments-are-left-alone", "late-answers-are-learned"}
    assert found["arguments-are-left-alone"] == (
        "arguments-are-left-alone: act changed the learner: attribute `counts[0]` went from 0 to 1 (`learner` of row 0)"
    )
    assert "it learned differently: attribute `counts[1]` went from 0 to 1" in found["late-answers-are-learned"]


def test_a_snapshot_that_shares_what_is_learned() -> None:
    found = failures(Sharing, "nothing")
    assert found["policy-alone-determines-the-action"].endswith(
        "; later plays changed the policy: attribute `counts[0]`"
    )
