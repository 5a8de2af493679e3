"""Play a curve against an environment: `ask`, play, `tell`, and record its numbers at the checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.errors import CorralError
from corral_core.parsing import convert, shown
from corral_core.protocols.base import Base
from corral_core.protocols.environment import Environment
from corral_core.protocols.meta import Meta
from corral_core.protocols.problem import Observation, Problem
from corral_core.rows import Array
from corral_core.selection.options import PRESETS, Preset
from corral_core.selection.round import Ticket
from corral_core.selection.selection import Selection
from corral_core.simulation.curve import Curve
from corral_core.simulation.record import Listener, Record, Recorder


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
    """Play `horizon` plays in every row. Instances, plays and choices each have their own generator.

    Bases and meta know no horizon if the problem has none.
    """
    instance = environment.draw(rows, instances)
    selection = Selection(
        curve.bases,
        curve.meta,
        problem,
        rows=rows,
        rounds=curve.rounds_told(problem),
        rng=choices,
        options=curve.options,
        shown=environment.shown(instance),
        live=False,
    )
    recorder = Recorder(curve, rows, horizon)
    ticket: Ticket | None = None

    def act(observation: Observation) -> Array:
        nonlocal ticket
        actions, ticket = selection.ask(observation, ticket)
        return actions

    shape = (rows,)
    reward, regret = np.zeros(shape), np.zeros(shape)
    done = 0
    for checkpoint, until in enumerate(recorder.at):
        for play_number in range(done + 1, int(until) + 1):  # noqa: B007 - `engines/failure.py` reads it
            ticket = None
            play = environment.play(instance, act, plays)
            if play.regret is not None and (found := np.asarray(play.regret).shape) != shape:
                raise CorralError(f"{environment.name} must give one regret per row, of shape {shape}, not {found}")
            asked = _asked(ticket)
            try:
                selection.tell(asked, play.reward, play.observation)
            except CorralError as refused:
                raise CorralError(refused if asked.told else f"{environment.name}: {refused}") from None
            reward += play.reward
            if play.regret is not None:
                regret += play.regret
        recorder.keep(checkpoint, reward, None if play.regret is None else regret, selection, asked)
        if progress:
            progress(checkpoint, int(until), recorder.record)
        done = int(until)
    return recorder.record


def try_out(
    environment: Environment,
    bases: Base | Sequence[Base],
    meta: Meta | None = None,
    *,
    horizon: int,
    rows: int = 32,
    seed: int = 1,
    preset: Preset = "practice",
) -> Record:
    """Play a base alone, or a meta-algorithm over several, in an environment: the quickest way to try them out."""
    if preset not in PRESETS:
        raise CorralError(f"preset must be {' or '.join(PRESETS)}, not {shown(preset)}")
    for thing in (environment, *(bases if isinstance(bases, Sequence) else [bases]), meta):
        if isinstance(thing, type):
            raise CorralError(f"try_out takes instances: write {thing.__name__}(), not {thing.__name__}")
    for name, number in {"horizon": horizon, "rows": rows}.items():
        if convert(number, int, f"try_out: {name}") < 1:
            raise CorralError(f"try_out: {name} must be at least 1, not {number}")
    environment = environment.at_horizon(horizon)
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
        raise TypeError("the environment must call `act` in every play")
    return ticket
