"""A base played as selection plays it, with one random stream per row."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from corral_core.bases.lift import Lifted
from corral_core.checks.objects import fingerprint, what_changed
from corral_core.checks.rules import broken, same, shown
from corral_core.checks.streams import Streams
from corral_core.kernels import twins
from corral_core.players.plain import Player
from corral_core.protocols.base import Base
from corral_core.protocols.environment import Environment
from corral_core.protocols.problem import Feedback, Observation, Problem, Trajectory
from corral_core.rows import Array, Rows, object_array, stack
from corral_core.selection.setup import given_rows
from corral_core.selection.validation import actions_in, record_of

HORIZON = 40  # bases are resolved with it; no check makes more plays
TURNS = 12  # enough to play every arm of a small world more than once


@attrs.frozen(eq=False, slots=False)
class BaseCase:
    """A base in an environment."""

    asked: Base  # as its author wrote it
    environment: Environment

    @property
    def label(self) -> str:
        return f"{named(self.asked)} in {self.place}"

    @property
    def place(self) -> str:
        """The environment, with the parameters that differ from their defaults."""
        return str(getattr(self.environment, "label", None) or named(self.environment))

    def problem(self, horizon: int = HORIZON) -> Problem:
        return attrs.evolve(self.environment.problem, horizon=horizon, delta=1 / (horizon + 1))

    def resolve(self) -> None:
        """Raise an error if the base does not fit the environment."""
        _ = self.base

    @cached_property
    def base(self) -> Base:
        """The base, fitted to the environment."""
        return self.asked.resolve(self.problem())

    def trial(self, rows: Sequence[int] = (0, 1, 2, 3, 4), **options: Any) -> Trial:
        return Trial([self.base], self.environment, self.problem(), rows, **options)


def named(thing: Any) -> str:
    """The name of a thing, with the parameters that differ from their defaults."""
    changed = []
    for field in attrs.fields(type(thing)):
        value = getattr(thing, field.name)
        default: Any = field.default
        if isinstance(default, attrs.Factory) and not default.takes_self:  # type: ignore[arg-type]
            default = default.factory()
        if "hidden" not in field.metadata and field.init and not _equal(value, default):
            changed.append(f"{field.name}={value}")
    name = getattr(thing, "name", type(thing).__name__)
    return f"{name}({', '.join(changed)})" if changed else str(name)


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(np.all(one == other))
    except Exception:
        return False


@attrs.frozen(eq=False)
class Moment:
    """One play of some learners, with everything needed to replay it."""

    rows: Array
    plays: Array  # number of earlier plays of each learner
    policy: Any
    streams: Streams  # as they were before the learners acted
    seen: list[Observation]
    decisions: list[Any]
    action: Array
    reward: Array
    feedback: Feedback

    def of(self, row: int) -> tuple[Array, Array] | None:
        """Action (in an episode, all actions taken) and reward of a learner; None if it did not take part."""
        at = np.flatnonzero(self.rows == row)
        if not len(at):
            return None
        return taken(self.feedback.observation, self.action, int(at[0])), self.reward[at[0]]


def taken(observation: Any, action: Array, row: int) -> Array:
    """The action of a row; in an episode, the actions of all steps taken."""
    found: Array = action[row]
    return found[observation.alive[row]] if isinstance(observation, Trajectory) else found


class Trial:
    """Learners of a base and its kin, one per row: learner slot * rows + row."""

    def __init__(
        self,
        bases: Sequence[Base],
        environment: Environment,
        problem: Problem,
        rows: Sequence[int],
        seed: int = 1,
        ids: Sequence[int] | None = None,
    ) -> None:
        """Row r has instance number r. `ids` are the numbers of the learners' streams (default: from the rows)."""
        twins.bind()  # what is checked is what plays
        self.base, self.environment, self.problem, self.seed = bases[0], environment, problem, seed
        everyone = np.tile(np.arange(len(rows)), len(bases))
        numbered = [slot * 1000 + row for slot in range(len(bases)) for row in rows] if ids is None else ids
        self.ids = np.array(numbered, dtype=np.int64)
        self.played = np.zeros(len(everyone), dtype=np.int64)
        streams = Streams.seeded((seed, 0), np.take(rows, everyone))
        self.instance = environment.draw(len(everyone), streams)  # type: ignore[arg-type]
        self.everyone = np.arange(len(everyone))
        first = self.instance.take(np.arange(len(rows)))  # kin get the same instances
        given = given_rows(bases, environment.shown(first), len(rows))
        self.player = Player(self.base, given, self.streams("init", self.everyone))
        record_of(self.state, self.base, "init")
        self.moments: list[Moment] = []

    def streams(self, role: str, rows: Array, plays: Array | None = None) -> Any:
        """New streams for each play, so that a row draws the same whether or not its episode waits for others."""
        number = 1 + ("init", "play", "act", "learn").index(role)
        pairs = zip(self.played[rows] if plays is None else plays, self.ids[rows], strict=True)
        return Streams([np.random.default_rng([self.seed, number, play, identity]) for play, identity in pairs])

    @property
    def state(self) -> Any:
        return self.player.state

    @property
    def acting(self) -> str:
        """What acts: in a lifted base, the learner is its own policy."""
        return "the learner" if isinstance(self.base, Lifted) else "its policy"

    def play(self, rows: Any = None) -> Moment:
        """One play of these learners (default: all): act, get the reward, learn."""
        moment = self.ask(rows)
        self.learn(moment)
        return moment

    def ask(self, rows: Any = None, *, watch: bool = False) -> Moment:
        """Act and get the reward. With `watch`, raise `Broken` if acting changes the policy or the observation."""
        rows = self.everyone if rows is None else np.asarray(rows, dtype=np.intp)
        draws = self.streams("act", rows)
        policy = record_of(self.player.next_policy(0, rows, draws), self.base, "policy")
        for name, array in arrays_of(policy).items():
            if len(array) != len(rows):
                broken(f"policy(state, rows) for {len(rows)} rows has {len(array)} rows in {name}")
        unused = copy.deepcopy(draws)
        kept = policy.detached().replace()  # as smoothing keeps it
        seen: list[Observation] = []
        decisions: list[Any] = []
        taking_part = np.arange(len(rows))

        def act(observation: Observation) -> Array:
            seen.append(copy.deepcopy(observation))
            before = held(policy, taking_part) if watch else {}
            decision = self.player.act(policy, observation, draws)
            if watch:
                unchanged(held(policy, taking_part), before, f"act changed {self.acting}:")
                unchanged(held(observation, taking_part), held(seen[-1], taking_part), "act changed its observation:")
            decisions.append(copy.deepcopy(decision))
            return actions_in(decision, self.base, self.problem, observation, len(rows))

        instance = self.instance.take(rows)
        play = self.environment.play(instance, act, self.streams("play", rows))
        self.instance.put(rows, instance)
        decision = stack(decisions) if self.problem.episodic else decisions[-1]
        feedback = Feedback(observation=play.observation, decision=decision, reward=play.reward)
        moment = Moment(
            rows,
            self.played[rows],
            kept,
            unused,
            seen,
            decisions,
            np.array(feedback.action),
            np.array(play.reward),
            feedback,
        )
        self.moments.append(moment)
        self.played[rows] += 1
        return moment

    def learn(self, moment: Moment) -> None:
        """Learn from the play of a moment."""
        streams = self.streams("learn", moment.rows, moment.plays)
        learned: Any = self.base.learn(self.state, moment.rows, moment.feedback, streams)
        if learned is not None:
            broken(f"learn must change the state in place and return None, not {shown(learned)}")

    def restart(self, rows: Array, ids: Sequence[int]) -> None:
        """Start fresh learners in these rows, with streams of these numbers."""
        self.ids[rows], self.played[rows] = ids, 0
        self.player.restart(rows, self.streams("init", rows))

    def replay(self, moment: Moment) -> list[Any]:
        """What the policy of a moment decides if it sees and draws the same again."""
        draws = copy.deepcopy(moment.streams)
        return [self.player.act(moment.policy, seen, draws) for seen in moment.seen]  # type: ignore[arg-type]

    def run(self, plays: int = TURNS) -> Trial:
        for _ in range(plays):
            self.play()
        return self

    def history(self, row: int) -> list[tuple[Array, Array]]:
        """Actions and rewards of one learner."""
        return [found for moment in self.moments if (found := moment.of(row)) is not None]


