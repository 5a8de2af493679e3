"""Whole experiments give the same files with numba and with numpy: indices, ridge regression, GLM fits, episodes."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from corral_core.runs.run import Run

pytestmark = pytest.mark.skipif(not find_spec("numba"), reason="numba is not installed")
SHORT = {
    "quickstart": ["--horizon", "400", "--replicates", "8"],
    "linear-arms": ["--horizon", "400", "--replicates", "8"],
    "unknown-link": ["--horizon", "80", "--replicates", "2"],
    "riverswim": ["--horizon", "60", "--replicates", "3"],
}


def sums(experiment: str, kernels: str, folder: Path) -> str:
    """The checksums of a run in a process of its own."""
    out = folder / f"{experiment}-{kernels}"
    command = [sys.executable, "-c", "from corral_core.cli import main; main()", "run", experiment]
    arguments = [*SHORT[experiment], "--engine", "serial", "--quiet", "--out", str(out)]
    subprocess.run([*command, *arguments], env={**os.environ, "CORRAL_KERNELS": kernels}, check=True)
    assert Run.open(out).versions["kernels"].split()[0] == kernels
    return (out / "SHA256SUMS").read_text()


@pytest.mark.parametrize("experiment", SHORT)
def test_the_same_checksums(experiment: str, tmp_path: Path) -> None:
    assert sums(experiment, "numpy", tmp_path) == sums(experiment, "numba", tmp_path)
