"""Help and listings stay quick: they import hook modules, never a target, never numpy. Only plays import numba."""

import subprocess
import sys
from pathlib import Path

import pytest

from corral_core.registry.names import get_registry

SCRIPT = """
import sys
from corral_core.cli import main
try:
    main({arguments})
except SystemExit as stop:
    assert not stop.code
print(*sys.modules, file=sys.stderr)
"""


def imported(*arguments: str) -> set[str]:
    """The modules in a fresh Python after this command."""
    script = SCRIPT.format(arguments=list(arguments))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--help"], ["list-bases", "--json"], ["plugins", "--json"]])
def test_no_target_is_imported(arguments: list[str]) -> None:
    modules = imported(*arguments)
    targets = {entry.target.partition(":")[0] for entry in get_registry().plugins.entries if entry.kind != "experiment"}
    assert "corral_core.registry.discovery" in modules
    assert not modules & targets
    assert not modules & {"numpy", "rich", "attrs"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        ["bench", "--help"],
        ["list-bases"],
        ["list-experiments"],
        ["list-engines"],
        ["plugins"],
        ["describe", "ucb"],
        ["describe", "corral"],
        ["describe", "quickstart"],
    ],
    ids=" ".join,
)
def test_what_plays_nothing_does_not_import_numba(arguments: list[str]) -> None:
    assert not {name for name in imported(*arguments) if name.partition(".")[0] in ("numba", "llvmlite")}


def test_reading_and_comparing_a_run_does_not_import_numba(tmp_path: Path) -> None:
    run = ["run", "quickstart", "--horizon", "20", "--replicates", "2", "--out", str(tmp_path / "run"), "--quiet"]
    imported(*run)
    assert "numba" not in imported("compare", str(tmp_path / "run"))
    assert "numba" not in imported(*run), "nothing is missing, so nothing is played"
