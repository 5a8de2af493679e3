"""Plays a curve against an environment: `ask`, play, `tell`, and the numbers of it at about two hundred points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.errors import CorralError
from corral_core.fitting import given_rows, meta_problem
from corral_core.guards import record_of
from corral_core.options import PRESETS, Options, options_for
from corral_core.protocols import Base, Environment, Meta, MetaProblem, Observation, Problem
from corral_core.rows import Array, Rows
from corral_core.selection import Selection, Ticket

POINTS = 200
SERVING = 4  # bytes that replay keeps a play, of a base that rarely changes


@attrs.frozen
class Curve:
    """One line of a figure: a meta-algorithm over bases, or a base alone."""

    name: str
    bases: tuple[Base, ...]
    labels: tuple[str, ...]  # of the bases
    meta: Meta | None
    asked_for: Options

    @property
    def options(self) -> Options:
        """What the meta can have of the options that were asked for."""
        return options_for(self.meta, self.asked_for)

    def rounds(self, horizon: int) -> int:
        """Rounds that this many plays make; an unfinished one counts."""
        return -(-horizon // self.options.steps)

    def told(self, problem: Problem, horizon: int) -> MetaProblem:
        """What the meta is told before the first round."""
        return meta_problem(self.bases, problem, self.options, self.rounds(horizon))


class Record(Rows):
    """A curve's numbers, a row a replicate: (replicates, points), and (replicates, points, bases)."""

    reward: Array  # summed over plays
    regret: Array | None  # summed over plays; None where nobody knows it
    probabilities: Array
    plays: Array  # plays of each base
    restarts: Array
    dropped: Array


Listener = Callable[[int, int, Record], None]
"""Hears which point was reached, after how many plays, and what is recorded up to there."""


def points(horizon: int) -> Array:
    """After how many plays the numbers are kept."""
    return np.unique(np.ceil(np.linspace(0, horizon, min(POINTS, horizon) + 1)[1:]).astype(np.int64))


class _Recorder:
    """Copies what the selection has come to, at each point."""

    def __init__(self, curve: Curve, rows: int, horizon: int) -> None:
        self.at = points(horizon)
        shape = (rows, len(self.at), len(curve.bases))
        self.steps = curve.options.steps
        self.record = Record(
            reward=np.zeros(shape[:2]),
            regret=np.zeros(shape[:2]),
            probabilities=np.zeros(shape, dtype=np.float32),
            plays=np.zeros(shape, dtype=np.int32),
            restarts=np.zeros(shape, dtype=np.int32),
            dropped=np.zeros(shape, dtype=bool),
        )

    def keep(self, point: int, reward: Array, regret: Array | None, selection: Selection, ticket: Ticket) -> None:
        record = self.record
        if regret is not None and not np.isfinite(regret).all():
            raise CorralError("the environment gave a regret that is not a finite number")
        record.reward[:, point] = reward
        if regret is None or record.regret is None:
            record.regret = None
        else:
            record.regret[:, point] = regret
        plays = selection.rounds_of * self.steps
        unplayed = self.steps - ticket.round.asked
        plays[ticket.chosen, np.arange(len(reward))] -= unplayed
        record.plays[:, point] = plays.T
        record.probabilities[:, point] = selection.probabilities.T
        record.restarts[:, point] = selection.restarts.T
        record.dropped[:, point] = ~selection.active.T


