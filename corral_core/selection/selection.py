"""The round of Stochastic CORRAL, for all rows at once, as `ask` and `tell`.

    meta chooses j  ->  step 1: base j acts with pi_s, is paid, its policy is recorded, it learns
                    ->  step 2: q uniform on 1..s, pi_q acts on a fresh observation, is paid, learns nothing
                    ->  gain from step 2 (minus the bias b_j(s), if enabled)  ->  meta updates

Selection never sees an environment. The caller asks for actions with `ask(observation)`, plays them, and passes what
they earned to `tell(ticket, reward)`: at once, late, or out of order. A ticket keeps what was true when it was issued.

What a caller passes is checked before anything changes. A base that raises, or returns what cannot be played, is broken
and what it did is not undone: a live selection sets it aside and continues with the others; a simulation ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from corral_core.errors import CorralError
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta
from corral_core.protocols.problem import NOTHING, Feedback, Observation, Problem, Trajectory
from corral_core.rows import Array, Rows, stack
from corral_core.selection.compatibility import check_fit, check_parts, check_shown, check_sizes, check_unknown_rounds
from corral_core.selection.failures import Failures, SetAside
from corral_core.selection.judge import Judge, MetaJudge
from corral_core.selection.options import PRESETS, Options, options_for
from corral_core.selection.received import check_open, copied, experience_of, observation_of, reward_of
from corral_core.selection.round import Block, Part, Round, Ticket
from corral_core.selection.setup import given_rows, group_kin, meta_problem
from corral_core.selection.validation import actions_in, kind


class Selection:
    """A meta-algorithm over bases, or a base alone (one base, no meta), in every row.

    `rounds` is the number of rounds that the meta-algorithm plans for, and `rng` a generator or a seed. A meta that
    needs no horizon may be told no rounds, if the problem has a delta. `options` set how bases are played and judged
    (default: the preset `paper`). `shown` contains what every base is given before the first play, by name: for example
    the features of fixed arms. Several threads may call it: a lock lets in one at a time.

    A `live` selection copies what it is asked about, so that the caller may change its arrays, and sets aside a base
    that fails. A simulation needs neither.
    """

    def __init__(
        self,
        bases: Sequence[Base],
        meta: Meta | None,
        problem: Problem,
        *,
        rows: int = 1,
        rounds: int | None = None,
        rng: Generator | int,
        options: Options | None = None,
        shown: dict[str, Array] | None = None,
        live: bool = True,
    ) -> None:
        check_parts(bases, meta, problem, options)
        self.options = options_for(meta, options or PRESETS["paper"])
        check_fit(bases, meta, problem, self.options)
        check_sizes(rows, rounds)
        if rounds is None:
            check_unknown_rounds(meta, problem, self.options)
        check_shown(shown or {}, rows)
        self.bases, self.meta, self.problem, self.rows = list(bases), meta, problem, rows
        self.rng = _generator(rng)
        self.blocks = [self._block(group, shown or {}) for group in group_kin(bases)]
        self._block_of = np.zeros(len(bases), dtype=np.intp)
        self._slot = np.zeros(len(bases), dtype=np.intp)
        for number, block in enumerate(self.blocks):
            self._block_of[block.members] = number
            self._slot[block.members] = np.arange(len(block.members))
        self.rounds_of = np.zeros((len(bases), rows), dtype=np.int64)  # rounds in which each base was chosen
        self.live = live
        self._failures = Failures(self.bases, rows)
        self._lock = threading.RLock()
        self._key = object()  # what tickets have as their owner
        self._weights = self.blocks[0].player.weights
        self._all = np.arange(rows)
        self._zeros = np.zeros(rows, dtype=np.intp)
        self._round: Round | None = None
        self.judge = Judge(len(bases), rows)
        if meta is not None:
            told = meta_problem(bases, problem, self.options, rounds)
            self.judge = MetaJudge(meta, told, problem, self.options, rows, self._weights)

    def ask(self, observation: Observation = NOTHING, ticket: Ticket | None = None) -> tuple[Array, Ticket]:
        """Actions for the next play of every row. With a ticket, the episode that it began continues."""
        with self._lock:
            seen = observation_of(observation, self.problem, self.rows)
            if ticket is not None:
                self._check_episode(ticket)
            if self.live and seen is not NOTHING:
                seen = copied(seen)
            asked = self._begun(seen) if ticket is None else self._continued(ticket, seen)
            actions = asked.actions.copy() if self.live else asked.actions
            self._failures.warn()
        return actions, asked

    def tell(self, ticket: Ticket, reward: ArrayLike, experience: Rows | None = None) -> None:
        """Take what the actions of a ticket earned; for an episode, also its `Trajectory`."""
        with self._lock:
            check_open(ticket, self._key)
            paid = reward_of(reward, self.rows)
            learned = experience_of(experience, ticket, self.problem, self.rows)
            if self.live and learned is not ticket.observation:
                learned = copied(learned)
            ticket.told = True
            self._learn(ticket, paid, learned)
            restart = self.judge.told(ticket.round, ticket.step, paid)
            if restart is not None:
                self._restart(restart)
            self._failures.warn()

    @property
    def probabilities(self) -> Array:
        """(bases, rows): the probability with which each base would be chosen now."""
        with self._lock:
            return self.judge.probabilities.copy()

    @property
    def active(self) -> Array:
        """(bases, rows): false if a base has been dropped or set aside."""
        return self.judge.active.copy()

    @property
    def restarts(self) -> Array:
        """(bases, rows): how often each base has started over."""
        return self.judge.restarts.copy()

    @property
    def set_aside(self) -> dict[int, str]:
        """Why each base that failed was set aside, by its number."""
        return dict(self._failures.reasons)

    def _check_episode(self, ticket: Ticket) -> None:
        """Refuse to continue what is not an episode of this selection."""
        check_open(ticket, self._key)
        if not self.problem.episodic:
            raise CorralError(
                f"{self.problem.environment} has no episodes: call ask without a ticket, once for each play"
            )

    def _begun(self, observation: Observation) -> Ticket:
        """The ticket of the next step. If the base fails and is set aside, another base plays in a new round."""
        while True:
            try:
                return self._next(observation)
            except SetAside:
                self._round = None
            except Exception:  # without its first step, the round must not continue
                self._round = None
                raise

    def _continued(self, ticket: Ticket, observation: Observation) -> Ticket:
        """The ticket after another step of its episode."""
        try:
            return self._act(ticket, observation)
        except SetAside as failed:
            self._round, ticket.told = None, True
            raise CorralError(
                "a base failed in the middle of this episode and is set aside; begin another with ask"
            ) from failed.__cause__

    def _next(self, observation: Observation) -> Ticket:
        turn = self._round
        if turn is None or turn.asked == len(self._weights):
            turn = self._round = self._begin()
        step = turn.asked
        turn.asked += 1
        policies = [
            self._call(part.at, part.block.player.next_policy, step, part.learners, self.rng) for part in turn.parts
        ]
        if step == 0:
            self._note_plays(turn)
        ticket = Ticket(self._key, turn, step, policies, observation, [[] for _ in policies], self._zeros)
        return self._act(ticket, observation)

    def _begin(self) -> Round:
        chosen, probability = self.judge.choose(self.rng)
        at = chosen * self.rows + self._all
        self._failures.check(at, self.meta)
        self.rounds_of.reshape(-1)[at] += 1
        restarts = self.judge.restarts.take(at) if self.options.restart else self._zeros
        unpaid = sum(weight > 0 for weight in self._weights)
        gain, difference = np.zeros((2, self.rows))
        parts = self._parts(chosen, at)
        return Round(chosen, probability, at, restarts, parts, self._zeros, gain, difference, unpaid=unpaid)

    def _parts(self, chosen: Array, at: Array) -> list[Part]:
        if self._everyone_plays:
            return self._everyone()
        if len(self.blocks) == 1:
            return [self._part(self.blocks[0], self._all, at, at, whole=True)]
        parts = []
        block_of = self._block_of.take(chosen)
        for number, block in enumerate(self.blocks):
            rows = np.flatnonzero(block_of == number)
            if len(rows):
                learners = self._slot.take(chosen.take(rows)) * self.rows + rows
                parts.append(self._part(block, rows, learners, at.take(rows)))
        return parts

    def _part(self, block: Block, rows: Array, learners: Array, at: Array, whole: bool = False) -> Part:
        restarts = self.judge.restarts.take(at) if self.options.restart else None
        return Part(block, rows, learners, at, restarts, whole)

    def _everyone(self) -> list[Part]:
        """Every learner of every block that was not set aside: all propose (importance-weighted), or learn (shared)."""
        parts = []
        for block in self.blocks:
            learners = np.arange(len(block.members) * self.rows)
            at = np.repeat(block.members * self.rows, self.rows) + learners % self.rows
            if self._failures.reasons:
                learners = learners[~self._failures.at.take(at)]
                at = at[~self._failures.at.take(at)]
            whole = len(at) == self.rows and len(block.members) == 1
            if len(at):
                parts.append(self._part(block, learners % self.rows, learners, at, whole=whole))
        return parts

    @property
    def _everyone_plays(self) -> bool:
        return self.meta is not None and self.meta.feedback == "importance-weighted"

    def _note_plays(self, turn: Round) -> None:
        """Record s of the chosen bases in this round, if the judge needs it."""
        if not self.judge.needs_plays:
            return
        turn.plays = np.empty(self.rows, dtype=np.int64)
        for part in turn.parts:
            played = turn.at.take(part.rows) == part.at
            turn.plays[part.rows[played]] = part.block.player.plays.take(part.learners[played])

    def _act(self, ticket: Ticket, observation: Observation) -> Ticket:
        proposed, parts = [], ticket.round.parts
        views = [observation if part.whole else observation.take(part.rows) for part in parts]
        if observation is ticket.observation:
            ticket.seen = views
        for part, policy, decided, seen in zip(parts, ticket.policies, ticket.decisions, views, strict=True):
            decision, actions = self._call(part.at, self._decide, part, policy, seen)
            decided.append(decision)
            proposed.append(actions)
        ticket.actions = self._merged(ticket, proposed)
        return ticket

    def _decide(self, part: Part, policy: Any, seen: Observation) -> tuple[Any, Array]:
        """What the learners of a part decide, and the actions in it."""
        player = part.block.player
        decision = player.act(policy, seen, self.rng)
        return decision, actions_in(decision, player.base, self.problem, seen, len(part.rows))

    def _merged(self, ticket: Ticket, proposed: list[Array]) -> Array:
        """One action per row: that of the chosen base."""
        parts = ticket.round.parts
        if len(parts) == 1 and parts[0].whole:
            return proposed[0]
        actions = np.empty((self.rows, *proposed[0].shape[1:]), dtype=np.result_type(*proposed))
        for part, each in zip(parts, proposed, strict=True):
            played = ticket.round.at.take(part.rows) == part.at
            actions[part.rows[played]] = each[played]
        return actions

    def _learn(self, ticket: Ticket, reward: Array, experience: Any) -> None:
        feedback = "raw" if self.meta is None else self.meta.feedback
        parts = ticket.round.parts
        episode = isinstance(experience, Trajectory)
        decisions = [stack(decided) if episode else decided[-1] for decided in ticket.decisions]
        if feedback == "shared":
            parts = self._everyone()
            decisions = [ticket.actions.take(part.rows, axis=0) for part in parts]
        if experience is ticket.observation and feedback != "shared":
            views = ticket.seen
        else:
            views = [experience if part.whole else experience.take(part.rows) for part in parts]
        for part, decision, seen in zip(parts, decisions, views, strict=True):
            paid = reward if part.whole else reward.take(part.rows)
            if feedback == "importance-weighted":
                paid = self._weighted(ticket, part, paid)
            learned = Feedback(observation=seen, decision=decision, reward=paid)
            learners, at = part.learners, part.at
            if (learning := self._learning(part)) is not None:
                learners, learned, at = learners[learning], learned.take(learning), at[learning]
                if not len(at):
                    continue
            try:
                self._call(at, part.block.player.learn, ticket.step, learners, learned, self.rng)
            except SetAside:
                self._round = None  # its second step would play the base again

    def _weighted(self, ticket: Ticket, part: Part, reward: Array) -> Array:
        """Importance-weighted rewards: high - (high - reward)/p for the played base, high for the others."""
        assert ticket.probability is not None
        played, high = ticket.round.at.take(part.rows) == part.at, self.problem.range[1]
        return np.where(played, high - (high - reward) / ticket.probability.take(part.rows), high)

    def _learning(self, part: Part) -> Array | None:
        """Which learners of a part still learn from its play; None if all do."""
        if part.restarts is None and not self._failures.reasons:
            return None
        learning = ~self._failures.at.take(part.at)
        if part.restarts is not None:  # a learner that has restarted since must not learn from its former play
            learning &= part.restarts == self.judge.restarts.take(part.at)
        return None if learning.all() else np.flatnonzero(learning)

    def _restart(self, restart: Array) -> None:
        """Start these learners over."""
        for block in self.blocks:
            learners = np.flatnonzero(restart[block.members])
            if len(learners):
                at = np.repeat(block.members, self.rows)[learners] * self.rows + learners % self.rows
                try:
                    self._call(at, block.player.restart, learners, self.rng)
                except SetAside:
                    self._round = None

    def _call(self, at: Array, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a base for the learners at these places. If it raises and other bases are left, it is set aside."""
        try:
            return function(*arguments)
        except Exception as error:
            if not (self.live and self.judge.set_aside(at)):
                raise
            self._failures.note(at, error)
            raise SetAside from error

    def _block(self, members: Array, shown: dict[str, Array]) -> Block:
        bases = [self.bases[member] for member in members]
        given = given_rows(bases, shown, self.rows)
        player = self.options.played(bases[0]).start(given, self.rng)
        return Block(members, player)


def _generator(rng: Any) -> Generator:
    """The generator itself, or one with this seed."""
    if not isinstance(rng, Generator) and (not isinstance(rng, int) or isinstance(rng, bool) or rng < 0):
        raise CorralError(f"rng must be a numpy Generator or a seed (a whole number of at least 0), not {kind(rng)}")
    return np.random.default_rng(rng)