def compare(found: Trial, wanted: Trial, pairs: Callable[[int], int], what: str) -> None:
    """Learner `row` of one trial must have played as learner `pairs(row)` of the other."""
    for row in found.everyone.tolist():
        compare_plays(found.history(row), wanted.history(pairs(row)), what)


def compare_plays(found: list[tuple[Array, Array]], wanted: list[tuple[Array, Array]], what: str) -> None:
    for number, (one, other) in enumerate(zip(found, wanted, strict=True), start=1):
        for name, value, expected in zip(("action", "reward"), one, other, strict=True):
            if not same(value, expected):
                broken(f"{what}, at play {number}: {name} {shown(value)} in place of {shown(expected)}")


def arrays_of(record: Rows) -> dict[str, Array]:
    """Every array by dotted name, without logs."""
    found: dict[str, Array] = {}
    for name, value in record._values():
        if isinstance(value, Rows):
            found |= {f"{name}.{key}": array for key, array in arrays_of(value).items()}
        elif isinstance(value, np.ndarray):
            found[name] = value
    return found


def held(record: Rows, rows: Array) -> dict[str, Array]:
    """Copies of these rows of every array, by dotted name, with fingerprints in place of Python objects."""

    def copied(array: Array) -> Array:
        found: Array = array.take(rows, axis=0)
        return object_array([fingerprint(item) for item in found]) if array.dtype == object else found

    return {name: copied(array) for name, array in arrays_of(record).items()}


def unchanged(now: dict[str, Array], before: dict[str, Array], what: str) -> None:
    """Raise `Broken` unless these arrays are equal bit for bit."""
    if seen := difference(now, before):
        broken(f"{what} {seen}")


def difference(now: dict[str, Array], before: dict[str, Array]) -> str:
    """The first array, or attribute of a Python object, that differs; "" if none does."""
    for name, value in before.items():
        if not np.array_equal(now[name], value, equal_nan=value.dtype.kind == "f"):
            if value.dtype != object:
                return f"{name} went from {shown(value)} to {shown(now[name])}"
            row = next(row for row, (one, other) in enumerate(zip(value, now[name], strict=True)) if one != other)
            return f"{what_changed(value[row], now[name][row])} (`{name}` of row {row})"
    return ""
