"""Playing what a paper reports, and judging what it says: from names of experiments to judgements."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from corral_core.claims import Judgement, Stated, judge, stated
from corral_core.errors import CorralError
from corral_core.experiment import Experiment, is_file, load_stated, read
from corral_core.known import known
from corral_core.registry import get_registry
from corral_core.results import Result
from corral_core.runner import play
from corral_core.store import Run
from corral_core.watch import Watch


@attrs.frozen
class Planned:
    """An experiment that states claims, about to be played."""

    name: str  # as it was asked for: registered, or a file
    points: tuple[Experiment, ...]
    stated: Stated

    @property
    def command(self) -> str:
        """What plays it, without the folder that a file lies in."""
        return f"corral reproduce {shlex.quote(Path(self.name).name if is_file(self.name) else self.name)}"

    @property
    def folder(self) -> str:
        """Of its run, among the runs of others."""
        return re.sub(r"[^A-Za-z0-9.=_+-]+", "-", self.points[0].name).strip("-.") or "experiment"


@attrs.frozen(eq=False)
class Reproduced:
    """An experiment that was played, and what came of its claims."""

    planned: Planned
    run: Run
    results: tuple[Result, ...]
    judgements: tuple[Judgement, ...]


@attrs.frozen
class Untried:
    """What cannot be judged: experiments of plugins that are not installed, and experiments that state nothing."""

    absent: dict[str, str]  # by name, the plugin that would bring it
    silent: tuple[str, ...]


def plan(names: Sequence[str], quick: bool) -> list[Planned]:
    """These experiments, or all registered ones that state claims; by the items of the paper that they are about."""
    planned = []
    for name in dict.fromkeys(names or [name for name in _registered() if stated(read(name)).claims]):
        points, found = load_stated(name, quick)
        if not found.claims:
            raise CorralError(f"the experiment {name} states no claims, so there is nothing to reproduce in it")
        planned.append(Planned(name, tuple(points), found))
    if not planned:
        raise CorralError("no experiment that is installed states claims; corral-mab and corral-linucb bring some")
    folders = [each.folder for each in planned]
    if twice := next((each.name for each in planned if folders.count(each.folder) > 1), None):
        raise CorralError(f"two of the experiments would have the folder of {twice}; give them names of their own")
    return sorted(planned, key=lambda each: each.stated.claims[0].of)


def untried() -> Untried:
    """What `plan` leaves out when it takes all there is."""
    registered = _registered()
    absent = {name: plugin for name, plugin in known("experiment").items() if name not in registered}
    return Untried(absent, tuple(name for name in registered if not stated(read(name)).claims))


def reproduce(
    planned: Sequence[Planned],
    out: Path,
    *,
    workers: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
    watching: Callable[[Sequence[Experiment]], Watch] = lambda _: Watch(),
) -> list[Reproduced]:
    """Play what is not in the folder yet, an experiment after the other, and judge every claim."""
    found = []
    for number, each in enumerate(planned, 1):
        tell(f"{number} of {len(planned)}: {each.points[0].name}, {size(each.points)}")
        folder = out / "runs" / each.folder
        results = tuple(play(each.points, workers=workers, out=folder, watch=watching(each.points)))
        judgements = tuple(judge(claim, results) for claim in each.stated.claims)
        for judgement in judgements:
            tell(f"  {judgement.claim.of}: {judgement.verdict}")
        found.append(Reproduced(each, Run.open(folder), results, judgements))
    return found


def size(points: Sequence[Experiment]) -> str:
    """Plays, replicates and curves, in words."""
    longest = max(point.horizon for point in points)
    upto = "" if all(point.horizon == longest for point in points) else "up to "
    over = f" at {len(points)} points" if len(points) > 1 else ""
    curves = len(points[0].curves)
    return (
        f"{upto}{longest:,} plays, {points[0].replicates} replicate{'s' * (points[0].replicates != 1)}, "
        f"{curves} curve{'s' * (curves != 1)}{over}, seed {points[0].seed}"
    )


def _registered() -> list[str]:
    return [entry.name for entry in get_registry().entries("experiment")]
