"""Helpers for wrapped libraries: import on first use, and checks of settings from a file."""

from __future__ import annotations

import importlib
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from corral_core import Array, CorralError, Observation, Problem
from corral_core.parsing import shown


def library(module: str, extra: str) -> Any:
    """Import a module of a wrapped library; if it is missing, the error says which extra to install."""
    drawn = random.getstate()  # a module that MABWiser imports draws from the global generator
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            raise CorralError(f'{extra} is not installed: pip install "corral-adapters[{extra}]"') from None
        raise CorralError(f"{extra} cannot be imported: {reason(error)}") from error
    finally:
        random.setstate(drawn)


def reason(error: Exception) -> str:
    """The first line of a library's error message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def table(thing: Any, field: Any, value: Any) -> None:
    """Validator of settings."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise CorralError(f"{thing.name}: {field.name} must be a table of names and values, not {shown(value)}")


def algorithm_name(thing: Any, field: Any, value: Any) -> None:
    """Validator of the name of an algorithm."""
    if not isinstance(value, str):
        said = f"{thing.name}: algorithm must be a name, not {shown(value)}"
        raise CorralError(f"{said}; {type(thing).__name__}.wrap takes objects")


def arms_in(problem: Problem, who: str, contextual: bool) -> int:
    """The number of arms, or an error that says why the policy cannot play them."""
    if problem.arms is None:
        raise CorralError(f"{who} needs a finite set of arms; {problem.environment} has none")
    if contextual and not (problem.shared and problem.dimension):
        shows = "features of each arm" if problem.dimension else "no contexts"
        raise CorralError(f"{who} needs one context for all arms; {problem.environment} shows {shows}")
    return problem.arms


def seen(context: Any, arms: int) -> tuple[Any, list[int]]:
    """The features that a learner sees, if any, and the numbers of the arms that are available."""
    if not isinstance(context, Observation):
        return context, list(range(arms))
    features = None if context.features is None else context.features[0]
    return features, list(range(arms)) if context.mask is None else np.flatnonzero(context.mask[0]).tolist()


def chances(shares: Mapping[int, float], arms: int) -> Array:
    """The probability of every arm, from those of some."""
    found = np.zeros(arms)
    found[list(shares)] = list(shares.values())
    return found
