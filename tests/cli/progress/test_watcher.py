"""Watching a run: what is known of it, the plain lines, and who gets which.

Also tests `cli/progress/lines.py`, `cli/progress/silent.py`, `cli/progress/standings.py` and
`cli/progress/time_left.py`.
"""

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from corral_core.cli.progress.lines import Lines
from corral_core.cli.progress.live import Live
from corral_core.cli.progress.silent import Silent
from corral_core.cli.progress.standings import Course, common_plays
from corral_core.cli.progress.time_left import duration
from corral_core.cli.progress.watcher import watcher
from corral_core.engines.chunks import Task, tasks
from corral_core.engines.progress import Progress, Watch
from corral_core.experiments.experiment import Experiment
from corral_core.simulation.record import checkpoints as recorded
from corral_core.terminal import number

sys.path.insert(0, str(Path(__file__).parent))
from watched import HORIZON, Clock, experiment, message, task_of


@pytest.mark.parametrize("seed", range(3))
def test_the_common_plays_against_a_twin_that_keeps_everything(seed: int) -> None:
    """Nothing here is left to chance: the seed only picks the order of the messages."""
    chance = random.Random(seed)
    points = experiment()
    course = Course(points, Clock())
    at = [int(plays) for plays in recorded(HORIZON)]
    waiting = tasks(points)
    chance.shuffle(waiting)
    running: list[tuple[Task, list[int]]] = []
    heard: list[Progress] = []
    for _ in range(600):
        while waiting and len(running) < 3:
            running.append((waiting.pop(), list(at)))
        task, left = chance.choice(running)
        heard.append(message(points, task.curve, task.chunk_number, left.pop(0), chance.uniform(0, 500)))
        course.played(heard[-1])
        running = [each for each in running if each[1]]
        under_way = {task.curve for task, left in running if len(left) < len(at)}
        furthest = {each.task.curve: 0 for each in heard}
        for each in heard:
            furthest[each.task.curve] = max(furthest[each.task.curve], each.plays)
        common = min((furthest[curve] for curve in under_way), default=HORIZON)
        assert common_plays(course.points[0]) == common
        for standing in course.points[0]:
            there = [each for each in heard if (each.task.curve, each.plays) == (standing.name, common)]
            rows = sum(each.task.rows for each in there)
            mean = sum(each.task.rows * (each.regret or 0) for each in there) / rows if rows else None
            assert standing.shown(common) == ("" if mean is None else number(mean))
    done = sum(each.task.rows * (each.plays - before) for each in heard for before in [max(0, each.plays - 2)])
    assert course.share == pytest.approx(done / (4 * 5 * HORIZON))


def test_a_chunk_that_is_played_once_more_counts_once() -> None:
    points = experiment()
    course = Course(points, Clock())
    for plays in (2, 4, 6, 2, 4, 6, 8):
        course.played(message(points, "corral", 0, plays, float(plays)))
    course.finished(task_of(points, "exp3p", 0))
    course.finished(task_of(points, "exp3p", 0))
    corral, exp3p = course.points[0][:2]
    assert (corral.done, corral.replicates_at(2), exp3p.done) == (16, 2, 2 * HORIZON)


def run_of_lines(capsys: pytest.CaptureFixture[str], seconds: float, tell: Callable[[Watch, Clock], None]) -> list[str]:
    clock = Clock()
    with Lines(experiment(), clock) as lines:
        lines.played(message(experiment(), "corral", 0, 2, 0.0))
        clock.now += seconds
        tell(lines, clock)
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.splitlines()


def end_corral(watch: Watch, _: Clock) -> None:
    for chunk, value in enumerate((10.0, 20.0, 60.0)):
        watch.played(message(experiment(), "corral", chunk, HORIZON, value))
        watch.finished(task_of(experiment(), "corral", chunk))


def test_a_line_for_a_curve_that_is_finished(capsys: pytest.CaptureFixture[str]) -> None:
    """(2 x 10 + 2 x 20 + 60) / 5 = 24; a quarter of the work took 10 s, so the rest takes 30 s."""
    assert run_of_lines(capsys, 10, end_corral) == [
        "corral: mean regret 24.0 after 400 plays (1 of 4 curves, 25%, about 30 s left)"
    ]


