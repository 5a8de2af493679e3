"""Experiments: files and registered names, parsed into points and curves.

Also tests `experiments/chunk_size.py`, `experiments/curves.py`, `experiments/point.py` and `experiments/source.py`.
"""

from pathlib import Path
from typing import Any

import pytest

from corral_core.engines.chunks import tasks
from corral_core.errors import CorralError
from corral_core.experiments.experiment import load_experiment
from corral_core.experiments.point import Point, parse_point
from corral_core.experiments.source import read, sweep
from corral_core.registry.discovery import Registered
from corral_core.registry.names import get_registry
from corral_core.selection.options import PRESETS

ARMS = {"name": "bernoulli-arms", "means": [0.5, 0.45]}


def source(**changes: Any) -> dict[str, Any]:
    plain = {
        "name": "small",
        "horizon": 100,
        "replicates": 3,
        "environment": ARMS,
        "meta": {"name": "corral"},
        "bases": [{"name": "ucb"}, {"name": "epsilon-greedy", "grid": {"c": [1, 10]}}],
    }
    return {**plain, **changes}


def made(**changes: Any) -> Point:
    return parse_point(source(**changes))


def points(parameter: str, values: Any, **changes: Any) -> list[Point]:
    swept = source(**changes, sweep={"parameter": parameter, "values": values})
    return [parse_point(point) for point in sweep(swept)]


def names(experiment: Point) -> list[str]:
    return [curve.name for curve in experiment.curves]


# --- where experiments come from ---


@pytest.mark.parametrize("name", [entry.name for entry in get_registry().entries("experiment")])
def test_every_registered_experiment_parses(name: str) -> None:
    for point in load_experiment(name).points:
        assert point.name == name
        assert point.question
        assert len(set(names(point))) == len(point.curves)
        assert parse_point(point.source) == point


def test_the_papers_figure() -> None:
    """Arms .5 and .45, 18 rates from 1 to 2T, 50,000 plays, 50 replicates, eta = 20/sqrt(T); bases and UCB alone."""
    (figure,) = load_experiment("epsilon-greedy").points
    assert (figure.horizon, figure.replicates) == (50_000, 50)
    assert figure.environment.means == (0.5, 0.45)  # type: ignore[attr-defined]
    corral, *alone = figure.curves
    assert [len(corral.bases), len(alone)] == [18, 19]
    assert (corral.bases[0].c, corral.bases[-1].c) == (1.0, 100_000.0)  # type: ignore[attr-defined]
    assert alone[-1].name == "ucb"
    assert figure.choices(figure.curve("corral")) == ["eta = 0.1265 (given)"]  # 20/sqrt(25,000 rounds)


def test_a_file_is_named_after_itself_unless_it_says_otherwise(tmp_path: Path) -> None:
    text = "horizon = 9\nenvironment = { name = 'bernoulli-arms' }\nbases = [{ name = 'ucb' }]\n"
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "plain").write_text('name = "said"\n' + text)
    assert read(str(tmp_path / "mine.toml")).table["name"] == "mine"
    assert load_experiment(str(tmp_path / "plain")).name == "said"


def test_overrides_replace_what_the_file_says() -> None:
    (point,) = load_experiment("quickstart", horizon=50, replicates=2, seed=9).points
    assert (point.horizon, point.replicates, point.seed) == (50, 2, 9)
    assert load_experiment("quickstart", horizon=None).points[0].horizon == 20_000


def test_what_is_left_out_has_a_default() -> None:
    plain = parse_point({"horizon": 100, "environment": ARMS, "bases": [{"name": "ucb"}]})
    assert (plain.name, plain.replicates, plain.seed, plain.delta, plain.at) == ("experiment", 32, 1, 0.01, "")
    assert names(plain) == ["ucb"]


# --- bases and grids ---


