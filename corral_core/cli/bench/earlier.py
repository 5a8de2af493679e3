"""An earlier run of `corral bench`, from a file with what `--json` printed, and the change since then in percent."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corral_core.errors import CorralError, shortened_path

MOST_BYTES = 1 << 24
COMPARED = ("us_per_play", "calls_per_play")


class Earlier:
    """The measurements in a file; of several of the same workload and size, the last one."""

    def __init__(self, file: Path) -> None:
        self.name = shortened_path(file)
        self._found = {_key(each): each for each in self._read(file)}

    def compared(self, measured: Mapping[str, Any]) -> dict[str, Any]:
        """The measurement with the change in percent as `against`, which is None if the file does not have it."""
        before = self._found.get(_key(measured))
        found = {**measured, "against": None if before is None else changes(before, measured)}
        if cases := measured.get("cases"):
            known = {str(each["case"]): each for each in (before or {}).get("cases", ())}
            found["cases"] = [
                {**case, "against": changes(known[case["case"]], case) if case["case"] in known else None}
                for case in cases
            ]
        return found

    def missing(self, measured: Mapping[str, Any]) -> str:
        """A sentence if the file does not have this workload in this size; otherwise empty."""
        if _key(measured) in self._found:
            return ""
        workload, rows, horizon = _key(measured)
        others = [key for key in self._found if key[0] == workload]
        there = f"; it has {' and '.join(_size(*key[1:]) for key in others)}" if others else ""
        return f"{self.name} has no {workload} with {_size(rows, horizon)}{there}"

    def _read(self, file: Path) -> Sequence[dict[str, Any]]:
        try:
            with file.open("rb") as opened:
                written = opened.read(MOST_BYTES + 1)
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or problem
            raise CorralError(f"--against: {self.name} cannot be read: {why}") from None
        if len(written) > MOST_BYTES:
            raise CorralError(f"--against: {self.name} is too long for what `corral bench --json` printed")
        lines = [(number, line) for number, line in enumerate(written.splitlines(), 1) if line.strip()]
        if not lines:
            raise CorralError(f"--against: {self.name} is empty; it must have what `corral bench --json` printed")
        return [self._measurement(number, line) for number, line in lines]

    def _measurement(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not _is_measurement(found):
            raise CorralError(f"--against: {self.name}, line {number}, is not what `corral bench --json` printed")
        return dict(found)


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, float]:
    """By how many percent each number has changed."""
    known = [name for name in COMPARED if before.get(name)]  # an older file does not count calls
    return {name: 100 * (now[name] / before[name] - 1) for name in known}


def _key(measured: Mapping[str, Any]) -> tuple[str, int, int]:
    return measured["workload"], measured["replicates"], measured["horizon"]


def _size(rows: int, horizon: int) -> str:
    return f"{rows:,} row{'s' * (rows != 1)} and {horizon:,} plays"


def _is_measurement(found: Any) -> bool:
    match found:
        case {"workload": str(), "replicates": int(), "horizon": int()}:
            cases = found.get("cases", [])
            return (
                _is_timed(found)
                and isinstance(cases, list)
                and all(isinstance(case, dict) and isinstance(case.get("case"), str) for case in cases)
                and all(_is_timed(case) for case in cases)
            )
        case _:
            return False


def _is_timed(found: Mapping[str, Any]) -> bool:
    """Whether it has a time, and only positive numbers."""
    numbers = [found.get("us_per_play"), found.get("calls_per_play", 1.0)]
    return all(isinstance(each, int | float) and 0 < each < math.inf for each in numbers)