def test_no_line_for_a_run_of_a_moment(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_of_lines(capsys, 1.9, end_corral) == []


def test_early_lines_are_told_when_the_run_lasts(capsys: pytest.CaptureFixture[str]) -> None:
    def tell(watch: Watch, clock: Clock) -> None:
        end_corral(watch, clock)
        clock.now += 10
        watch.played(message(experiment(), "exp3p", 0, 2, 0.0))

    assert run_of_lines(capsys, 1, tell) == ["corral: mean regret 24.0 after 400 plays (1 of 4 curves, 25%)"]


def test_chunks_that_were_there_count_as_done_but_not_as_speed(capsys: pytest.CaptureFixture[str]) -> None:
    """Two curves and a chunk of corral were there; the rest of corral is played, and exp3p is begun."""
    points, clock = experiment(), Clock()
    with Lines(points, clock) as lines:
        for task in tasks(points):
            if task.curve not in ("corral", "exp3p") or (task.curve, task.chunk_number) == ("corral", 2):
                lines.finished(task)
        lines.played(message(points, "exp3p", 0, 2, 0.0))
        clock.now += 10
        for chunk in (0, 1):
            lines.played(message(points, "corral", chunk, HORIZON, 5.0))
    # Done since the first message: 4 x 400 plays in 10 s; left: 5 x 400 less the 2 x 2 of exp3p, 12.5 s.
    assert capsys.readouterr().err.splitlines() == [
        "corral: mean regret 5 after 400 plays in 4 of 5 replicates (3 of 4 curves, 75%, about 12 s left)"
    ]


def test_the_point_of_a_sweep_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    points, clock = experiment(sweep={"parameter": "horizon", "values": [200, 400]}), Clock()
    with Lines(points, clock) as lines:
        lines.played(message(points, "corral", 0, 2, 0.0, point=1))
        clock.now += 5
        for chunk in range(3):
            lines.played(message(points, "exp3p", chunk, 200, 5.0, point=0))
    assert capsys.readouterr().err.startswith("exp3p, horizon = 200: mean regret 5 after 200 plays (1 of 8 curves, ")


def test_trouble_is_told_even_when_silent(capsys: pytest.CaptureFixture[str]) -> None:
    for watch in (Silent(), Lines(experiment())):
        watch.trouble("a worker\ndied")
        assert capsys.readouterr() == ("", "Warning: a worker died\n")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.1, "1 s"),
        (12.4, "12 s"),
        (33, "35 s"),
        (58, "1 min"),
        (125, "2 min"),
        (3600, "60 min"),
        (7300, "2 h"),
        (300_000, "3 days"),
    ],
)
def test_durations_have_no_false_precision(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("terminal", "term", "quiet", "as_json", "kind"),
    [
        (True, "xterm", False, False, Live),
        (True, "xterm", False, True, Live),
        (True, "xterm", True, False, Silent),
        (True, "dumb", False, False, Lines),
        (True, "dumb", False, True, Silent),
        (False, "xterm", False, False, Lines),
        (False, "xterm", False, True, Silent),
        (False, "xterm", True, True, Silent),
    ],
)
def test_who_watches(
    terminal: bool, term: str, quiet: bool, as_json: bool, kind: type[Watch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", term)
    assert type(watcher(Experiment(experiment()), quiet=quiet, as_json=as_json)) is kind


def test_a_chunk_that_is_given_up_holds_nothing_back() -> None:
    points = experiment()
    course = Course(points, Clock())
    course.played(message(points, "corral", 0, 2, 1.0))
    course.played(message(points, "exp3p", 0, 8, 4.0))
    assert common_plays(course.points[0]) == 2
    course.lost(task_of(points, "corral", 0))
    assert common_plays(course.points[0]) == 8
    assert [standing.name for standing in course.points[0] if standing.running] == ["exp3p"]
    assert [standing.name for standing in course.points[0] if standing.failed] == ["corral"]


def test_a_run_that_is_lost_as_a_whole_has_nothing_left_to_do() -> None:
    points = experiment()
    course = Course(points, Clock())
    for task in tasks(points):
        course.lost(task)
    assert (course.share, course.percent, course.time_left.words()) == (1.0, 100, "")


@pytest.mark.parametrize(("quiet", "as_json", "shown"), [(False, False, 1), (True, False, 0), (False, True, 0)])
def test_that_kernels_are_compiled_is_said_once(
    quiet: bool, as_json: bool, shown: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral_core.cli.progress.watcher.announcement", lambda: "compiling")
    monkeypatch.setattr("corral_core.cli.progress.watcher._said", set())
    for _ in range(3):
        watcher(Experiment(tuple(experiment())), quiet=quiet, as_json=as_json)
    assert capsys.readouterr() == ("", "compiling\n" * shown)
