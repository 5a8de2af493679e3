"""An experiment: what a file describes, one or more points, and what a paper says about it.

    name = "quickstart"
    question = "..."                     # one line: what the experiment asks
    horizon = 20000                      # plays
    anytime = false                      # true: the horizon is not told to anyone; needs delta
    replicates = 64
    seed = 1
    preset = "paper"                     # paper, theory or practice
    options = { bias = 1.0 }             # single options, which override the preset's

    [environment]
    name = "bernoulli-arms"
    means = [0.5, 0.45]

    [meta]
    name = "corral"
    eta = "auto"

    [[bases]]
    name = "epsilon-greedy"
    grid = { c = { geometric = [1, "2 * horizon"], count = 18 } }

    [compare]
    alone = "plain"                      # each base alone: plain, smooth, both or none
    bases = [{ name = "ucb" }]           # other bases alone
    metas = [{ name = "exp3p" }]         # other metas over the same bases; each may have its own preset
    presets = ["practice"]               # the same meta under other presets

    [sweep]                              # one axis: "horizon", "bases" (how many), or a dotted name like "meta.eta"
    parameter = "horizon"
    values = [1000, 10000, 100000]

Any number may be written as "horizon" or "2 * horizon", and then follows the horizon. The file may also contain what a
paper says about the experiment (`experiments/claims.py`); this is checked, but does not affect what is played.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import attrs

from corral_core.errors import CorralError, shortened
from corral_core.experiments.checking import of_experiment
from corral_core.experiments.claims import Stated, check, stated
from corral_core.experiments.point import Point, parse_point
from corral_core.experiments.source import Source, read, sweep


def _as_tuple(points: Iterable[Point]) -> tuple[Point, ...]:
    return tuple(points)


@attrs.frozen
class Experiment:
    """What a file describes: its points (one, unless an axis is swept) and what a paper says about it."""

    points: tuple[Point, ...] = attrs.field(converter=_as_tuple)
    stated: Stated = attrs.field(factory=Stated)

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.points[0].name

    @property
    def question(self) -> str:
        """What the experiment asks, in one line."""
        return self.points[0].question

    @property
    def seed(self) -> int:
        """Seed of all randomness."""
        return self.points[0].seed


def load_experiment(name: str | os.PathLike[str], *, quick: bool = False, **overrides: Any) -> Experiment:
    """Load an experiment: a TOML file, or a name that a plugin registers.

    `overrides` replace keys of the file (horizon, replicates, seed); None keeps what the file says. `quick` takes the
    smaller version that the file describes under `quick`.

    >>> from corral_core import load_experiment
    >>> load_experiment("quickstart", horizon=1000).points[0].horizon
    1000
    """
    source = read(os.fspath(name))
    found = stated(source.table)
    changed = dict(found.quick) if quick else {}
    if "sweep" in changed:
        source.table["sweep"] = {**source.table["sweep"], "values": changed.pop("sweep")}
    wanted = {key: value for key, value in overrides.items() if value is not None}
    points = _points(source, changed | wanted)
    if not wanted:  # with another horizon or fewer points, a claim may be about something that does not exist
        check(
            found,
            [(point.at, point.horizon, point.names) for point in points],
            f"experiment {shortened(points[0].name)}",
        )
    return Experiment(points, found)


def _points(source: Source, wanted: dict[str, Any]) -> tuple[Point, ...]:
    tables = sweep({**source.table, **wanted})
    swept = tables[0].get("at", "").partition(" ")[0]
    if swept in wanted:
        raise CorralError(
            f"{of_experiment(source.table)} sweeps {swept}, so --{swept} would change nothing; leave it out"
        )
    return tuple(parse_point(table, source.owner) for table in tables)
