"""`corral bench`: one JSON object a workload.

Also tests `cli/bench/command.py` and `cli/bench/workloads.py`.
"""

import json
import os
import subprocess
import sys

import pytest

from corral_core import cli
from corral_core.cli.bench.workloads import experiment
from corral_core.engines.chunks import chunk_count
from corral_core.experiments.point import parse_point


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


def test_a_line_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    code, said, error = bench(capsys, "--replicates", "2", "--horizon", "100")
    assert (code, error) == (0, "")
    assert [line.partition(":")[0] for line in said.splitlines()] == ["epsilon", "arms", "dimension"]
    assert said.count("us per play and replicate") == 3
    assert "times its bare matrix products" in said


def test_a_workload_whose_plugin_is_absent() -> None:
    """It is left out of all, and refused where it was asked for."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from corral_core.cli import main; main()", "bench", *arguments]
        environment = {**os.environ, "CORRAL_DISABLED_PLUGINS": "corral-linucb"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)

    sentence = "the base linucb comes with corral-linucb, which CORRAL_DISABLED_PLUGINS switches off"
    done = run("--replicates", "2", "--horizon", "100")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1
    assert f"arms is left out: {sentence}" in done.stderr
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