def test_a_grid_makes_a_base_of_every_value() -> None:
    curve = made().curve("corral")
    assert curve.labels == ("ucb", "epsilon-greedy(c=1)", "epsilon-greedy(c=10)")
    assert [base.c for base in curve.bases[1:]] == [1.0, 10.0]  # type: ignore[attr-defined]


def test_two_grids_are_multiplied() -> None:
    grid = {"c": {"powers-of-two": [1, 4]}, "alpha": [0.5, 0.75]}
    rates = made(bases=[{"name": "rate", "gap": 0.05, "grid": grid}]).curve("corral")
    assert len(rates.bases) == 6
    assert rates.labels[1] == "rate(c=1, alpha=0.75)"
    assert all(base.gap == 0.05 for base in rates.bases)  # type: ignore[attr-defined]


def test_a_grid_follows_the_horizon() -> None:
    bases = [{"name": "epsilon-greedy", "grid": {"c": {"geometric": [1, "2 * horizon"], "count": 3}}}]
    for horizon in (50, 800):
        assert made(horizon=horizon, bases=bases).curve("corral").bases[-1].c == 2.0 * horizon  # type: ignore[attr-defined]


def test_labels_are_unique() -> None:
    """Equal to four digits, or equal altogether: numbered. Tables of one name: told apart by what they set."""
    close = [{"name": "epsilon-greedy", "grid": {"c": [1.00001, 1.00002]}}]
    assert made(bases=close).curves[0].labels == ("epsilon-greedy(c=1) #1", "epsilon-greedy(c=1) #2")
    assert made(bases=[{"name": "ucb"}, {"name": "ucb"}]).curves[0].labels == ("ucb #1", "ucb #2")
    twice = made(bases=[{"name": "ucb"}, {"name": "ucb", "scale": 0.5}])
    assert names(twice) == ["corral", "ucb", "ucb(scale=0.5)"]


# --- what to compare with ---


@pytest.mark.parametrize(
    ("alone", "expected"),
    [
        ("plain", ["corral", "ucb", "rate"]),
        ("smooth", ["corral", "ucb, smoothed", "rate, smoothed"]),
        ("both", ["corral", "ucb", "ucb, smoothed", "rate", "rate, smoothed"]),
        ("none", ["corral"]),
    ],
)
def test_bases_alone(alone: str, expected: list[str]) -> None:
    experiment = made(bases=[{"name": "ucb"}, {"name": "rate"}], compare={"alone": alone})
    assert names(experiment) == expected
    for curve in experiment.curves[1:]:
        assert curve.meta is None
        assert curve.options.steps == (2 if "smoothed" in curve.name else 1)


def test_other_bases_are_played_alone_and_only_alone() -> None:
    compare = {"alone": "none", "bases": [{"name": "ucb1"}, {"name": "exp3"}]}
    experiment = made(compare=compare)
    assert names(experiment) == ["corral", "ucb1", "exp3"]
    assert "ucb1" not in experiment.curve("corral").labels


def test_other_metas_choose_among_the_same_bases() -> None:
    metas = [
        {"name": "exp3p"},
        {"name": "uniform", "preset": "practice"},
        {"name": "corral", "eta": 0.5},
        {"name": "corral", "preset": "theory"},
        {"name": "corral", "options": {"bias": 0.5}},
    ]
    experiment = made(compare={"alone": "none", "metas": metas})
    first, *others = experiment.curves
    assert [curve.name for curve in others] == [
        "exp3p",
        "uniform (practice)",
        "corral(eta=0.5)",
        "corral (theory)",
        "corral(bias=0.5)",
    ]
    assert all(curve.bases == first.bases for curve in others)
    exp3p, uniform, _, theory, biased = others
    assert (exp3p.options, uniform.options, theory.options) == (
        PRESETS["paper"],
        PRESETS["practice"],
        PRESETS["theory"],
    )
    assert biased.options.bias == 0.5


