"""What the allocator does with memory that is freed."""

from __future__ import annotations

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as malloc.h has them
KEPT = 256 << 20  # bytes


def keep_freed_memory() -> None:
    """Ask glibc to keep freed memory for the next play; elsewhere nothing happens.

    By itself it may give every array of a few hundred kilobytes back to the kernel and ask for it again at the next
    play: LinUCB with 500 rows and 50 arms was seen to take twice its time, half of it in page faults.
    """
    try:
        import ctypes

        mallopt = ctypes.CDLL(None).mallopt
    except (ImportError, AttributeError, OSError, TypeError):
        return
    mallopt(M_TRIM_THRESHOLD, KEPT)
    mallopt(M_MMAP_THRESHOLD, KEPT)
