"""`corral bench`: one JSON object per workload.

Also tests `cli/bench/command.py`, `cli/bench/workloads.py`, `cli/bench/live.py` and `cli/bench/products.py`.
"""

import json
import os
import subprocess
import sys

import pytest

from corral_core import cli
from corral_core.cli.bench.live import CASES
from corral_core.cli.bench.workloads import experiment
from corral_core.engines.chunks import chunk_count
from corral_core.experiments.point import parse_point
from corral_core.selection.setup import group_kin


def bench(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(["bench", *arguments])
    return stop.value.code, *capsys.readouterr()


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, said, error = bench(capsys, "epsilon", "--json", "--replicates", "4", "--horizon", "200")
    assert (code, error) == (0, "")
    (line,) = said.splitlines()
    found = json.loads(line)
    assert set(found) >= {"workload", "us_per_play", "replicates", "horizon", "peak_mb"}
    assert (found["workload"], found["replicates"], found["horizon"]) == ("epsilon", 4, 200)
    assert found["us_per_play"] > 0
    assert found["peak_mb"] > 1


def test_lines_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """One per workload, and one per case of `live`."""
    code, said, error = bench(capsys, "--rows", "2", "--horizon", "60", "epsilon", "arms", "dimension", "mixed")
    assert (code, error) == (0, "")
    assert [line.partition(":")[0] for line in said.splitlines()] == ["epsilon", "arms", "dimension", "mixed"]
    assert said.count("us per play and row, ") == said.count(" calls per play, ") == 4
    assert "times its bare matrix products" in said
    code, said, error = bench(capsys, "live", "episodes", "--horizon", "20")
    assert (code, error) == (0, "")
    first, *cases, last = said.splitlines()
    assert first.startswith("live: ") and last.startswith("episodes: ")
    assert "1 row, 20 plays" in first and "10 rows, 20 plays" in last
    assert [case.partition(":")[0] for case in cases] == [f"  {case.name}" for case in CASES]
    assert all("us per ask and tell, " in case for case in cases)


def test_cases_of_live(capsys: pytest.CaptureFixture[str]) -> None:
    """The numbers of the workload are those of its first case, two bases."""
    code, said, _ = bench(capsys, "live", "--json", "--horizon", "30")
    found = json.loads(said)
    assert (code, found["replicates"]) == (0, 1)
    assert [case["case"] for case in found["cases"]] == [case.name for case in CASES]
    assert all(case["us_per_play"] > 0 and case["calls_per_play"] > 5 for case in found["cases"])
    assert found["us_per_play"] == found["cases"][0]["us_per_play"]


def test_live_has_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    refused = (2, "", "Error: live plays one row; leave out --rows\n")
    assert bench(capsys, "live", "--rows", "2") == refused
    assert bench(capsys, "live", "--rows", "1", "--horizon", "2")[0] == 0


def test_which_kernels_played(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORRAL_KERNELS", "numpy")
    said = bench(capsys, "epsilon", "--json", "--rows", "1", "--horizon", "4")[1]
    assert json.loads(said)["kernels"] == "numpy"


def test_a_workload_whose_plugin_is_absent() -> None:
    """It is left out of all, and refused where it was asked for."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from corral_core.cli import main; main()", "bench", *arguments]
        environment = {**os.environ, "CORRAL_DISABLED_PLUGINS": "corral-linucb"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)

    sentence = "the base linucb comes with corral-linucb, which CORRAL_DISABLED_PLUGINS switches off"
    done = run("--horizon", "10", "--rows", "1")
    assert done.returncode == 0
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["epsilon", "episodes"]
    left_out = [f"{name} is left out: {sentence}" for name in ("arms", "dimension", "live", "mixed")]
    assert done.stderr.splitlines() == left_out
    refused = run("arms")
    assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", f"Error: {sentence}\n")


def test_an_unknown_workload(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(capsys, "epsilom") == (2, "", "Error: there is no workload epsilom; did you mean epsilon?\n")


def test_the_workload_is_the_yardsticks() -> None:
    """Eighteen rates from 1 to 2T, arms .5 and .45, and rates that follow from the horizon in plays."""
    workload = parse_point(experiment("epsilon", 512, 50_000))
    (corral,) = workload.curves
    assert len(corral.bases) == 18
    assert corral.meta.eta == 20 / 50_000**0.5  # type: ignore[union-attr]
    assert corral.meta.gamma == 1 / 50_000  # type: ignore[union-attr]
    assert (workload.chunk_size, chunk_count(workload)) == (512, 1)


def test_arms_is_the_yardsticks() -> None:
    """UCB and LinUCB on fifty arms, delta .01, S = 1.5, eta = 1/sqrt(T) with T in plays."""
    workload = parse_point(experiment("arms", 512, 10_000))
    (corral,) = workload.curves
    ucb, linucb = corral.bases
    assert (ucb.delta, linucb.delta, linucb.norm, linucb.dimension) == (0.01, 0.01, 1.5, 2)  # type: ignore[attr-defined]
    assert corral.meta.eta == 0.01  # type: ignore[union-attr]
    assert workload.problem.arms == 50


def test_mixed_is_a_grid_over_dimensions() -> None:
    """Eighteen LinUCB, each of another dimension, in six blocks."""
    (corral,) = parse_point(experiment("mixed", 48, 2_000)).curves
    assert [base.dimension for base in corral.bases] == list(range(1, 19))  # type: ignore[attr-defined]
    assert len(group_kin(corral.bases)) == 6
