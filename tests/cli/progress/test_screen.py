"""The live view of a run: what it shows, that it fits, and that nothing of it remains.

Also tests `cli/progress/live.py`.
"""

import contextlib
import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
from rich.cells import cell_len
from rich.console import Console

from corral_core.cli.progress.live import Live
from corral_core.cli.progress.screen import Screen
from corral_core.cli.progress.standings import Course
from corral_core.engines.progress import Progress
from corral_core.experiments.experiment import Experiment
from corral_core.experiments.point import Point
from corral_core.runs.runner import run_experiment

sys.path.insert(0, str(Path(__file__).parent))
from watched import HORIZON, Clock, experiment, message, task_of


def drawn(course: Course, columns: int = 80, rows: int = 23, ascii_only: bool = False) -> list[str]:
    return [line.plain for line in Screen(course, columns, rows, ascii_only).lines()]


def row_of(lines: Sequence[str], name: str) -> list[str]:
    """The cells of a curve's row."""
    found = next(line for line in lines if line.startswith(name))
    return re.split(r"\s\s+", found.strip())


def test_a_curve_that_failed_is_marked() -> None:
    points = experiment()
    course = Course(points, Clock())
    for curve in ("corral", "exp3p"):
        course.played(message(points, curve, 0, 8, 4.0))
    course.lost(task_of(points, "exp3p", 0))
    lines = drawn(course)
    assert "failed" in row_of(lines, "exp3p")
    assert "failed" not in row_of(lines, "corral")


