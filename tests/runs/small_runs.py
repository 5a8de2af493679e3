"""A small run, for tests of its folder."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from corral_core.experiments.experiment import Experiment
from corral_core.experiments.point import Point, parse_point
from corral_core.runs import runner
from corral_core.runs.results import Result


def small(**changes: Any) -> Point:
    source = {
        "name": "small",
        "horizon": 30,
        "replicates": 5,
        "chunk_size": 2,
        "environment": {"name": "bernoulli-arms", "means": [0.5, 0.4]},
        "meta": {"name": "corral"},
        "bases": [{"name": "ucb"}, {"name": "epsilon-greedy"}],
        "compare": {"alone": "none"},
    }
    return parse_point({**source, **changes})


def play(out: Path | None, **changes: Any) -> list[Result]:
    return runner.run_experiment(Experiment([small(**changes)]), engine="serial", out=out)


def chunks(out: Path) -> list[str]:
    return sorted(file.name for file in (out / "chunks").iterdir())


def sums(out: Path) -> str:
    """The checksums of a complete run, which are those of the files."""
    text = (out / "SHA256SUMS").read_text()
    for line in text.splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    return text


def assert_equal(ours: list[Result], theirs: list[Result]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        assert (one.point, one.curve) == (other.point, other.curve)
        assert one.final.tobytes() == other.final.tobytes()
        for name in ("regret", "reward", "probabilities"):
            mine, yours = getattr(one, name), getattr(other, name)
            assert (mine.mean.tobytes(), mine.error.tobytes()) == (yours.mean.tobytes(), yours.error.tobytes())
        assert one.plays_of.tobytes() == other.plays_of.tobytes()
