"""What numba compiled: damaged or unwritable files cost time, never a run."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from corral_core.kernels.caching import ForgivingCache

DRAW = """
import numpy as np
from corral_core.kernels import twins
from corral_core.kernels.draw import draw
print(twins.bind(), draw(np.array([[1.0], [3.0]]), np.array([0.5])))
"""


class Broken:
    """A cache of which nothing can be read or written."""

    cache_path = "somewhere"

    def __init__(self) -> None:
        self.flushed = 0

    def load_overload(self, *_: Any) -> Any:
        raise EOFError("Ran out of input")

    def save_overload(self, *_: Any) -> None:
        raise OSError("no space left on device")

    def flush(self) -> None:
        self.flushed += 1
        raise OSError("no space left on device")


def test_nothing_is_raised() -> None:
    broken = Broken()
    cache = ForgivingCache(broken)
    assert cache.load_overload("types", "target") is None
    cache.save_overload("types", "code")
    assert (broken.flushed, cache.cache_path) == (1, "somewhere")


def test_an_interrupt_is_not_forgiven(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(self: Broken, *_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Broken, "load_overload", stopped)
    with pytest.raises(KeyboardInterrupt):
        ForgivingCache(Broken()).load_overload()


@pytest.mark.skipif(not find_spec("numba"), reason="numba is not installed")
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [b"", b"\x80\x04nonsense"], ids=["empty", "nonsense"])
def test_a_damaged_file_is_replaced(ending: str, left: bytes, tmp_path: Path) -> None:
    """The next process compiles again and keeps it; the one after that finds it ready."""

    def play() -> dict[Path, bytes]:
        done = subprocess.run(
            [sys.executable, "-c", DRAW],
            env={**os.environ, "CORRAL_KERNELS": "numba", "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout, done.stderr) == ("numba (array([1]), array([0.75]))\n", "")
        return {path: path.read_bytes() for path in tmp_path.rglob(f"draw*.{ending}")}

    (damaged,) = play()
    damaged.write_bytes(left)
    mended = play()
    assert mended[damaged] != left
    assert play() == mended
