"""Playing what a paper reports, and judging what it says: from names of experiments to judgements."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from corral_core import CorralError, Experiment, Result, Run, get_registry, load_experiment, run_experiment
from corral_core.engines.progress import Watch
from corral_core.experiments.claims import stated
from corral_core.experiments.source import is_file, read
from corral_core.registry.known import known
from corral_core.runs.description import describe
from corral_core.runs.folder import folder
from corral_core.terminal import plays
from corral_report.judging import Judgement, judge
from corral_report.repeat import slug

# What experiments of plugins that may not be installed are about.
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
    """An experiment that states claims, about to be played."""

    name: str  # as it was asked for: registered, or a file
    experiment: Experiment

    @property
    def command(self) -> str:
        """What plays it, without the folder that a file lies in."""
        return f"corral reproduce {shlex.quote(Path(self.name).name if is_file(self.name) else self.name)}"

    @property
    def folder(self) -> str:
        """Of its run, among the runs of others."""
        return slug(self.experiment.name)


@attrs.frozen(eq=False)
class Reproduced:
    """An experiment that was played, and what came of its claims."""

    planned: Planned
    run: Run
    results: tuple[Result, ...]
    judgements: tuple[Judgement, ...]


@attrs.frozen
class Untried:
    """What was not judged: experiments that were not asked for, that are not installed, and that state nothing."""

    unasked: dict[str, tuple[str, ...]]  # by name, the items of its claims
    absent: dict[str, str]  # by name, the plugin that would bring it
    silent: tuple[str, ...]


def plan(names: Sequence[str], quick: bool) -> list[Planned]:
    """These experiments, or all registered ones that state claims; by the items of the paper that they are about."""
    planned = []
    for name in dict.fromkeys(names or [name for name in _registered() if stated(read(name).table).claims]):
        experiment = load_experiment(name, quick=quick)
        if not experiment.stated.claims:
            raise CorralError(f"the experiment {name} states no claims, so there is nothing to reproduce in it")
        if not all(point.problem.regret for point in experiment.points):
            raise CorralError(f"the claims of {name} are about regret, which nobody knows in its environment")
        planned.append(Planned(name, experiment))
    if not planned:
        raise CorralError("no experiment that is installed states claims; corral-mab and corral-linucb bring some")
    folders = [each.folder for each in planned]
    if twice := next((each.name for each in planned if folders.count(each.folder) > 1), None):
        raise CorralError(f"two of the experiments would have the folder of {twice}; give them names of their own")
    return sorted(planned, key=lambda each: _place(each.experiment.stated.claims[0].of))


def untried(planned: Sequence[Planned]) -> Untried:
    """What this leaves out of all that is known."""
    items = {
        name: tuple(dict.fromkeys(claim.of for claim in stated(read(name).table).claims)) for name in _registered()
    }
    asked = {each.name for each in planned}
    return Untried(
        {name: found for name, found in items.items() if found and name not in asked},
        {name: plugin for name, plugin in known("experiment").items() if name not in items},
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
    """Play what is not in the folder yet, an experiment after the other, and judge every claim.

    All folders are looked at before anything is played.
    """
    for each in planned:
        with folder(out / "runs" / each.folder, each.experiment, describe(each.experiment)) as there:
            if len(there.found.finished()) < len(there.found.tasks):
                there.begin(mixed_versions=False)
    found = []
    for number, each in enumerate(planned, 1):
        tell(f"{number} of {len(planned)}: {each.experiment.name}, {size(each.experiment)}")
        kept = out / "runs" / each.folder
        results = tuple(run_experiment(each.experiment, workers=workers, out=kept, watch=watching(each.experiment)))
        judgements = tuple(judge(claim, results) for claim in each.experiment.stated.claims)
        for judgement in judgements:
            tell(f"  {judgement.claim.of}{' (reading)' * judgement.claim.reading}: {judgement.verdict}")
        found.append(Reproduced(each, Run.open(kept), results, judgements))
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
    """By which items are sorted: the rows of a table from top to bottom."""
    for number, row in enumerate(("top", "middle", "bottom")):
        item = item.replace(f", {row} row", f", row {number}")
    return item


def _registered() -> list[str]:
    return [entry.name for entry in get_registry().entries("experiment")]