def simulate(
    environment: Environment,
    problem: Problem,
    curve: Curve,
    *,
    rows: int,
    horizon: int,
    instances: Generator,
    plays: Generator,
    choices: Generator,
    progress: Listener | None = None,
) -> Record:
    """Play `horizon` plays in every row. Instances, plays and choices each have randomness of their own."""
    instance = environment.draw(rows, instances)
    selection = Selection(
        curve.bases,
        curve.meta,
        problem,
        rows=rows,
        rounds=curve.rounds(horizon),
        rng=choices,
        options=curve.options,
        shown=environment.shown(instance),
    )
    recorder = _Recorder(curve, rows, horizon)
    ticket: Ticket | None = None

    def act(observation: Observation) -> Array:
        nonlocal ticket
        actions, ticket = selection.ask(observation, ticket)
        return actions

    reward, regret = np.zeros(rows), np.zeros(rows)
    point = done = 0
    for until in recorder.at:
        for _ in range(int(until) - done):
            ticket = None
            play = environment.play(instance, act, plays)
            if play.regret is not None and np.shape(play.regret) != (rows,):
                raise CorralError(
                    f"{environment.name} must give a regret a row, of shape ({rows},), not {np.shape(play.regret)}"
                )
            asked = _asked(ticket)
            try:
                selection.tell(asked, play.reward, play.observation)
            except CorralError as refused:
                raise CorralError(refused if asked.told else f"{environment.name}: {refused}") from None
            reward += play.reward
            if play.regret is not None:
                regret += play.regret
        recorder.keep(point, reward, None if play.regret is None else regret, selection, asked)
        if progress:
            progress(point, int(until), recorder.record)
        point, done = point + 1, int(until)
    return recorder.record


def try_out(
    environment: Environment,
    bases: Base | Sequence[Base],
    meta: Meta | None = None,
    *,
    horizon: int,
    rows: int = 32,
    seed: int = 1,
    preset: str = "practice",
) -> Record:
    """A base alone, or a meta-algorithm over several, in an environment: the quickest way to see one play."""
    if preset not in PRESETS:
        raise CorralError(f"preset must be {' or '.join(PRESETS)}, not {preset!r}")
    for thing in (environment, *(bases if isinstance(bases, Sequence) else [bases]), meta):
        if isinstance(thing, type):
            raise CorralError(f"try_out takes instances: write {thing.__name__}(), not {thing.__name__}")
    problem = attrs.evolve(environment.problem, horizon=horizon, delta=1 / max(horizon, 2))
    bases = [bases] if isinstance(bases, Base) else bases
    fitted = tuple(base.resolve(problem) for base in bases)
    curve = Curve("trial", fitted, tuple(base.name for base in bases), meta, PRESETS[preset])
    instances, plays, choices = np.random.default_rng(seed).spawn(3)
    return simulate(
        environment,
        problem,
        curve,
        rows=rows,
        horizon=horizon,
        instances=instances,
        plays=plays,
        choices=choices,
    )


def _asked(ticket: Ticket | None) -> Ticket:
    if ticket is None:
        raise TypeError("the environment played without asking for an action")
    return ticket


def bytes_per_row(environment: Environment, curves: Sequence[Curve], horizon: int) -> int:
    """About how much memory one replicate takes in the hungriest of these curves."""
    rng = np.random.default_rng(0)
    instance = environment.draw(1, rng)
    shown = environment.shown(instance)
    most = 0
    for curve in curves:
        state, rounds = 0, curve.rounds(horizon)
        share = -(-rounds // len(curve.bases))
        all_learn = curve.meta is not None and curve.meta.feedback != "raw"
        scratch = max(base.scratch for base in curve.bases)
        kept = 0  # bytes of past plays: of whichever base plays all rounds, or of all, where all learn from each
        largest = rare = 0  # bytes of policies: of whichever base plays all rounds, and of bases that share them
        for base in curve.bases:
            fresh = record_of(base.init(given_rows([base], shown, 1), rng), base, "init")
            state += fresh.nbytes
            kept = kept + base.history(rounds) if all_learn else max(kept, base.history(rounds))
            if curve.options.player == "smooth":
                policy = record_of(base.policy(fresh, np.zeros(1, dtype=np.intp)), base, "policy").nbytes
                largest = max(largest, policy * base.policies(rounds))
                if base.rarely_changes:  # then several bases that share the rounds can leave more than one that has all
                    rare += policy * base.policies(share) + SERVING * share
        # Pages of doubling size are on average three quarters full.
        held = state + scratch + int(1.5 * (kept + max(largest, rare)))
        most = max(most, held + 40 * POINTS * len(curve.bases))
    return most + int(getattr(instance, "nbytes", 0))
