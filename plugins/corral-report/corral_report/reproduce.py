"""Play the experiments of a paper and judge its claims: from names of experiments to judgements."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from corral_core import CorralError, Experiment, Result, Run, RunFailed, get_registry, load_experiment, run_experiment
from corral_core.engines.progress import Watch
from corral_core.experiments.claims import stated
from corral_core.experiments.source import bare, is_file, read
from corral_core.registry.known import known
from corral_core.runs.description import describe
from corral_core.runs.folder import folder
from corral_core.terminal import plays
from corral_report.judging import Judgement, judge
from corral_report.repeat import slug

# Items of the paper that experiments of plugins are about; these plugins may not be installed.
ITEMS = {
    "riverswim": "Figure 3",
    "riverswim-qlearning": "Figure 3",
    "riverswim-scaling": "Figure 3",
    "unknown-feature-dimension": "Theorem 6.6",
    "unknown-relevant-features": "Section 6, non-parametric contexts",
    "unknown-link": "Section 6, unknown link function",
    "unknown-moment": "Section 6, heavy tails",
}


@attrs.frozen
class Planned:
    """An experiment with claims, about to be played."""

    name: str  # as requested: a registered name, or a file
    experiment: Experiment

    @property
    def command(self) -> str:
        """The command that plays it; a file is named without its folder."""
        return f"corral reproduce {shlex.quote(Path(self.name).name if is_file(self.name) else self.name)}"

    @property
    def folder(self) -> str:
        """Name of the folder of its run."""
        return slug(self.experiment.name)


@attrs.frozen(eq=False)
class Reproduced:
    """An experiment that was played, and the judgements of its claims."""

    planned: Planned
    run: Run
    results: tuple[Result, ...]
    judgements: tuple[Judgement, ...]
    failed: RunFailed | None = None  # if some curves could not be played


@attrs.frozen
class Untried:
    """What was not judged: experiments that were not requested, are not installed, or have no claims."""

    unasked: dict[str, tuple[str, ...]]  # name: the items of its claims
    absent: dict[str, str]  # name: the plugin that provides it
    silent: tuple[str, ...]


def plan(names: Sequence[str], quick: bool) -> list[Planned]:
    """These experiments, or all registered ones with claims, in the order of the paper's items."""
    planned = []
    for name in dict.fromkeys(names or [name for name, items in _items().items() if items]):
        experiment = load_experiment(name, quick=quick)
        if not experiment.stated.claims:
            raise CorralError(f"experiment {name} has no claims, so there is nothing to reproduce")
        if not all(point.problem.regret for point in experiment.points):
            raise CorralError(f"the claims of {name} are about regret, but its environment does not report regret")
        planned.append(Planned(name, experiment))
    if not planned:
        raise CorralError("no installed experiment has claims; install corral-mab or corral-linucb, which provide some")
    folders = [each.folder for each in planned]
    if twice := next((each.name for each in planned if folders.count(each.folder) > 1), None):
        raise CorralError(f"two experiments would use the same folder as {twice}; give them different names")
    return sorted(planned, key=lambda each: _place(each.experiment.stated.claims[0].of))


def untried(planned: Sequence[Planned]) -> Untried:
    """Everything known that the plan leaves out."""
    items = _items()
    registry = get_registry()
    asked = [registry.get("experiment", each.name) for each in planned if not is_file(each.name)]
    return Untried(
        {name: found for name, found in items.items() if found and registry.get("experiment", name) not in asked},
        {name: plugin for name, plugin in known("experiment").items() if name not in map(bare, items)},
        tuple(name for name, found in items.items() if not found),
    )


def reproduce(
    planned: Sequence[Planned],
    out: Path,
    *,
    workers: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
    watching: Callable[[Experiment], Watch] = lambda _: Watch(),
) -> list[Reproduced]:
    """Play what is not in the folder yet, one experiment after the other, and judge every claim.

    All folders are checked before anything is played. Claims about curves that fail are undecided.
    """
    for each in planned:
        with folder(out / "runs" / each.folder, each.experiment, describe(each.experiment)) as there:
            if len(there.found.finished()) < len(there.found.tasks):
                there.begin(mixed_versions=False)
    found = []
    for number, each in enumerate(planned, 1):
        tell(f"{number} of {len(planned)}: {each.experiment.name}, {size(each.experiment)}")
        kept = out / "runs" / each.folder
        failed = None
        try:
            results = tuple(run_experiment(each.experiment, workers=workers, out=kept, watch=watching(each.experiment)))
        except RunFailed as raised:
            failed, results = raised, tuple(raised.results)
            tell(f"  {raised}")
        # A claim about all points must not be judged by those that are left.
        whole = {result.point.at for result in results} == {point.at for point in each.experiment.points}
        judgements = tuple(judge(claim, results if whole else ()) for claim in each.experiment.stated.claims)
        for judgement in judgements:
            tell(f"  {judgement.claim.of}{' (reading)' * judgement.claim.reading}: {judgement.verdict}")
        found.append(Reproduced(each, Run.open(kept), results, judgements, failed))
    return found


def size(experiment: Experiment) -> str:
    """Plays, replicates and curves, in words."""
    points = experiment.points
    longest = max(point.horizon for point in points)
    upto = "" if all(point.horizon == longest for point in points) else "up to "
    over = f" at {len(points)} points" if len(points) > 1 else ""
    curves = len(points[0].curves)
    return (
        f"{upto}{plays(longest)}, {points[0].replicates} replicate{'s' * (points[0].replicates != 1)}, "
        f"{curves} curve{'s' * (curves != 1)}{over}, seed {points[0].seed}"
    )


def _place(item: str) -> str:
    """The sort key of an item; it sorts the rows of a table from top to bottom."""
    for number, row in enumerate(("top", "middle", "bottom")):
        item = item.replace(f", {row} row", f", row {number}")
    return item


def _items() -> dict[str, tuple[str, ...]]:
    """The items of the paper that each registered experiment has claims about; one that cannot be read has none."""
    entries = get_registry().entries("experiment")
    names = [entry.name for entry in entries]
    found = {}
    for entry in entries:
        name = entry.qualified if names.count(entry.name) > 1 else entry.name
        try:
            claims = stated(read(name).table).claims
        except CorralError:
            claims = ()
        found[name] = tuple(dict.fromkeys(claim.of for claim in claims))
    return found
