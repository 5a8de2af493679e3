"""Checks of single values of an experiment, which files of users and folders of runs share."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from corral_core.errors import CorralError, shortened
from corral_core.parsing import check_keys, convert, shown
from corral_core.protocols.problem import SIZES, Problem
from corral_core.simulation.record import MOST_BYTES, record_bytes

KEYS = [
    "name",
    "question",
    "horizon",
    "anytime",
    "replicates",
    "seed",
    "preset",
    "options",
    "delta",
    "chunk_size",
    "environment",
    "meta",
    "bases",
    "first_bases",
    "compare",
    "sweep",
    "at",
]
RANGES: dict[str, tuple[int, float]] = {
    "horizon": (1, 2**31 - 1),  # the curves count plays in 32 bits
    "replicates": (1, 1_000_000),
    "seed": (0, math.inf),
    "chunk_size": (1, math.inf),
    "first_bases": (1, math.inf),
}
MOST_NUMBERS = 2**27  # that describe one play: one gigabyte
LONGEST = 10_000  # characters of a name


def of_experiment(source: Mapping[str, Any]) -> str:
    """How messages name an experiment."""
    name = source.get("name", "(without a name)")
    return f"experiment {shortened(name) if isinstance(name, str) else shown(name)}"


class Recorded(Protocol):
    """What records are kept of: a point, or its description in a run's folder."""

    @property
    def curves(self) -> Sequence[Any]: ...
    @property
    def horizon(self) -> int: ...
    @property
    def replicates(self) -> int: ...
    @property
    def chunk_size(self) -> int: ...


def check_number(value: Any, name: str, where: str) -> int:
    """The value of a key as a whole number in its range."""
    least, most = RANGES[name]
    number: int = convert(value, int, f"{where}: {name}")
    if number < least:
        raise CorralError(f"{where}: {name} must be a whole number of at least {least}, not {shown(number)}")
    if number > most:
        raise CorralError(f"{where}: {name} must be at most {most:,}, not {shown(number)}")
    return number


def check_name(name: str, where: str) -> None:
    """Refuse a name that is too long, or that could move the cursor of a terminal."""
    if len(name) > LONGEST:
        raise CorralError(f"{where}: the name {shortened(name)} has {len(name):,} characters, more than {LONGEST:,}")
    check_text(name, where)


def check_text(text: str, where: str) -> None:
    """Refuse control characters and what is not Unicode; a text may have several lines."""
    if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text if sign not in "\n\t"):
        raise CorralError(f"{where}: {shown(text)} has a character that cannot be printed")


def check_record(point: Recorded, where: str) -> None:
    """Refuse chunks whose curves would take too much memory."""
    rows = min(point.chunk_size, point.replicates)
    most = max(record_bytes(rows, point.horizon, len(curve.bases), len(curve.records)) for curve in point.curves)
    if most > MOST_BYTES:
        raise CorralError(
            f"{where}: the curves of a chunk of {rows:,} replicates take {most:,} bytes, more than {MOST_BYTES:,}; "
            f"set a smaller chunk_size"
        )


def check_sizes(problem: Problem, where: str) -> None:
    """Refuse a problem that no memory holds, before anything of its size is made."""
    sizes = {name: size for name in SIZES if (size := getattr(problem, name)) is not None}
    told = ", ".join(f"{name} = {size:,}" for name, size in sizes.items())
    together = [(name,) for name in sizes] + [("states", "arms")] + ([] if problem.shared else [("arms", "dimension")])
    if any(math.prod(sizes.get(name, 1) for name in names) > MOST_NUMBERS for names in together):
        raise CorralError(
            f"{where}: {problem.environment} is too large for memory ({told}); at most {MOST_NUMBERS:,} numbers fit"
        )


def check_source(source: Mapping[str, Any], where: str) -> None:
    """Refuse a resolved source with unknown keys, or with tables of the wrong shape; needs no plugin."""
    where = f"{where}: source"
    check_keys(source, KEYS, where)
    table(source.get("environment"), f"{where}: environment")
    tables(source.get("bases"), f"{where}: bases")
    if "meta" in source:
        table(source["meta"], f"{where}: meta")
    for name in ("options", "compare"):
        if not isinstance(source.get(name, {}), Mapping):
            raise CorralError(f"{where}: {name} must be a table")
    for name in ("name", "question", "at", "preset"):
        convert(source.get(name, ""), str, f"{where}: {name}")
    convert(source.get("anytime", False), bool, f"{where}: anytime")


def table(value: Any, where: str) -> dict[str, Any]:
    """A table with a name."""
    if not isinstance(value, Mapping):
        raise CorralError(f"{where} must be a table with a name")
    if not isinstance(value.get("name"), str):
        raise CorralError(f"{where} needs a name")
    return dict(value)


def tables(value: Any, where: str) -> list[dict[str, Any]]:
    """The tables of a list, each with a name."""
    if not isinstance(value, list):
        raise CorralError(f"{where} must be a list of tables, each with a name")
    return [table(item, f"{where}[{index}]") for index, item in enumerate(value)]
