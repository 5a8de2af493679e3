"""Whether a class that a plugin names can be what it is registered as: one sentence where it cannot."""

from __future__ import annotations

import inspect
from typing import Any

import attrs

from corral_core.errors import CorralError
from corral_core.parsing import parameters
from corral_core.protocols.base import Base
from corral_core.protocols.environment import Environment
from corral_core.protocols.meta import Meta
from corral_core.protocols.problem import Problem
from corral_core.selection.stated import check_declared
from corral_core.suggestions import suggestion

PROTOCOLS: dict[str, type[Any]] = {"base": Base, "environment": Environment, "meta": Meta}


def check_class(cls: Any, kind: str | None = None) -> None:
    """Refuse what is not a class of this kind (default: of any kind), or is not complete."""
    wanted = tuple(PROTOCOLS.values()) if kind is None else (PROTOCOLS[kind],)
    if not inspect.isclass(cls) or not issubclass(cls, wanted):
        what = " or ".join(protocol.__name__ for protocol in wanted)
        raise CorralError(f"{getattr(cls, '__name__', cls)} is not a class derived from {what}")
    name = cls.__name__
    if missing := sorted(getattr(cls, "__abstractmethods__", ())):
        raise CorralError(f"{name} does not define {' and '.join(missing)}")
    if not hasattr(cls, "name"):
        raise CorralError(f'{name} has no name; write name = "my-algo" in the class')
    if any(type(value).__name__ == "_CountingAttr" for value in vars(cls).values()):
        raise CorralError(f"{name} has parameters of its own; write @attrs.frozen above the class")
    if issubclass(cls, Environment) and inspect.isfunction(inspect.getattr_static(cls, "problem")):
        raise CorralError(f"{name}: problem must be a property; write @property above it")
    if issubclass(cls, Base) and inspect.isfunction(inspect.getattr_static(cls, "rarely_changes")):
        raise CorralError(f"{name}: rarely_changes must be a property; write @property above it")
    if issubclass(cls, Meta):
        check_declared(cls, name)
    known = [field.name for field in attrs.fields(Problem)]
    for field in parameters(cls):
        if "fitted" in field.metadata and field.name not in known:
            near = suggestion(field.name, known)
            raise CorralError(f"{name}: {field.name} is fitted, and a problem has no such field{near}")