def test_options_are_set_over_the_preset_and_shared_with_metas_that_say_nothing() -> None:
    compare = {"alone": "none", "metas": [{"name": "exp3p"}, {"name": "uniform", "preset": "practice"}]}
    corral, exp3p, uniform = made(preset="theory", options={"base_test": False}, compare=compare).curves
    assert (corral.options.bias, corral.options.base_test, corral.options.restart) == (1.0, False, True)
    assert exp3p.options == corral.options
    assert uniform.options == PRESETS["practice"]


def test_other_presets() -> None:
    experiment = made(compare={"alone": "none", "presets": ["theory", "practice"]})
    assert names(experiment) == ["corral", "corral (theory)", "corral (practice)"]
    assert [curve.options for curve in experiment.curves] == [PRESETS[name] for name in ("paper", "theory", "practice")]


# --- sweeps ---


def test_a_swept_horizon_moves_everything_that_follows_it() -> None:
    bases = [{"name": "epsilon-greedy", "grid": {"c": [1, "2 * horizon"]}}]
    swept = points("horizon", {"geometric": [100, 10_000], "count": 3}, bases=bases)
    assert [point.horizon for point in swept] == [100, 1000, 10_000]
    assert [point.at for point in swept] == ["horizon = 100", "horizon = 1000", "horizon = 10000"]
    assert [point.curves[0].bases[1].c for point in swept] == [200, 2000, 20_000]  # type: ignore[attr-defined]
    assert [point.delta for point in swept] == [0.01, 0.001, 0.0001]


def test_auto_rates_follow_the_horizon() -> None:
    """Two arms: every epsilon-greedy claims c = alpha = 1/2, so eta = (M/T)^alpha / c, T in rounds of two plays."""
    bases = [{"name": "epsilon-greedy", "grid": {"c": [1, 10]}}]
    for point in points("horizon", [100, 10_000], bases=bases):
        eta = (2 / (point.horizon / 2)) ** 0.5 / 0.5
        assert point.choices(point.curve("corral")) == [
            f"eta = {eta:.4g} (auto: the paper's table, row 'alpha and c known', with alpha = 0.5 and c = 0.5 of the "
            "bounds' shape without logarithms and delta)"
        ]


def test_the_number_of_bases_can_be_swept() -> None:
    swept = points("bases", {"powers-of-two": [1, 2]})
    assert [len(point.curve("corral").bases) for point in swept] == [1, 2]
    assert [names(point) for point in swept] == [["corral", "ucb"], ["corral", "ucb", "epsilon-greedy(c=1)"]]


def test_a_parameter_of_the_environment_can_be_swept() -> None:
    swept = points("environment.arms", [2, 3], environment={"name": "bernoulli-arms"})
    assert [point.problem.arms for point in swept] == [2, 3]
    lists = points("environment.means", [[0.5, 0.4], [0.5, 0.4, 0.3]])
    assert [point.problem.arms for point in lists] == [2, 3]


def test_a_parameter_of_the_meta_can_be_swept() -> None:
    swept = points("meta.eta", [0.1, 1, "auto"])
    assert [point.curves[0].meta.eta for point in swept] == [0.1, 1.0, "auto"]  # type: ignore[union-attr]
    assert [point.at for point in swept] == ["meta.eta = 0.1", "meta.eta = 1", "meta.eta = auto"]


def test_a_parameter_of_a_base_can_be_swept() -> None:
    swept = points("bases.epsilon-greedy.c", [2, 3], bases=[{"name": "ucb"}, {"name": "epsilon-greedy"}])
    assert [point.curves[0].bases[1].c for point in swept] == [2.0, 3.0]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("parameter", "values"),
    [("preset", ["paper", "practice"]), ("options.bias", [0.0, 1.0]), ("compare.metas.exp3p.p", [0.01, 0.1])],
)
def test_anything_else_can_be_swept(parameter: str, values: list[Any]) -> None:
    first, second = points(parameter, values, compare={"metas": [{"name": "exp3p"}]})
    assert first.curves != second.curves


