"""`corral bench --against FILE`: changes in percent since an earlier run, and files that are none."""

import json
from pathlib import Path
from typing import Any

import pytest

from corral_core import cli
from corral_core.cli.bench.earlier import Earlier, changes
from corral_core.errors import CorralError

MEASURED: dict[str, Any] = {
    "workload": "arms", "us_per_play": 2.0, "calls_per_play": 50.0, "replicates": 512, "horizon": 1000,
}  # fmt: skip
LIVE = {**MEASURED, "workload": "live", "cases": [{"case": "two bases", "us_per_play": 4.0, "calls_per_play": 8.0}]}


def bench(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(["bench", *arguments])
    return stop.value.code, *capsys.readouterr()


def written(folder: Path, *lines: Any) -> Path:
    file = folder / "before.json"
    file.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return file


def test_changes_in_percent() -> None:
    found = changes(MEASURED, {"us_per_play": 3.0, "calls_per_play": 25.0})
    assert found == {"us_per_play": pytest.approx(50.0), "calls_per_play": pytest.approx(-50.0)}
    assert changes({"us_per_play": 2.0}, {"us_per_play": 1.0, "calls_per_play": 9.0}) == {"us_per_play": -50.0}


def test_the_same_workload_in_the_same_size_is_compared(tmp_path: Path) -> None:
    earlier = Earlier(written(tmp_path, MEASURED, "", {**MEASURED, "us_per_play": 4.0}, LIVE))
    assert earlier.compared(MEASURED)["against"] == {"us_per_play": -50.0, "calls_per_play": 0.0}, "with the last one"
    assert earlier.missing(MEASURED) == ""
    other = {**MEASURED, "replicates": 1}
    assert earlier.compared(other)["against"] is None
    sentence = "before.json has no arms with 1 row and 1,000 plays; it has 512 rows and 1,000 plays"
    assert earlier.missing(other).endswith(sentence)
    assert earlier.missing({**MEASURED, "workload": "mixed"}).endswith("has no mixed with 512 rows and 1,000 plays")


def test_every_case_is_compared(tmp_path: Path) -> None:
    now = {**LIVE, "cases": [{"case": "two bases", "us_per_play": 2.0, "calls_per_play": 8.0},
                             {"case": "eight bases", "us_per_play": 2.0, "calls_per_play": 8.0}]}  # fmt: skip
    first, second = Earlier(written(tmp_path, LIVE)).compared(now)["cases"]
    assert first["against"] == {"us_per_play": -50.0, "calls_per_play": 0.0}
    assert second["against"] is None


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "3", '{"workload": "arms"}', json.dumps({**MEASURED, "us_per_play": 0}),
     json.dumps({**MEASURED, "us_per_play": float("nan")}), json.dumps({**MEASURED, "us_per_play": "2"}),
     json.dumps({**LIVE, "cases": [{"us_per_play": 1.0}]}), json.dumps({**LIVE, "cases": 3}), "[" * 100_000],
)  # fmt: skip
def test_another_file_is_refused(line: str, tmp_path: Path) -> None:
    with pytest.raises(CorralError, match=r"line 2, is not what `corral bench --json` printed$"):
        Earlier(written(tmp_path, MEASURED, line))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for file, said in (
        (tmp_path / "nowhere", "nowhere cannot be read: No such file or directory"),
        (tmp_path, "cannot be read: Is a directory"),
        (written(tmp_path), "is empty; it must have what `corral bench --json` printed"),
    ):
        with pytest.raises(CorralError, match=said):
            Earlier(file)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What --json printed is what --against reads, and the text shows the change."""
    small = ("epsilon", "--rows", "2", "--horizon", "10")
    _, said, _ = bench(capsys, *small, "--json")
    file = written(tmp_path, said)
    code, text, error = bench(capsys, *small, "--against", str(file))
    assert (code, error) == (0, "")
    assert "us per play and row (" in text and "calls per play (+0.0%)" in text
    _, again, _ = bench(capsys, *small, "--json", "--against", str(file))
    assert set(json.loads(again)["against"]) == {"us_per_play", "calls_per_play"}
    code, text, error = bench(capsys, "epsilon", "--rows", "3", "--horizon", "10", "--against", str(file))
    assert (code, error.count("has no epsilon with 3 rows and 10 plays; it has 2 rows and 10 plays")) == (0, 1)
    assert bench(capsys, *small, "--against", str(tmp_path / "nowhere"))[:2] == (2, "")
