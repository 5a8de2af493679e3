"""What the README shows works."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from corral_core import load_experiment
from corral_core.experiments.point import parse_point

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_python(capsys: pytest.CaptureFixture[str]) -> None:
    """Corral plays the Q-learner that learns fast more than the two others together."""
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    never, slow, fast = map(float, re.findall(r"[\d.]+", capsys.readouterr().out.partition("each")[2]))
    assert fast > never + slow


def test_toml() -> None:
    for block in blocks("toml"):
        experiment = parse_point(tomllib.loads(block))
        assert [curve.name for curve in experiment.curves if curve.meta is None] == [
            "mabwiser",
            "river(settings={'epsilon': 0.1})",
            "river(settings={'epsilon': 0.5})",
        ]


def test_the_experiment_can_be_played() -> None:
    (experiment,) = load_experiment("adapted-bandits").points
    assert [base.name for base in experiment.curves[0].bases] == ["mabwiser", "mabwiser", "river", "river"]