class Terminal:
    """As much of a terminal as the live view needs; like most, it wraps long lines again when it gets narrower."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.rows, self.row, self.column = [""], 0, 0

    def feed(self, said: str) -> None:
        for code, sign in re.findall(r"\x1b\[([0-9;?]*[a-zA-Z])|(.|\n)", said):
            if sign == "\n":
                self.row, self.column = self.row + 1, 0
                self.rows += [""] * (self.row - len(self.rows) + 1)
            elif sign == "\r":
                self.column = 0
            elif sign:
                assert self.column < self.columns
                before = self.rows[self.row].ljust(self.column)
                self.rows[self.row] = before[: self.column] + sign + before[self.column + 1 :]
                self.column += 1
            elif code.endswith("A"):
                self.row -= int(code[:-1])
                assert self.row >= 0
            elif code == "2K":
                self.rows[self.row] = ""
            else:
                assert re.fullmatch(r"[0-9;]*m|\?25[lh]", code), code

    def narrow(self, columns: int) -> None:
        self.columns = columns
        wrapped = [[row[at : at + columns] for at in range(0, max(1, len(row)), columns)] for row in self.rows]
        self.row = sum(map(len, wrapped[: self.row + 1])) - 1
        self.rows = [part for row in wrapped for part in row]
        self.column = len(self.rows[self.row])


class Stage:
    """A live view with its terminal and clock."""

    def __init__(self, points: list[Point], columns: int = 80, rows: int = 24) -> None:
        self.file, self.clock, self.terminal = io.StringIO(), Clock(), Terminal(columns)
        self.console = Console(
            file=self.file, width=columns, height=rows, force_terminal=True, color_system=None, _environ={}
        )
        self.live = Live(points, console=self.console, clock=self.clock)

    def later(self, progress: Progress) -> None:
        self.clock.now += 1
        self.live.played(progress)

    def screen(self) -> list[str]:
        self.terminal.feed(self.file.getvalue())
        self.file.seek(0)
        self.file.truncate()
        return [row.rstrip() for row in self.terminal.rows]


def test_means_are_over_the_chunks_that_have_come_so_far() -> None:
    """By hand: chunks of 2, 2 and 1 replicates."""
    points = experiment()
    course = Course(points, Clock())
    for curve, chunk, plays, value in [
        ("corral", 0, 100, 10.0),
        ("corral", 0, 200, 25.0),
        ("corral", 2, 100, 40.0),
        ("exp3p", 0, 100, 7.0),
        ("exp3p", 1, 100, 8.0),
    ]:
        course.played(message(points, curve, chunk, plays, value))
    lines = drawn(course)
    assert re.split(r"\s\s+", lines[1].strip()) == ["curve", "done", "plays", "regret", "at 100 plays"]
    assert row_of(lines, "corral")[2:] == ["25%", "200", "25.0", "20.0"]  # (2 x 10 + 1 x 40) / 3 at 100 plays
    assert row_of(lines, "exp3p")[2:] == ["20%", "100", "7.5", "7.5"]
    assert row_of(lines, "epsilon-greedy(c=1)")[2:] == ["0%"]
    assert lines[0].startswith(" 11%")  # 2 x 200 + 1 x 100 + 4 x 100 of 4 curves x 5 x 400


def test_probabilities_are_over_the_chunks_under_way() -> None:
    points = experiment()
    course = Course(points, Clock())
    first, second, ended = (task_of(points, "corral", chunk) for chunk in (0, 2, 1))
    course.played(Progress(ended, HORIZON, 1.0, 1.0, (0.0, 1.0)))
    course.played(Progress(first, 2, 1.0, 1.0, (0.9, 0.1)))
    course.played(Progress(second, 4, 1.0, 1.0, (0.3, 0.7)))
    assert course.points[0][0].chosen() == pytest.approx([0.7, 0.3])  # (2 x 0.9 + 0.3) / 3
    lines = drawn(course)
    assert lines[-3] == "probabilities of corral"
    _, bar, other = [re.split(r"\s\s+", line.strip())[-1] for line in lines[-3:]]
    assert bar == "█" * 31 + " 0.70"  # the largest fills its bar
    assert other.endswith(" 0.30") and other.count("█") == 13


def test_what_is_not_a_number_is_shown_as_such() -> None:
    points, nan = experiment(), float("nan")
    course = Course(points, Clock())
    course.played(Progress(task_of(points, "corral", 0), 2, nan, nan, (nan, nan)))
    lines = drawn(course)
    assert row_of(lines, "corral")[-2:] == ["nan", "nan"]
    assert lines[-1].split() == ["epsilon-greedy(c=2)", "nan"]


def test_rewards_where_nobody_knows_the_regret() -> None:
    points = experiment()
    course = Course(points, Clock())
    course.played(message(points, "corral", 0, 100, 33.3, known=False))
    lines = drawn(course)
    assert "reward" in lines[1] and "regret" not in lines[1]
    assert row_of(lines, "corral")[-1] == "33.3"


def test_the_points_under_way_are_shown() -> None:
    points = experiment(sweep={"parameter": "horizon", "values": [200, 400, 800]})
    course = Course(points, Clock())
    assert len(drawn(course)) == 1  # nothing to see yet
    course.played(message(points, "corral", 0, 400, 5.0, point=2))
    course.played(message(points, "exp3p", 0, 100, 7.0, point=1))
    lines = drawn(course)
    heads = [line.split("  ")[0] for line in lines if line.startswith("horizon")]
    assert heads == ["horizon = 400", "horizon = 800"]
    assert [line for line in lines if "at 100 plays" in line] and [line for line in lines if "at 400 plays" in line]
    for chunk in range(3):
        course.played(message(points, "exp3p", chunk, 400, 7.0, point=1))
    assert [line.split("  ")[0] for line in drawn(course) if line.startswith("horizon")] == ["horizon = 800"]


ODD = "ü" * 30 + "漢字" * 20 + "\x1b[31m\n"


def crowded() -> list[Point]:
    """Twenty curves over eighteen bases at three points; names that are long, wide and full of control signs."""
    points = experiment(18, sweep={"parameter": "horizon", "values": [200, 400, 800]})
    odd = [attrs.evolve(point.curves[0], name=ODD, labels=(ODD, *point.curves[0].labels[1:])) for point in points]
    return [
        attrs.evolve(point, curves=(odd[place], *point.curves[1:]), at=point.at + ODD * (place == 1))
        for place, point in enumerate(points)
    ]


def begun(points: list[Point], running: int) -> Course:
    """So many curves of every point under way, and as many ended."""
    course = Course(points, Clock())
    for place, point in enumerate(points):
        for curve in point.curves[:running]:
            course.played(message(points, curve.name, 0, point.horizon // 2, 1234.5, point=place))
        for curve in point.curves[running : 2 * running]:
            course.played(message(points, curve.name, 0, point.horizon, 12.34, point=place))
    return course


@pytest.mark.parametrize("running", [1, 2, 10])
def test_it_fits_every_terminal(running: int) -> None:
    course = begun(crowded(), running)
    for columns in (1, 7, 20, 39, 40, 60, 80, 120, 200):
        for rows in (1, 2, 3, 4, 5, 11, 23, 39, 80):
            for ascii_only in (False, True):
                lines = drawn(course, columns, rows, ascii_only)
                assert len(lines) <= rows
                assert max(map(cell_len, lines)) <= columns
                assert not ascii_only or "".join(lines).isascii()
                assert not re.search(r"[\x00-\x1f]", "".join(lines))


def test_twenty_curves_and_eighteen_bases_in_eighty_by_twenty_four() -> None:
    points = experiment(18)
    course = Course(points, Clock())
    for curve in points[0].curves[1:-1]:
        course.played(message(points, curve.name, 0, HORIZON, 70.0))
    course.played(message(points, "corral", 0, 100, 50.0))
    course.played(message(points, "epsilon-greedy(c=18)", 0, 100, 60.0))  # the last, yet shown, as it is under way
    lines = drawn(course)
    assert len(lines) <= 23
    assert row_of(lines, "epsilon-greedy(c=18)")[-1] == "60.0"
    shown = sum("%" in line for line in lines[1:])
    assert f"and {20 - shown} more" in lines
    below = lines[lines.index("probabilities of corral") + 1 :]
    assert [len(re.findall(rf"\(c={base}\)", " ".join(below))) for base in range(1, 19)] == [1] * 18


def test_forty_columns_shorten_names_in_the_middle() -> None:
    lines = drawn(begun(experiment(18), 1), 40, 11)
    assert any(re.match(r"epsi\S*…\S*c=1\)", line) for line in lines)
    assert all(len(line) <= 40 for line in lines)
    assert "at 200 plays" in lines[1]


def test_nothing_of_the_live_view_remains_but_trouble() -> None:
    points = experiment()
    stage = Stage(points)
    with stage.live as live:
        stage.later(message(points, "corral", 0, 100, 10.0))
        assert any(row.startswith("corral ") for row in stage.screen())
        live.trouble("the worker\nof curve [red]corral[/red] died")
        stage.later(message(points, "corral", 0, 102, 10.5))
        rows = stage.screen()
        assert rows[0] == "Warning: the worker of curve [red]corral[/red] died"
        assert sum(row.startswith("corral ") for row in rows) == 1
    assert [row for row in stage.screen() if row] == ["Warning: the worker of curve [red]corral[/red] died"]


def test_a_terminal_that_becomes_narrower() -> None:
    points = experiment()
    stage = Stage(points)
    with stage.live:
        stage.later(message(points, "corral", 0, 100, 10.0))
        stage.screen()
        stage.terminal.narrow(40)
        stage.console.width = 40
        stage.later(message(points, "corral", 0, 102, 10.5))
        rows = stage.screen()
        assert sum("%" in row for row in rows) == 5 and max(map(len, rows)) <= 40
        stage.terminal.narrow(25)
        stage.console.width = 25
    assert not any(stage.screen())


def test_it_is_drawn_four_times_a_second_at_most() -> None:
    points = experiment()
    stage = Stage(points)
    with stage.live as live:
        stage.screen()
        before = stage.file.getvalue()
        for plays in range(2, HORIZON, 2):
            live.played(message(points, "corral", 0, plays, 1.0))
        assert stage.file.getvalue() == before
        stage.clock.now += 0.25
        live.finished(task_of(points, "corral", 1))
        assert stage.file.getvalue() != before


def test_signs_that_the_terminal_cannot_write() -> None:
    points = experiment()
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii"), width=80, height=24, force_terminal=True)
    clock = Clock()
    with Live(points, console=console, clock=clock) as live:
        clock.now += 1
        live.played(message(points, "corral", 0, 100, 10.0))
    console.file.flush()
    assert b"# 0.67" in re.sub(rb"\x1b\[[0-9;]*m", b"", raw.getvalue())


def test_a_whole_run_is_watched() -> None:
    """Every message of a real run: all is done at the end, and the means are those of the result."""
    points = experiment(horizon=40)
    stage = Stage(points)
    results = run_experiment(Experiment(points), engine="serial", watch=stage.live)
    course = stage.live._course
    assert (course.percent, course.ended) == (100, 4)
    for standing, result in zip(course.points[0], results, strict=True):
        for place, plays in enumerate(range(1, 41)):
            assert standing.mean(plays) == pytest.approx(result.measured.mean[place])
    assert not any(stage.screen())


SCRIPT = """
from corral_core import load_experiment, run_experiment
from corral_core.cli.progress.watcher import watcher
experiment = load_experiment("quickstart", replicates=2, horizon=2000)
run_experiment(experiment, engine="serial", watch=watcher(experiment, quiet=False, as_json=False))
"""


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_in_a_terminal_of_forty_columns_without_colours(term: str) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "40", "LINES": "12", "TERM": term, "NO_COLOR": "1"}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while more := os.read(ours, 65536):
                said += more
    os.close(ours)
    assert process.returncode == 0
    if term == "dumb":
        assert b"\x1b" not in said
        return
    assert not re.search(rb"\x1b\[[0-9;]*3[0-7]m", said)
    terminal = Terminal(40)  # refuses longer lines
    terminal.feed(said.decode().replace("\r\n", "\n"))
    assert not any(row.strip() for row in terminal.rows)
    frames = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said.decode())
    assert re.search(r"curve +done", frames) and re.search(r"\nprobabilities", frames)
