"""Checksums of a run: a SHA-256 of every file in the journal and, when the run is complete, `SHA256SUMS`.

`SHA256SUMS` has the format that `sha256sum -c` reads. It is the same for every complete run of an experiment with the
same versions and code on the same kind of machine, so its own digest is the checksum of the run. It follows from the
journal: the file is never trusted, and the next `corral run` mends one that differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

NAME = "SHA256SUMS"


def digest(content: bytes) -> str:
    """SHA-256, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def listed(digests: Iterable[tuple[str, str]]) -> str:
    """The content of `SHA256SUMS`, from file names and digests."""
    return "".join(f"{found}  {name}\n" for name, found in digests)
