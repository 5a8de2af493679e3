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

import os
import threading
from collections.abc import Sequence
from typing import Any, NoReturn, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from corral_core.errors import CorralError
from corral_core.kernels import twins
from corral_core.kernels.places import count
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta
from corral_core.protocols.problem import NOTHING, Observation, Problem
from corral_core.rows import Array, Rows
from corral_core.selection.compatibility import check_fit, check_parts, check_shown, check_sizes, check_unknown_rounds
from corral_core.selection.failures import Failures, SetAside
from corral_core.selection.judge import Judge, MetaJudge
from corral_core.selection.lineup import Lineup
from corral_core.selection.options import PRESETS, Options, options_for
from corral_core.selection.propensity import action_probability, chances
from corral_core.selection.received import copied, experience_of, observation_of, reward_of
from corral_core.selection.renewing import renew, renewed_arms
from corral_core.selection.round import Block, Round, Ticket
from corral_core.selection.saving import SavedSelection, read, saved, write
from corral_core.selection.setup import given_rows, group_kin, meta_problem
from corral_core.selection.teaching import Student, Teaching
from corral_core.selection.tickets import Tickets
from corral_core.selection.validation import actions_like, are_available, check_available, kind, with_actions


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
        twins.bind()
        check_parts(bases, meta, problem, options)
        self.options = options_for(meta, options or PRESETS["paper"])
        check_fit(bases, meta, problem, self.options)
        check_sizes(rows, rounds)
        if rounds is None:
            check_unknown_rounds(meta, problem, self.options)
        check_shown(shown or {}, rows)
        self.bases, self.meta, self.problem, self.rows = list(bases), meta, problem, rows
        self.rng = _generator(rng)
        self.shown = {name: array.copy() for name, array in (shown or {}).items()}
        self.blocks = [self._block(group, shown or {}) for group in group_kin(bases)]
        self.rounds_of = np.zeros((len(bases), rows), dtype=np.int64)  # rounds in which each base was chosen
        self.rounds, self.live = rounds, live
        self._lock, self._saving = threading.RLock(), threading.Lock()
        self._tickets = Tickets()
        self._weights = self.blocks[0].player.weights
        self._unpaid = sum(weight > 0 for weight in self._weights)
        self._all = np.arange(rows)
        self._zeros = np.zeros(rows, dtype=np.intp)
        self._round: Round | None = None
        self.judge = Judge(len(bases), rows)
        if meta is not None:
            told = meta_problem(bases, problem, self.options, rounds)
            self.judge = MetaJudge(meta, told, problem, self.options, rows, self._weights)
        self._failures = Failures(self.bases, rows, self.judge, live=live)
        restarts = self.options.restart
        self._lineup = Lineup(self.blocks, len(bases), rows, self.judge, self._failures, restarts=restarts)
        feedback = "raw" if meta is None else meta.feedback
        # whether the probability of an action can be known at all
        self._has_probabilities = (
            self.options.player == "plain" and problem.actions == "finite" and not problem.episodic
        )
        self._everyone_plays = feedback == "importance-weighted"
        sharing = [block for block in self.blocks if self.options.share and block.player.base.learns_from_others]
        students = [Student(block, self._lineup, problem, rows) for block in sharing]
        self._teaching = Teaching(problem, feedback, self.judge, self._failures, self.rng, students)

    def ask(
        self, observation: Observation = NOTHING, ticket: Ticket | int | None = None, *, probabilities: bool = False
    ) -> tuple[Array, Ticket]:
        """Actions for the next play of every row. With a ticket (or its number), the episode that it began continues.

        With `probabilities`, the ticket's `action_probability` is the probability of each row's action over the choice
        of the base and the base's own randomness. If the meta-algorithm chooses without a draw, it is that of the base
        it chose. It is None for smoothed and boosted players, in episodes, for infinite action sets, and if a base that
        might have been played has no closed form. Asking for it draws nothing and changes no later play.
        """
        with self._lock:
            seen = observation_of(observation, self.problem, self.rows)
            if ticket is not None:
                ticket = self._episode(ticket)
            if self.live and seen is not NOTHING:
                seen = copied(seen)
            asked = self._begun(seen, probabilities) if ticket is None else self._continued(ticket, seen)
            actions = asked.actions.copy() if self.live else asked.actions
            self._failures.warn()
        return actions, asked

    def tell(self, ticket: Ticket | int, reward: ArrayLike, experience: Rows | None = None) -> None:
        """Take what the actions of a ticket (or its number) earned; for an episode, also its `Trajectory`."""
        with self._lock:
            ticket = self._tickets.find(ticket)
            paid = reward_of(reward, self.rows)
            learned = experience_of(experience, ticket, self.problem, self.rows)
            if self.live and learned is not ticket.observation:
                learned = copied(learned)
            self._tickets.close(ticket)
            if not self._teaching.learn(ticket, paid, learned):
                self._round = None  # its second step would play a base that failed
            restart = self.judge.told(ticket.round, ticket.step, paid)
            if restart is not None:
                self._restart(restart)
            self._failures.warn()

    def abandon(self, ticket: Ticket | int) -> None:
        """Close a ticket (or its number) whose reward will never come; no one learns from it.

        It is as if the reward were late forever. The round goes on with its other steps, and bases learn from those. If
        the reward counts for the gain of the round, the meta-algorithm does not hear of this round; step 1 of a
        smoothed base counts only for one that sees every step (`per_step`). The base test skips the round. The play
        stays counted: it was made.
        """
        with self._lock:
            ticket = self._tickets.find(ticket)
            self._tickets.close(ticket)
            ticket.abandoned = True

    @property
    def open_tickets(self) -> list[Ticket]:
        """The tickets that wait for their rewards, in the order of asking."""
        with self._lock:
            return self._tickets.listed()

    def renew(self, arms: ArrayLike, rows: ArrayLike | None = None) -> None:
        """Replace arms by new ones: every base forgets what it knows of them, in all rows or only in these.

        `arms` and `rows` are numbers or booleans; `arms` may also be (rows, arms) booleans. No base learns from open
        tickets on these arms any more; the meta-algorithm still does. It needs plain players, and a problem that is
        `renewable`.
        """
        with self._lock:
            renewed = renewed_arms(arms, rows, self.problem, self.options, self.rows)
            if not renew(self._lineup.everyone(), renewed, self._failures):
                self._round = None
            for ticket in self._tickets.listed():
                ticket.renewed = renewed if ticket.renewed is None else ticket.renewed | renewed
            self._failures.warn()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save everything in one `.npz` file of plain arrays, which replaces the old one as a whole.

        Other threads wait only until everything is copied, not for the disk.
        """
        with self._saving:
            with self._lock:
                content = saved(self)
            write(path, content)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        bases: Sequence[Base],
        meta: Meta | None,
        problem: Problem,
        *,
        options: Options | None = None,
    ) -> Self:
        """The selection that was saved in this file, with the same bases (resolved), meta-algorithm and problem.

        It continues with the same bits. Its open tickets keep their numbers. Options are those that were saved; if you
        pass any, they must be the same.
        """
        return cls._restored(read(path), bases, meta, problem, options)

    @classmethod
    def _restored(
        cls, file: SavedSelection, bases: Sequence[Base], meta: Meta | None, problem: Problem, options: Options | None
    ) -> Self:
        check_parts(bases, meta, problem, options)
        wanted = file.options() if options is None else options_for(meta, options)
        file.check(bases, meta, problem, wanted)
        return file.filled(lambda **made: cls(bases, meta, problem, options=wanted, **made))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        with self._lock:
            file = SavedSelection(saved(self), "a copy of a selection")
        return self._restored(file, self.bases, self.meta, self.problem, self.options)

    def __reduce__(self) -> NoReturn:
        raise CorralError("a selection cannot be pickled: use save and load, or copy.deepcopy")

    @property
    def probabilities(self) -> Array | None:
        """(bases, rows): the probability with which each base would be chosen now; None if the meta does not draw."""
        with self._lock:
            found = self.judge.probabilities
            return None if found is None else found.copy()

    @property
    def recorded(self) -> dict[str, Array]:
        """The quantities that the meta-algorithm records, by name, each (bases, rows)."""
        with self._lock:
            return {name: values.copy() for name, values in self.judge.recorded.items()}

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

    def _episode(self, asked: Ticket | int) -> Ticket:
        """The ticket of an episode of this selection that goes on."""
        ticket = self._tickets.find(asked)
        if not self.problem.episodic:
            raise CorralError(
                f"{self.problem.environment} has no episodes: call ask without a ticket, once for each play"
            )
        return ticket

    def _begun(self, observation: Observation, probabilities: bool) -> Ticket:
        """The ticket of the next step. If the base fails and is set aside, another base plays in a new round."""
        while True:
            try:
                ticket = self._next(observation, probabilities)
            except SetAside:
                self._round = None
            except Exception:  # without its first step, the round must not continue
                self._round = None
                raise
            else:
                self._tickets.issue(ticket)
                return ticket

    def _continued(self, ticket: Ticket, observation: Observation) -> Ticket:
        """The ticket after another step of its episode."""
        try:
            return self._act(ticket, observation)
        except SetAside as failed:
            self._round = None
            self._tickets.close(ticket)
            raise CorralError(
                "a base failed in the middle of this episode and is set aside; begin another with ask"
            ) from failed.__cause__

    def _next(self, observation: Observation, probabilities: bool) -> Ticket:
        turn, before = self._round, None
        if probabilities := probabilities and self._has_probabilities:
            before = self.probabilities
        if turn is None or turn.asked == len(self._weights):
            turn = self._round = self._begin()
        step = turn.asked
        turn.asked += 1
        policies: list[Any] = []
        try:
            for part in turn.parts:
                policies.append(part.block.player.next_policy(step, part.learners, self.rng))
        except Exception as error:
            self._failures.caught(part.at, error)
            raise
        if step == 0:
            self._note_plays(turn)
        ticket = Ticket(self._tickets.owner, turn, step, policies, observation, [[] for _ in policies], self._zeros)
        ticket = self._act(ticket, observation)
        if probabilities and (chance := chances(before, turn, len(self.bases))) is not None:
            ticket.action_probability = action_probability(
                chance, self.blocks, self._lineup, self._failures, observation, ticket.actions
            )
        return ticket

    def _begin(self) -> Round:
        chosen, probability = self.judge.choose(self.rng)
        at = chosen if self.rows == 1 else chosen * self.rows + self._all
        count(self.rounds_of.reshape(-1), at)
        restarts = self.judge.restarts.take(at) if self.options.restart else self._zeros
        parts = self._lineup.everyone() if self._everyone_plays else self._lineup.of(chosen, at)
        return Round(chosen, probability, at, restarts, parts, not self._everyone_plays, unpaid=self._unpaid)

    def _note_plays(self, turn: Round) -> None:
        """Record s of the chosen bases in this round, if the judge needs it."""
        if not self.judge.needs_plays:
            return
        turn.plays = np.empty(self.rows, dtype=np.int64)
        for part in turn.parts:
            played = turn.at.take(part.rows) == part.at
            turn.plays[part.rows[played]] = part.block.player.learned_from(part.learners[played])

    def _act(self, ticket: Ticket, observation: Observation) -> Ticket:
        proposed, parts = [], ticket.round.parts
        if len(parts) == 1 and parts[0].whole:
            views = [observation]
        elif observation is NOTHING:
            views = [NOTHING] * len(parts)
        else:
            views = [observation if part.whole else observation.take(part.rows) for part in parts]
        if observation is ticket.observation:
            ticket.seen = views
        try:
            for part, policy, decided, seen in zip(parts, ticket.policies, ticket.decisions, views, strict=True):
                player = part.block.player
                decision = player.act(policy, seen, self.rng)
                actions = actions_like(decision, player.base, self.problem, len(part.rows))
                proposed.append(actions)
                decided.append(decision if decision is actions else with_actions(decision, actions))
        except Exception as error:
            self._failures.caught(part.at, error)
            raise
        ticket.actions = ticket.round.merged(proposed)
        if not (ticket.round.alone and are_available(ticket.actions, self.problem, observation)):
            for part, actions, seen in zip(parts, proposed, views, strict=True):
                base = part.block.player.base
                self._failures.call(part.at, check_available, actions, base, self.problem, seen)
        return ticket

    def _restart(self, restart: Array) -> None:
        """Start these learners over."""
        for block in self.blocks:
            learners = np.flatnonzero(restart[block.members])
            if len(learners):
                at = np.repeat(block.members, self.rows)[learners] * self.rows + learners % self.rows
                try:
                    self._failures.call(at, block.player.restart, learners, self.rng)
                except SetAside:
                    self._round = None

    def _block(self, members: Array, shown: dict[str, Array]) -> Block:
        bases = [self.bases[member] for member in members]
        given = given_rows(bases, shown, self.rows)
        player = self.options.played(bases[0]).start(given, self.rng)
        return Block(members, player)


def _generator(rng: Any) -> Generator:
    """The generator itself, or one with this seed."""
    if not isinstance(rng, Generator) and (not isinstance(rng, int | np.integer) or isinstance(rng, bool) or rng < 0):
        raise CorralError(f"rng must be a numpy Generator or a seed (a whole number of at least 0), not {kind(rng)}")
    return np.random.default_rng(rng)