def test_a_sweep_leaves_its_source_alone() -> None:
    swept = source(sweep={"parameter": "meta.eta", "values": [1, 2]})
    sweep(swept)
    assert swept["meta"] == {"name": "corral"}


# --- chunks ---


def test_the_chunk_follows_from_the_memory_that_a_replicate_takes() -> None:
    assert made(replicates=2000).chunk_size == 500  # four chunks alike, of at most 512
    assert made(replicates=3).chunk_size == 3
    assert made(horizon=20_000_000, replicates=512).chunk_size < 16


def test_replicates_need_not_be_a_multiple_of_the_chunk() -> None:
    experiment = made(replicates=7, chunk_size=3)
    assert [task.rows for task in tasks([experiment]) if task.curve == "corral"] == [3, 3, 1]


def test_what_is_resolved_is_written_down() -> None:
    experiment = made(replicates=2000)
    assert experiment.source["chunk_size"] == 500
    assert parse_point(experiment.source) == experiment


def test_names_that_would_be_alike_show_their_parameters() -> None:
    metas = [{"name": "exp3p", "p": 0.1}, {"name": "exp3p"}]
    compare = {"metas": metas, "alone": "plain", "bases": [{"name": "ucb", "scale": 0.5}]}
    found = names(made(compare=compare))
    assert found == [
        "corral",
        "exp3p(p=0.1)",
        "exp3p",
        "ucb",
        "epsilon-greedy(c=1)",
        "epsilon-greedy(c=10)",
        "ucb(scale=0.5)",
    ]


def test_a_curve_that_would_be_drawn_twice_is_refused() -> None:
    with pytest.raises(CorralError, match="has the curve 'ucb' twice"):
        made(compare={"bases": [{"name": "ucb"}]})


def test_points_that_look_alike_are_told_apart() -> None:
    values = [0.12345678, 0.12345679]
    points = sweep({**source(), "sweep": {"parameter": "meta.eta", "values": values}})
    assert [point["at"] for point in points] == ["meta.eta = 0.12345678", "meta.eta = 0.12345679"]
    with pytest.raises(CorralError, match=r"sweep\.values has 5 twice; every value must be different"):
        sweep({**source(), "sweep": {"parameter": "horizon", "values": [5, 9, 5]}})


@pytest.mark.parametrize("entry", get_registry().entries("experiment"), ids=lambda entry: entry.qualified)
def test_registered_experiments_do_not_depend_on_what_else_is_installed(entry: Registered) -> None:
    """A bare name in one of our experiments is its own plugin's or the core's; others are qualified."""
    table = read(entry.qualified).table
    tables = [("base", each) for each in table["bases"]] + [("environment", table["environment"])]
    compare = table.get("compare", {})
    tables += [("meta", each) for each in [table.get("meta"), *compare.get("metas", [])] if each]
    tables += [("base", each) for each in compare.get("bases", [])]
    for kind, each in tables:
        owner = get_registry().get(kind, each["name"], entry.plugin).plugin  # type: ignore[arg-type]
        assert owner in (entry.plugin, "core") or each["name"].startswith(f"{owner}:"), each["name"]


@pytest.mark.parametrize("written", ["ucb", "corral-mab:ucb"])
@pytest.mark.parametrize("path", ["bases.ucb.scale", "bases.corral-mab:ucb.scale"])
def test_a_sweep_finds_bases_by_both_names(path: str, written: str) -> None:
    found = points(path, [0.5, 2.0], bases=[{"name": written}])
    assert [point.curves[0].bases[0].scale for point in found] == [0.5, 2.0]  # type: ignore[attr-defined]


def test_a_path_may_be_a_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('horizon = 9\nenvironment = { name = "bernoulli-arms" }\nbases = [{ name = "ucb" }]\n')
    assert load_experiment(file).name == load_experiment(str(file)).name == "mine"
