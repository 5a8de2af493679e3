"""What a base can do besides playing: the columns of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

Ability = Literal["yes", "some", "no"]


def abilities(cls: Any) -> dict[str, Ability]:
    """By column, whether all examples of a base have the ability, some or none.

    It uses contexts if it cannot play without them. Nothing is known of a base that raises; `corral check` says why.
    """
    from corral_core.checks.worlds import Small

    plain, changing, shared = Small(), Small(shows="changing"), Small(shows="shared")
    columns: dict[str, Callable[[Any], bool]] = {
        "masks": lambda base: base.masks,
        "contexts": lambda base: _fits(base, changing) and not _fits(base, plain),
        "shared contexts": lambda base: _fits(base, shared) and not _fits(base, plain),
        "sharing": lambda base: base.learns_from_others,
        "saving": _saves,
        "renewing": lambda base: base.renews,
    }
    try:
        examples = cls.examples()
        return {column: _of([bool(has(base)) for base in examples]) for column, has in columns.items()}
    except Exception:
        return {}


def _of(found: list[bool]) -> Ability:
    return "yes" if found and all(found) else "some" if any(found) else "no"


def _fits(base: Any, world: Any) -> bool:
    from corral_core.checks.trial import BaseCase
    from corral_core.errors import CorralError

    try:
        BaseCase(base, world).resolve()
    except CorralError:
        return False
    return True


def _saves(base: Any) -> bool:
    from corral_core.bases.lift import Lifted, saves_state
    from corral_core.checks.trial import BaseCase
    from corral_core.checks.worlds import small_worlds

    if not isinstance(base, Lifted):
        return bool(base.saves)
    problems = (BaseCase(base, world).problem() for world in small_worlds() if _fits(base, world))
    problem = next(problems, None)
    return problem is not None and saves_state(base.resolve(problem).make(problem))
