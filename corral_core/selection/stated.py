"""Validate what a meta-algorithm states about itself: class variables, recorded quantities, guarantee, choices."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from corral_core.bounds import Term
from corral_core.errors import CorralError, place, reason
from corral_core.parsing import build, shown
from corral_core.protocols.meta import (
    Condition,
    FeedbackKind,
    Guarantee,
    Meta,
    MetaProblem,
    NeedsBounds,
    Players,
    Restarts,
)
from corral_core.selection.options import Options
from corral_core.selection.validation import LARGEST, kind

TAKEN = (  # what every run has: quantities of curves, pictures, tables of an export, and arrays of chunk files
    *("reward", "regret", "probabilities", "plays", "restarts", "dropped", "recorded", "quantities"),
    *("rates", "shares", "curves", "curve", "bases", "base", "summary", "at"),
)
MOST_QUANTITIES = 8  # of a meta-algorithm
LONGEST_NAME = 40  # characters of the name of a quantity
DECLARED = {
    "needs_bounds": get_args(NeedsBounds),
    "player": get_args(Players),
    "feedback": get_args(FeedbackKind),
    "restarts": get_args(Restarts),
    "needs_horizon": (True, False),
    "per_step": (True, False),
}


def check_declared(meta: Any, who: str) -> None:
    """Refuse what a meta, or its class, declares wrongly; of a class, properties are not looked at."""
    for name, allowed in DECLARED.items():
        value = getattr(meta, name)
        if not isinstance(value, property) and (type(value) is not type(allowed[0]) or value not in allowed):
            wanted = " or ".join(f'"{each}"' if isinstance(each, str) else str(each) for each in allowed)
            raise CorralError(f"{who}: {name} must be {wanted}, not {shown(value)}")
    if not isinstance(clip := meta.clip, property) and not _is_range(clip):
        raise CorralError(f"{who}: clip must be two numbers, the lower one first, like (0.0, 1.0), not {shown(clip)}")
    if not isinstance(meta.records, property):
        check_quantities(meta.records, who)


def _is_range(value: Any) -> bool:
    numbers = isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, int | float) for end in value)
    return numbers and -LARGEST <= value[0] < value[1] <= LARGEST


def check_quantities(names: Any, who: str) -> None:
    """Refuse names of recorded quantities that are not plain, or that something else in a run has."""
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise CorralError(f'{who}: records must be a tuple of names, like ("coefficients",), not {kind(names)}')
    if len(names) > MOST_QUANTITIES:
        raise CorralError(f"{who}: records names {len(names)} quantities, more than {MOST_QUANTITIES}")
    for name in names:
        if not re.fullmatch(r"[a-z](-?[a-z0-9])*", name) or len(name) > LONGEST_NAME:
            raise CorralError(
                f"{who}: a recorded quantity needs a name of at most {LONGEST_NAME} small letters, digits and single "
                f"hyphens, like estimated-gains, not {shown(name)}"
            )
        if name in TAKEN:
            raise CorralError(f"{who}: a recorded quantity cannot be called {name}, because every run has {name}")
        if names.count(name) > 1:
            raise CorralError(f"{who}: records names {name} twice")


def stated_guarantee(meta: Meta, told: MetaProblem) -> Guarantee | None:
    """The guarantee that a meta states, checked; its order is checked by `stated_order`."""
    found = _asked(meta, "guarantee", told)
    if found is None:
        return None
    if not isinstance(found, Guarantee):
        raise CorralError(f"{meta.name}: guarantee must return a Guarantee or None, not {kind(found)}")
    who = f"the guarantee of {meta.name}"
    for name in ("source", "formula"):
        if not isinstance(text := getattr(found, name), str) or not text.strip():
            raise CorralError(f"{who} needs a {name}, not {shown(text)}")
    if not isinstance(found.row, str):
        raise CorralError(f"{who}: row must be text, not {kind(found.row)}")
    if not isinstance(found.requires, Mapping):
        raise CorralError(
            f'{who}: requires must be a dict of options, like {{"bias": 1.0}}, not {kind(found.requires)}'
        )
    build(Options, dict(found.requires), f"what the guarantee of {meta.name} requires")
    if not isinstance(found.conditions, tuple | list):
        raise CorralError(f"{who}: conditions must be a tuple of Conditions, not {kind(found.conditions)}")
    for condition in found.conditions:
        if not _is_condition(condition):
            raise CorralError(f"{who} has the condition {shown(condition)}; use Condition(text, True, False or None)")
    return found


def _is_condition(value: Any) -> bool:
    if not isinstance(value, Condition) or not isinstance(value.text, str) or not value.text.strip():
        return False
    return value.holds is None or isinstance(value.holds, bool)


def stated_order(meta: Meta, stated: Guarantee, term: Term, rounds: float) -> float:
    """The order of a guarantee for this term and number of rounds: a positive, finite number."""
    try:
        order = stated.order(term, rounds)
    except Exception as bug:
        raise CorralError(f"{meta.name}: the order of its guarantee raised {reason(bug)}{place(bug)}") from bug
    if not isinstance(order, int | float | np.number) or isinstance(order, bool) or not 0 < order < math.inf:
        raise CorralError(
            f"{meta.name}: the order of its guarantee must be a positive number, not {shown(order)} (for {term} and "
            f"{rounds:.6g} rounds)"
        )
    return float(order)


def stated_choices(meta: Meta, told: MetaProblem) -> list[str]:
    """What a meta chose itself, checked: one sentence each."""
    found = _asked(meta, "choices", told)
    if not isinstance(found, list | tuple) or not all(isinstance(each, str) for each in found):
        raise CorralError(f"{meta.name}: choices must return a list of sentences, not {kind(found)}")
    return list(found)


def _asked(meta: Meta, method: str, told: MetaProblem) -> Any:
    try:
        return getattr(meta, method)(told)
    except CorralError:
        raise
    except Exception as bug:
        raise CorralError(f"{meta.name}: {method} raised {reason(bug)}{place(bug)}") from bug
