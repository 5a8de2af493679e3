"""A meta from elsewhere, which draws nothing, drops, readmits and records: played, resumed, drawn, exported, told."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

META = '''
import attrs
import numpy as np
from corral_core import Condition, Entry, Guarantee, Meta, Verdict, hookimpl


@attrs.define
class Counts:
    plays: np.ndarray
    total: np.ndarray


@attrs.frozen
class Auditions(Meta):
    """Plays every base in turn; keeps the best of each five rounds for the next five."""

    name = "auditions"
    needs_horizon = False
    records = ("mean-gains", "plays-so-far")

    def init(self, rows, problem):
        assert problem.horizon is None or problem.horizon > 0
        return Counts(np.zeros((problem.bases, rows)), np.zeros((problem.bases, rows)))

    def choose(self, state, active, rng):
        return np.where(active, state.plays, np.inf).argmin(axis=0), None

    def probabilities(self, state):
        return None

    def update(self, state, chosen, probability, gain, active):
        rows = np.arange(len(chosen))
        state.plays[chosen, rows] += 1
        state.total[chosen, rows] += gain
        number = state.plays.sum(axis=0)
        best = np.arange(len(active))[:, None] == (state.total / np.maximum(state.plays, 1)).argmax(axis=0)
        return Verdict(drop=(number % 10 == 5) & ~best, readmit=(number % 10 == 0) & ~active)

    def recorded(self, state):
        return {"mean-gains": state.total / np.maximum(state.plays, 1), "plays-so-far": state.plays}

    def guarantee(self, told):
        return Guarantee(
            source="Theorem 1 of nobody",
            formula="T",
            order=lambda term, rounds: float(rounds),
            requires={"player": "plain"},
            conditions=(Condition("there are at most five bases", told.bases <= 5),),
        )


@hookimpl
def corral_metas():
    return [Entry("auditions", "Auditions every five rounds", "auditions:Auditions")]
'''
EXPERIMENT = """
name = "new-meta"
preset = "practice"
horizon = 40
replicates = 5
chunk_size = 2
delta = 0.01
{extra}

[environment]
name = "bernoulli-arms"
means = [0.5, 0.9]

[meta]
name = "auditions"

[[bases]]
name = "epsilon-greedy"
grid = {{ c = [1, 100] }}

[[bases]]
name = "ucb"

[compare]
alone = "none"
"""


@pytest.fixture
def corral(tmp_path: Path) -> Any:
    """The command, with the meta installed."""
    (tmp_path / "site" / "auditions-0.1.dist-info").mkdir(parents=True)
    (tmp_path / "site" / "auditions.py").write_text(META, encoding="utf-8")
    about = tmp_path / "site" / "auditions-0.1.dist-info"
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: auditions\nVersion: 0.1\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[corral]\nauditions = auditions\n", encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)

    def command(*arguments: Any) -> str:
        words = [sys.executable, "-c", "from corral_core.cli import main; main()", *map(str, arguments)]
        ended = subprocess.run(
            words, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return command


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_from_the_experiment_to_the_report(corral: Any, tmp_path: Path) -> None:
    file, run, tables = tmp_path / "new-meta.toml", tmp_path / "run", tmp_path / "tables"
    file.write_text(EXPERIMENT.format(extra=""), encoding="utf-8")
    said = corral("describe", file)
    assert "Theorem 1 of nobody, for auditions" in said and "holds    there are at most five bases" in said

    corral("run", file, "--out", run, "--engine", "serial", "--quiet")
    sums = (run / "SHA256SUMS").read_text()
    sorted((run / "chunks").iterdir())[1].unlink()
    corral("run", run, "--engine", "serial", "--quiet")
    assert (run / "SHA256SUMS").read_text() == sums

    drawn = json.loads(corral("plot", run, "--what", "mean-gains", "--format", "svg", "--out", tmp_path, "--json"))
    assert [Path(each["file"]).name for each in drawn["pictures"]] == ["mean-gains-auditions.svg"]

    corral("export", run, "--format", "csv", "--out", tables)
    plays = [row for row in rows_of(tables / "recorded.csv") if row["quantity"] == "plays-so-far"]
    assert {row["base"] for row in plays} == {"epsilon-greedy(c=1)", "epsilon-greedy(c=100)", "ucb"}
    assert sum(float(row["value"]) for row in plays if row["plays"] == "40") == 5 * 40
    # Of three bases auditions play the best alone in half of the rounds and all in turn in the others.
    bases = rows_of(tables / "bases.csv")
    assert {row["probability"] for row in bases} == {""}
    shares = np.array([float(row["share_of_plays"]) for row in bases]).reshape(-1, 3)
    assert np.allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-6) and shares.max() == 1.0

    corral("report", run, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Mean share of plays that auditions, which does not draw, gives each base" in page
    assert "Mean gains of each base, as auditions records them" in page
    assert "Plays so far of each base after 40 plays" in page


def test_nobody_knows_the_horizon(corral: Any, tmp_path: Path) -> None:
    file = tmp_path / "new-meta.toml"
    file.write_text(EXPERIMENT.format(extra="anytime = true"), encoding="utf-8")
    ended = json.loads(corral("run", file, "--engine", "serial", "--quiet", "--json"))
    assert [curve["name"] for curve in ended["curves"]] == ["auditions"]
