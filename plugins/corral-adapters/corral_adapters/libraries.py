"""The libraries that are wrapped: imported when they are used, and what is given to them from a file is checked."""

from __future__ import annotations

import importlib
import random
from collections.abc import Mapping
from typing import Any

from corral_core.errors import CorralError
from corral_core.parsing import shown
from corral_core.protocols.problem import Problem


def library(module: str, extra: str) -> Any:
    """A module of the library that an extra of corral-adapters brings, or one sentence that says what to install."""
    drawn = random.getstate()  # something that MABWiser imports draws from the global generator
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
            raise CorralError(f'{extra} is not installed: pip install "corral-adapters[{extra}]"') from None
        raise CorralError(f"{extra} cannot be imported: {reason(error)}") from error
    finally:
        random.setstate(drawn)


def reason(error: Exception) -> str:
    """The first line of what a library says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def table(thing: Any, field: Any, value: Any) -> None:
    """A validator of settings."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise CorralError(f"{thing.name}: {field.name} must be a table of names and values, not {shown(value)}")


def algorithm_name(thing: Any, field: Any, value: Any) -> None:
    """A validator of the name of an algorithm."""
    if not isinstance(value, str):
        said = f"{thing.name}: algorithm must be a name, not {shown(value)}"
        raise CorralError(f"{said}; {type(thing).__name__}.wrap takes objects")


def arms_in(problem: Problem, who: str, contextual: bool) -> int:
    """How many arms there are, or one sentence why the policy cannot play them."""
    if problem.arms is None:
        raise CorralError(f"{who} needs a finite set of arms; {problem.environment} has none")
    if contextual and not (problem.shared and problem.dimension):
        shows = "features of each arm" if problem.dimension else "no contexts"
        raise CorralError(f"{who} needs one context for all arms; {problem.environment} shows {shows}")
    return problem.arms
