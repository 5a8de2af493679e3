"""Files that anybody may have written are read in bounded time and memory."""

import json
import os
from pathlib import Path

import pytest

from corral_core.errors import CorralError
from corral_core.runs import files
from corral_core.runs.reading import MOST_DEPTH, from_json, read_bytes


def test_only_regular_files_of_some_size_are_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert read_bytes(file) is None
    file.write_bytes(b"four")
    assert read_bytes(file, 4) == b"four"
    with pytest.raises(CorralError, match="has 4 bytes; a file of a run has at most 3"):
        read_bytes(file, 3)
    with pytest.raises(CorralError, match="is not a regular file"):
        read_bytes(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorralError, match="is not a regular file"):
        read_bytes(tmp_path / "pipe")
    with (tmp_path / "sparse").open("wb") as sparse:
        sparse.truncate(2**40)
    with pytest.raises(CorralError, match=r"has 1,099,511,627,776 bytes"):
        read_bytes(tmp_path / "sparse")


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_has_a_depth(opening: str) -> None:
    closing = {"[": "]", '{"a":': "}"}[opening]
    for depth, fits in [(MOST_DEPTH - 1, True), (MOST_DEPTH, False), (900, False), (100_000, False)]:
        text = (opening * depth + "1" + closing * depth).encode()
        if fits:
            assert from_json(text) == json.loads(text)
        else:
            with pytest.raises(ValueError, match="too deep"):
                from_json(text)


def test_the_folder_is_synced_after_a_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this order: the bytes, the rename, the name."""
    done: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        done.append("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
        sync(descriptor)

    def replaced(self: Path, target: Path) -> Path:
        done.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    files.write(tmp_path / "file", b"content")
    assert done == ["file", "rename", "folder"]
    assert (tmp_path / "file").read_bytes() == b"content"
