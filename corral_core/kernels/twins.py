"""A kernel: a hot loop that is written twice, and gives the same bits both ways.

`arrays` is a numpy function. `loops` does the same with loops over numbers; it is compiled by numba if that is
installed (`pip install "corral-core[fast]"`). A run therefore does not depend on whether it is.

    @kernel(largest_of_arrays)
    def largest(index): ...

The same bits need: only + - * / sqrt and comparisons, in the same order; sums of floats in the order of a loop
(`sums.py`); logarithms and the like outside the kernel, in numpy.

Kernels are bound to one of their twins when the first selection is made, not when they are imported.
`CORRAL_KERNELS=numpy` or `=numba` in the environment of the process decides; otherwise numba plays if it is there.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from corral_core.errors import CorralError, reason, shortened
from corral_core.kernels.caching import ForgivingCache

VARIABLE = "CORRAL_KERNELS"
CHOICES = ("numpy", "numba")

_kernels: list[Kernel] = []
_bound = ""  # the twins that play: one of CHOICES; empty if no selection was made yet


class Kernel:
    """A function with two twins, of which one plays.

    Every kernel has a class of its own, whose `__call__` is the twin that plays, so that a call costs no more.
    """

    def __init__(self, arrays: Callable[..., Any], loops: Callable[..., Any]) -> None:
        self.arrays, self.loops = arrays, loops
        self.__doc__, self.__name__, self.__module__ = loops.__doc__, loops.__name__, loops.__module__
        self._compiled: Any = None
        _kernels.append(self)
        self.bind(_bound or "numpy")

    def __call__(self, *arguments: Any) -> Any:
        raise NotImplementedError  # `bind` puts a twin in its place

    def bind(self, twin: str) -> None:
        """Let this twin play from now on."""
        plays = self.arrays if twin == "numpy" else self.compiled
        setattr(type(self), "__call__", staticmethod(plays))  # noqa: B010 - mypy forbids the assignment

    @property
    def compiled(self) -> Any:
        """The loops, to be compiled by numba when they are first called; raises ImportError without numba."""
        if self._compiled is None:
            njit = import_module("numba").njit
            try:
                self._compiled = njit(cache=True, error_model="numpy")(self.loops)
            except RuntimeError:  # there is no folder for the cache
                self._compiled = njit(error_model="numpy")(self.loops)
            if hasattr(self._compiled, "_cache"):
                self._compiled._cache = ForgivingCache(self._compiled._cache)
        return self._compiled


def kernel(arrays: Callable[..., Any]) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorates loops; `arrays` is their twin in numpy."""
    return lambda loops: type(loops.__name__, (Kernel,), {})(arrays, loops)


def bind() -> str:
    """Decide which twins play, once per process, and bind every kernel to its own; returns the choice."""
    global _bound
    if not _bound:
        _bound = _decided()
        for each in _kernels:
            each.bind(_bound)
    return _bound


def _decided() -> str:
    wanted = wish()
    if wanted == "numpy":
        return wanted
    try:
        numba: Any = import_module("numba")
    except Exception as broken:  # it refuses versions of numpy that it does not know
        if wanted == "numba":
            raise CorralError(f"{VARIABLE} is numba, but numba cannot be imported: {reason(broken)}") from None
        if is_installed():
            warnings.warn(f"numba cannot be imported, so numpy plays: {reason(broken)}", RuntimeWarning, stacklevel=2)
        return "numpy"
    if not wanted and numba.config.DISABLE_JIT:
        return "numpy"  # uncompiled loops are slow
    _load_extensions()
    return "numba"


def _load_extensions() -> None:
    """Let numba look for its extensions now, as it does once, when it first compiles.

    A broken entry point of any distribution ends that search. Kernels need no extensions, and `corral plugins` names
    the distribution.
    """
    with contextlib.suppress(Exception):
        import_module("numba.core.entrypoints").init_all()


def wish() -> str:
    """What the environment asks for: one of CHOICES, or empty."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted and wanted not in CHOICES:
        raise CorralError(f"{VARIABLE} must be {' or '.join(CHOICES)}, not {shortened(wanted)}")
    return wanted


def described() -> str:
    """Which kernels play here, with their version, without importing them: "numba 0.68.1".

    Before the first selection it is not known whether numba can be imported; it is taken to be.
    """
    disabled = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    usual = "numba" if is_installed() and not disabled else "numpy"
    if (_bound or wish() or usual) == "numpy":
        return "numpy"
    try:
        return f"numba {version('numba')}"
    except PackageNotFoundError:
        return "numba"


def is_installed() -> bool:
    """Whether there is a numba to import; it may still be broken."""
    return find_spec("numba") is not None


def sources() -> list[str]:
    """The files of all kernels that are imported by now."""
    return list(dict.fromkeys(each.loops.__code__.co_filename for each in _kernels))
