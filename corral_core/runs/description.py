"""What was played, in plain words and numbers: a report needs no plugin to read a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from corral_core.experiments.experiment import Experiment
from corral_core.experiments.guarantee import orders


@attrs.frozen
class Line:
    """One curve."""

    name: str
    bases: tuple[str, ...]  # labels; of a base alone, its own
    meta: str | None  # None of a base alone
    player: str  # plain, smooth or boosted
    choices: tuple[str, ...]  # what the meta chose for itself, a sentence each
    exponents: tuple[float, ...]  # of T in what theory promises, ascending; may be empty


@attrs.frozen
class Setting:
    """One point of an experiment; all of it, where nothing is swept."""

    name: str
    question: str
    at: str  # the value of the swept axis, or nothing
    horizon: int  # plays
    replicates: int
    seed: int
    chunk: int  # replicates that advance together
    lines: tuple[Line, ...]
    source: dict[str, Any] = attrs.field(eq=False, repr=False)  # what the experiment is parsed from

    @property
    def names(self) -> list[str]:
        """Of the curves."""
        return [line.name for line in self.lines]

    @property
    def chunks(self) -> int:
        """How many chunks the replicates make."""
        return -(-self.replicates // self.chunk)

    def rows(self, chunk: int) -> int:
        """How many replicates a chunk holds."""
        return min(self.chunk, self.replicates - chunk * self.chunk)


def settings(points: Sequence[Experiment]) -> tuple[Setting, ...]:
    """The plain form of every point."""
    return tuple(
        Setting(
            name=point.name,
            question=point.question,
            at=point.at,
            horizon=point.horizon,
            replicates=point.replicates,
            seed=point.seed,
            chunk=point.chunk,
            lines=tuple(
                Line(
                    name=curve.name,
                    bases=curve.labels,
                    meta=curve.meta.name if curve.meta else None,
                    player=curve.options.player,
                    choices=tuple(point.choices(curve)),
                    exponents=orders(point, curve),
                )
                for curve in point.curves
            ),
            source=point.source,
        )
        for point in points
    )


def from_json(found: Mapping[str, Any]) -> Setting:
    """The inverse of `attrs.asdict`, as JSON keeps it: tuples have become lists."""
    lines = tuple(Line(**_with_tuples(line)) for line in found["lines"])
    return Setting(**{**found, "lines": lines})


def _with_tuples(found: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}
