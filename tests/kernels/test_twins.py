"""Which twin of a kernel plays: what the environment asks for, what is installed, and what is broken."""

import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from corral_core.errors import CorralError
from corral_core.kernels import twins
from corral_core.kernels.twins import Kernel, described, kernel, wish

needs_numba = pytest.mark.skipif(not find_spec("numba"), reason="numba is not installed")
BROKEN = "raise ImportError('Numba needs NumPy 1.0 or less')\n"
BIND = """
import sys
from corral_core.kernels import twins
from corral_core.kernels.draw import draw
before = "numba" in sys.modules
print(before, twins.bind(), "numba" in sys.modules, twins.described())
import numpy as np
print(draw(np.array([[1.0], [3.0]]), np.array([0.5])))
"""


def python(script: str, tmp_path: Path, broken: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh Python with these variables, perhaps with a numba that cannot be imported."""
    if broken:
        (tmp_path / "numba").mkdir(exist_ok=True)
        (tmp_path / "numba" / "__init__.py").write_text(BROKEN)
        environment["PYTHONPATH"] = str(tmp_path)
    kept = {name: value for name, value in os.environ.items() if name not in ("CORRAL_KERNELS", "NUMBA_DISABLE_JIT")}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env=kept | environment, capture_output=True, text=True, check=False)


def drawn(script: str, tmp_path: Path, **environment: str) -> list[str]:
    """What the script prints before and after a kernel has played, which gives the same both ways."""
    done = python(script, tmp_path, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert second == "(array([1]), array([0.75]))"
    return first.split()


def test_numpy_plays_if_asked_for_and_numba_is_not_imported(tmp_path: Path) -> None:
    assert drawn(BIND, tmp_path, CORRAL_KERNELS="numpy") == ["False", "numpy", "False", "numpy"]


@needs_numba
@pytest.mark.parametrize("wanted", ["", "numba"])
def test_numba_plays_if_it_is_there(wanted: str, tmp_path: Path) -> None:
    expected = ["False", "numba", "True", "numba", version("numba")]
    assert drawn(BIND, tmp_path, CORRAL_KERNELS=wanted) == expected


@needs_numba
def test_without_compiling_numpy_plays(tmp_path: Path) -> None:
    assert drawn(BIND, tmp_path, NUMBA_DISABLE_JIT="1") == ["False", "numpy", "True", "numpy"]
    assert drawn(BIND, tmp_path, NUMBA_DISABLE_JIT="1", CORRAL_KERNELS="numba")[1] == "numba", (
        "the loops, for debugging"
    )


@needs_numba
@pytest.mark.parametrize(("disabled", "plays"), [("1", "numpy"), ("0", "numba"), ("", "numba")])
def test_what_would_play_is_said_before_anything_plays(
    disabled: str, plays: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(twins, "_bound", "")
    monkeypatch.delenv("CORRAL_KERNELS", raising=False)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", disabled)
    assert described().split()[0] == plays


def test_a_broken_numba_is_one_warning_and_numpy_plays(tmp_path: Path) -> None:
    done = python("from corral_core.errors import warn_plainly; warn_plainly()\n" + BIND, tmp_path, broken=True)
    assert done.returncode == 0
    assert done.stdout.startswith("False numpy False numpy\n")
    why = "ImportError: Numba needs NumPy 1.0 or less"
    assert done.stderr == f"Warning: numba cannot be imported, so numpy plays: {why}\n"


def test_a_broken_numba_that_was_asked_for_is_refused(tmp_path: Path) -> None:
    done = python(BIND, tmp_path, broken=True, CORRAL_KERNELS="numba")
    sentence = "CORRAL_KERNELS is numba, but numba cannot be imported: ImportError: Numba needs NumPy 1.0 or less"
    assert done.returncode == 1 and sentence in done.stderr


def test_an_absent_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twins, "_bound", "")
    monkeypatch.setattr(twins, "_kernels", [])
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delenv("CORRAL_KERNELS", raising=False)
    assert described() == "numpy"
    monkeypatch.setenv("CORRAL_KERNELS", "numba")
    with pytest.raises(CorralError, match="CORRAL_KERNELS is numba, but numba cannot be imported: ModuleNotFoundError"):
        twins.bind()
    monkeypatch.setenv("CORRAL_KERNELS", "")
    assert twins.bind() == described() == "numpy"


@pytest.mark.parametrize("wanted", ["nonsense", "NUMBA", " numpy", "x" * 1000])
def test_another_wish_is_refused(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORRAL_KERNELS", wanted)
    with pytest.raises(CorralError, match=r"CORRAL_KERNELS must be numpy or numba, not .{0,80}$"):
        wish()


@needs_numba
def test_kernels_that_cannot_be_kept_are_compiled_all_the_same(tmp_path: Path) -> None:
    """numba finds no folder that it may write to."""
    (tmp_path / "file").write_text("")
    nowhere = {
        "NUMBA_CACHE_DIR": str(tmp_path / "file" / "x"),
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
    }
    assert drawn(BIND, tmp_path, **nowhere)[1] == "numba"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of a test are forgotten after it, and nothing is bound yet."""
    monkeypatch.setattr(twins, "_bound", "")
    monkeypatch.setattr(twins, "_kernels", [])


def doubled() -> Kernel:
    @kernel(lambda values: 2 * values)
    def double(values):  # type: ignore[no-untyped-def]
        """Twice each value."""
        found = np.empty_like(values)
        for at in range(len(values)):
            found[at] = 2 * values[at]
        return found

    return double


@pytest.mark.usefixtures("alone")
def test_a_kernel_is_bound_when_the_first_selection_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORRAL_KERNELS", "numpy")
    early = doubled()
    assert (early.__name__, early.__doc__) == ("double", "Twice each value.")
    assert early(np.arange(3)).tolist() == [0, 2, 4], "numpy plays before"
    assert twins.bind() == "numpy"
    monkeypatch.setenv("CORRAL_KERNELS", "nonsense")
    assert twins.bind() == "numpy", "what was decided stays"
    assert doubled()(np.arange(3)).tolist() == [0, 2, 4], "also for kernels that are imported later"
    assert twins.sources() == [__file__]


@needs_numba
@pytest.mark.usefixtures("alone")
@pytest.mark.filterwarnings("error")
def test_a_kernel_of_loops(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CORRAL_KERNELS", raising=False)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    early = doubled()
    assert twins.bind() == "numba"
    late = doubled()
    for each in (early, late):
        assert each(np.arange(3)).tolist() == [0, 2, 4]
        assert len(each.compiled.signatures) == 1, "it was compiled"


def test_a_selection_binds() -> None:
    script = """
from corral_core import Corral, Problem, Selection
from corral_core.kernels import twins
from corral_mab import Ucb
problem = Problem(arms=2, noise=0.5, low=0.0, high=1.0, horizon=9, delta=0.1)
assert twins._bound == ""
Selection([Ucb().resolve(problem)] * 2, Corral(), problem, rounds=9, rng=1)
assert twins._bound == "numpy"
"""
    done = python(script, Path(), CORRAL_KERNELS="numpy")
    assert (done.returncode, done.stderr) == (0, "")
