"""Help and listings stay quick: they import hook modules, never a target, never numpy."""

import subprocess
import sys

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
