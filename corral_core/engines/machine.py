"""How a process that plays chunks uses the machine: one BLAS thread, memory that is kept, the number of cores.

Keep this module light: `corral --help` imports it.
"""

from __future__ import annotations

import os

# If set before numpy is imported, these limit BLAS to one thread.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as in malloc.h
KEPT = 256 << 20  # bytes


def keep_freed_memory() -> None:
    """Ask glibc to keep freed memory for the next play; do nothing on other systems.

    By default it may return every array of a few hundred kilobytes to the kernel and request it again at the next play:
    LinUCB with 500 rows and 50 arms was seen to take twice as long, half of it in page faults.
    """
    try:
        import ctypes

        mallopt = ctypes.CDLL(None).mallopt
    except (ImportError, AttributeError, OSError, TypeError):
        return
    mallopt(M_TRIM_THRESHOLD, KEPT)
    mallopt(M_MMAP_THRESHOLD, KEPT)


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
