"""The round of Stochastic CORRAL, for all rows at once, as `ask` and `tell`.

    meta chooses j  ->  step 1: base j acts with pi_s, is paid, its policy is recorded, it learns
                    ->  step 2: q uniform on 1..s, pi_q acts on a fresh observation, is paid, learns nothing
                    ->  gain from step 2 (minus the bias b_j(s), if enabled)  ->  meta updates

Selection never sees an environment. The caller asks for actions with `ask(observation)`, plays them, and passes what
they earned to `tell(ticket, reward)`: at once, late, or out of order. A ticket keeps what was true when it was issued.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from corral_core.errors import CorralError
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta
from corral_core.protocols.problem import NOTHING, Feedback, Observation, Problem, Trajectory
from corral_core.rows import Array, Rows, stack
from corral_core.selection.compatibility import check_fit
from corral_core.selection.judge import Judge, MetaJudge
from corral_core.selection.options import PRESETS, Options, options_for
from corral_core.selection.round import Block, Part, Round, Ticket
from corral_core.selection.setup import given_rows, group_kin, meta_problem
from corral_core.selection.validation import actions_in, observation_in, reward_of, trajectory_in


class Selection:
    """A meta-algorithm over bases, or a base alone (one base, no meta), in every row.

    `rounds` is the number of rounds that the meta-algorithm plans for, and `rng` a generator or a seed. `options` set
    how bases are played and judged (default: the preset `paper`). `shown` contains what every base is given before the
    first play, by name: for example the features of fixed arms.
    """

    def __init__(
        self,
        bases: Sequence[Base],
        meta: Meta | None,
        problem: Problem,
        *,
        rows: int,
        rounds: int,
        rng: Generator | int,
        options: Options | None = None,
        shown: dict[str, Array] | None = None,
    ) -> None:
        if not isinstance(options, Options | None):
            raise CorralError(f'options must be Options, like PRESETS["practice"], not {options!r}')
        self.options = options_for(meta, options or PRESETS["paper"])
        check_fit(bases, meta, problem, self.options)
        if rows < 1 or rounds < 1:
            raise CorralError(f"a selection needs at least one row and one round, not {rows} and {rounds}")
        self.bases, self.meta, self.problem, self.rows = list(bases), meta, problem, rows
        self.rng = _generator(rng)
        self.blocks = [self._block(group, shown or {}) for group in group_kin(bases)]
        self._block_of = np.zeros(len(bases), dtype=np.intp)
        self._slot = np.zeros(len(bases), dtype=np.intp)
        for number, block in enumerate(self.blocks):
            self._block_of[block.members] = number
            self._slot[block.members] = np.arange(len(block.members))
        self.rounds_of = np.zeros((len(bases), rows), dtype=np.int64)  # rounds in which each base was chosen
        self._weights = self.blocks[0].player.weights
        self._all = np.arange(rows)
        self._zeros = np.zeros(rows, dtype=np.intp)
        self._round: Round | None = None
        self.judge = Judge(len(bases), rows)
        if meta is not None:
            told = meta_problem(bases, problem, self.options, rounds)
            self.judge = MetaJudge(meta, told, problem, self.options, rows, self._weights)

    def ask(self, observation: Observation = NOTHING, ticket: Ticket | None = None) -> tuple[Array, Ticket]:
        """Actions for the next play of every row. With a ticket, the episode that it began continues.

        The observation is kept, not copied, until the reward is told: pass another array next time.
        """
        observation_in(observation, self.problem, self.rows)
        if ticket is not None:
            return self._act(ticket, observation)
        turn = self._round
        if turn is None or turn.asked == len(self._weights):
            turn = self._round = self._begin()
        step = turn.asked
        turn.asked += 1
        policies = [part.block.player.next_policy(step, part.learners, self.rng) for part in turn.parts]
        if step == 0:
            self._note_plays(turn)
        ticket = Ticket(turn, step, policies, observation, [[] for _ in policies], self._zeros)
        return self._act(ticket, observation)

    def tell(self, ticket: Ticket, reward: ArrayLike, experience: Rows | None = None) -> None:
        """Take what the actions of a ticket earned; for an episode, also its `Trajectory`."""
        if ticket.told:
            raise CorralError("this ticket was told already; call `tell` once for each call of `ask`")
        paid = reward_of(reward, self.rows)
        if self.problem.episodic:
            experience = trajectory_in(experience, self.problem, self.rows)
        ticket.told = True
        self._learn(ticket, paid, ticket.observation if experience is None else experience)
        restart = self.judge.told(ticket.round, ticket.step, paid)
        if restart is not None:
            self._restart(restart)

    @property
    def probabilities(self) -> Array:
        """(bases, rows): the probability with which each base would be chosen now."""
        return self.judge.probabilities

    @property
    def active(self) -> Array:
        """(bases, rows): false if a base has been dropped."""
        return self.judge.active

    @property
    def restarts(self) -> Array:
        """(bases, rows): how often each base has started over."""
        return self.judge.restarts

    def _begin(self) -> Round:
        chosen, probability = self.judge.choose(self.rng)
        at = chosen * self.rows + self._all
        self.rounds_of.reshape(-1)[at] += 1
        restarts = self.restarts.take(at) if self.options.restart else self._zeros
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
        restarts = self.restarts.take(at) if self.options.restart else None
        return Part(block, rows, learners, at, restarts, whole)

    def _everyone(self) -> list[Part]:
        """Every learner of every block: in importance-weighted rounds all propose, in shared rounds all learn."""
        parts = []
        for block in self.blocks:
            learners = np.arange(len(block.members) * self.rows)
            at = np.repeat(block.members * self.rows, self.rows) + learners % self.rows
            parts.append(self._part(block, learners % self.rows, learners, at, whole=len(block.members) == 1))
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

    def _act(self, ticket: Ticket, observation: Observation) -> tuple[Array, Ticket]:
        proposed, parts = [], ticket.round.parts
        views = [observation if part.whole else observation.take(part.rows) for part in parts]
        if observation is ticket.observation:
            ticket.seen = views
        for part, policy, decided, seen in zip(parts, ticket.policies, ticket.decisions, views, strict=True):
            player = part.block.player
            decided.append(player.act(policy, seen, self.rng))
            proposed.append(actions_in(decided[-1], player.base, self.problem, seen, len(part.rows)))
        ticket.actions = self._merged(ticket, proposed)
        return ticket.actions, ticket

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
                assert ticket.probability is not None
                played = ticket.round.at.take(part.rows) == part.at
                high = self.problem.range[1]
                paid = np.where(played, high - (high - paid) / ticket.probability.take(part.rows), high)
            learned = Feedback(observation=seen, decision=decision, reward=paid)
            learners = part.learners
            if part.restarts is not None:
                same = part.restarts == self.restarts.take(part.at)
                if not same.all():  # a learner that has restarted since must not learn from its former play
                    kept = np.flatnonzero(same)
                    learners, learned = learners[kept], learned.take(kept)
            part.block.player.learn(ticket.step, learners, learned, self.rng)

    def _restart(self, restart: Array) -> None:
        """Start these learners over."""
        for block in self.blocks:
            learners = np.flatnonzero(restart[block.members])
            if len(learners):
                block.player.restart(learners, self.rng)

    def _block(self, members: Array, shown: dict[str, Array]) -> Block:
        bases = [self.bases[member] for member in members]
        given = given_rows(bases, shown, self.rows)
        player = self.options.played(bases[0]).start(given, self.rng)
        return Block(members, player)


def _generator(rng: Any) -> Generator:
    """The generator itself, or one with this seed."""
    if not isinstance(rng, Generator) and (not isinstance(rng, int) or isinstance(rng, bool) or rng < 0):
        raise CorralError(f"rng must be a numpy Generator or a seed (a whole number of at least 0), not {rng!r}"[:160])
    return np.random.default_rng(rng)
