"""`corral bench`: one JSON object a workload."""

import json

import pytest

from corral_core import cli
from corral_core.cli.bench import source
from corral_core.experiment import parse


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
    code, said, _ = bench(capsys, "--replicates", "2", "--horizon", "100")
    assert code == 0
    assert "us a play and replicate" in said


def test_an_unknown_workload(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(capsys, "epsilom") == (2, "", "Error: there is no workload epsilom; did you mean epsilon?\n")


def test_the_workload_is_the_yardsticks() -> None:
    """Eighteen rates from 1 to 2T, arms .5 and .45, and rates that follow from the horizon in plays."""
    experiment = parse(source("epsilon", 512, 50_000))
    (corral,) = experiment.curves
    assert len(corral.bases) == 18
    assert corral.meta.eta == 20 / 50_000**0.5  # type: ignore[union-attr]
    assert corral.meta.gamma == 1 / 50_000  # type: ignore[union-attr]
    assert (experiment.chunk, experiment.chunks) == (512, 1)
