"""The round of Stochastic CORRAL, for all rows at once, as `ask` and `tell`.

    meta chooses j  ->  step 1: base j acts with pi_s, is paid, its policy is recorded, it learns
                    ->  step 2: q uniform on 1..s, pi_q acts on a fresh observation, is paid, learns nothing
                    ->  gain from step 2 (less the bias b_j(s), where asked for)  ->  meta updates

Selection never meets an environment. Whoever holds one calls `ask(observation)`, plays the actions, and hands what
they earned to `tell(ticket, reward)`: at once, late, or out of order. The ticket keeps what was true when asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.random import Generator

from corral_core.bounds import BoundTable
from corral_core.errors import CorralError
from corral_core.metas.sampling import among
from corral_core.players.plain import Player
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta
from corral_core.protocols.problem import NOTHING, Feedback, Observation, Problem, Trajectory
from corral_core.rows import Array, Rows, stack
from corral_core.selection.compatibility import check_fit
from corral_core.selection.options import PRESETS, Options, options_for
from corral_core.selection.setup import given_rows, group_kin, meta_problem
from corral_core.selection.validation import (
    actions_in,
    choice_of,
    observation_in,
    reward_of,
    trajectory_in,
    verdict_of,
)


@attrs.define(eq=False)
class Block:
    """Kin bases, played as one: learner number slot * rows + row."""

    members: Array  # the numbers of its bases
    player: Player


@attrs.define(eq=False)
class Part:
    """The share of a block in a round."""

    block: Block
    rows: Array  # the row of each learner that takes part
    learners: Array
    at: Array  # where each learner's base and row lie in flat (bases, rows) arrays
    lives: Array | None  # how often each had been restarted; None where none ever is
    whole: bool  # whether the rows are all rows, in order


@attrs.define(eq=False)
class Round:
    """One choice of the meta-algorithm, and what has come of it so far."""

    chosen: Array
    probability: Array | None
    at: Array  # where the chosen bases lie in flat (bases, rows) arrays
    lives: Array  # how often they had been restarted
    parts: list[Part]
    plays: Array  # s of the chosen bases
    gain: Array
    difference: Array  # reward of step 2 less that of step 1
    asked: int = 0
    unpaid: int = 0  # steps that carry gain and have not been told
    told: int = 0


@attrs.define(eq=False)
class Ticket:
    """One step of a round: which base acts, with which policy, what it decided and on what."""

    round: Round
    step: int
    policies: list[Any]
    observation: Observation
    decisions: list[list[Any]]  # of every part, one for each time it was asked
    actions: Array
    seen: list[Observation] = attrs.Factory(list)  # each part's rows of the observation
    told: bool = False

    @property
    def chosen(self) -> Array:
        """The base of each row."""
        return self.round.chosen

    @property
    def probability(self) -> Array | None:
        """With which probability it was chosen."""
        return self.round.probability


class Selection:
    """A meta-algorithm over bases, or a base alone (one base, no meta), in every row."""

    def __init__(
        self,
        bases: Sequence[Base],
        meta: Meta | None,
        problem: Problem,
        *,
        rows: int,
        rounds: int,
        rng: Generator,
        options: Options | None = None,
        shown: dict[str, Array] | None = None,
    ) -> None:
        if not isinstance(options, Options | None):
            raise CorralError(f'options must be Options, like PRESETS["practice"], not {options!r}')
        self.options = options_for(meta, options or PRESETS["paper"])
        check_fit(bases, meta, problem, self.options)
        if rows < 1 or rounds < 1:
            raise CorralError(f"a selection needs at least one row and one round, not {rows} and {rounds}")
        self.bases, self.meta, self.problem, self.rows, self.rng = list(bases), meta, problem, rows, rng
        self.blocks = [self._block(group, shown or {}) for group in group_kin(bases)]
        self._block_of = np.zeros(len(bases), dtype=np.intp)
        self._slot = np.zeros(len(bases), dtype=np.intp)
        for number, block in enumerate(self.blocks):
            self._block_of[block.members] = number
            self._slot[block.members] = np.arange(len(block.members))
        self.active = np.ones((len(bases), rows), dtype=bool)
        self.rounds_of = np.zeros((len(bases), rows), dtype=np.int64)  # rounds in which each base was chosen
        self.restarts = np.zeros((len(bases), rows), dtype=np.int64)
        self._weights = self.blocks[0].player.weights
        self._all = np.arange(rows)
        self._zeros = np.zeros(rows, dtype=np.intp)
        self._round: Round | None = None
        if meta is not None:
            self.low, high = problem.range
            self.span = (high - self.low) or 1.0
            self.meta_problem = meta_problem(bases, problem, self.options, rounds)
            self.state = meta.init(rows, self.meta_problem)
            self._judge(problem)

    # --- what the world sees ---

    def ask(self, observation: Observation = NOTHING, ticket: Ticket | None = None) -> tuple[Array, Ticket]:
        """Actions for the next play of every row. With a ticket, the episode that it began goes on.

        The observation is kept until the answer is told, not copied: hand over another array next time.
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

    def tell(self, ticket: Ticket, reward: Array, experience: Rows | None = None) -> None:
        """What the actions of a ticket earned; an episode also hands over its `Trajectory`."""
        if ticket.told:
            raise CorralError("this ticket has been told already; each answer to `ask` is told once")
        reward = reward_of(reward, self.rows)
        if self.problem.episodic:
            experience = trajectory_in(experience, self.problem, self.rows)
        ticket.told = True
        self._learn(ticket, reward, ticket.observation if experience is None else experience)
        if self.meta is not None:
            self._judge_step(ticket.round, ticket.step, reward)

    @property
    def probabilities(self) -> Array:
        """(bases, rows): with which probability each base would be chosen now."""
        if self.meta is None:
            return np.ones((1, self.rows))
        return among(self.active, self.meta.probabilities(self.state))

    # --- the round ---

    def _begin(self) -> Round:
        chosen: Array
        probability: Array | None
        if self.meta is None:
            chosen, probability = self._zeros, None
        else:
            choice = self.meta.choose(self.state, self.active, self.rng)
            chosen, probability = choice_of(self.meta, choice, len(self.bases), self.rows)
        at = chosen * self.rows + self._all
        self.rounds_of.reshape(-1)[at] += 1
        lives = self.restarts.take(at) if self.options.restart else self._zeros
        unpaid = sum(weight > 0 for weight in self._weights)
        gain, difference = np.zeros((2, self.rows))
        parts = self._parts(chosen, at)
        return Round(chosen, probability, at, lives, parts, self._zeros, gain, difference, unpaid=unpaid)

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
        lives = self.restarts.take(at) if self.options.restart else None
        return Part(block, rows, learners, at, lives, whole)

    def _everyone(self) -> list[Part]:
        """Every learner of every block: in importance-weighted rounds all propose, in shared ones all learn."""
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
        """s of the bases chosen, as it is in this round."""
        if self.meta is None or not self.options.bias:
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
        """One action a row, that of the base chosen."""
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
                paid = np.where(played, paid / ticket.probability.take(part.rows), 0.0)
            learned = Feedback(observation=seen, decision=decision, reward=paid)
            learners = part.learners
            if part.lives is not None:
                same = part.lives == self.restarts.take(part.at)
                if not same.all():  # restarted since it was asked: the answer belongs to a learner that is gone
                    kept = np.flatnonzero(same)
                    learners, learned = learners[kept], learned.take(kept)
            part.block.player.learn(ticket.step, learners, learned, self.rng)

    # --- judging: gain, bias, test, restarts ---

    def _judge(self, problem: Problem) -> None:
        """Tabulate what the bias and the test need."""
        options, told = self.options, self.meta_problem
        if options.bias or options.base_test:
            bounds = [bound for bound in told.bounds if bound is not None]
            self._bounds = BoundTable(bounds, options.bound)
        if options.base_test:
            spread = self._spread(problem.noise)
            self._width = 2 * math.sqrt(2 * spread * math.log(4 * told.horizon * told.bases / told.delta))
            self._excess = np.zeros((told.bases, self.rows))  # sum of r2 - r1 over whole rounds
            self._tested = np.zeros((told.bases, self.rows), dtype=np.int64)  # how many whole rounds

    def _judge_step(self, turn: Round, step: int, reward: Array) -> None:
        assert self.meta is not None
        scaled = (reward - self.low) / self.span
        turn.told += 1
        if self.options.base_test:
            compared = self._cut(scaled) if self.problem.noise is None else scaled
            turn.difference += compared if step else -compared
            if turn.told == len(self._weights):
                self._test(turn)
        weight = self._weights[step]
        if weight:
            turn.gain += weight * self._cut(scaled)
            turn.unpaid -= 1
            if turn.unpaid == 0:
                self._update(turn)

    def _update(self, turn: Round) -> None:
        assert self.meta is not None
        gain = turn.gain
        if self.options.bias:
            average = self._bounds(turn.chosen, turn.plays) / turn.plays
            gain = gain - self.options.bias * np.minimum(average, 1.0)
        verdict = self.meta.update(self.state, turn.chosen, turn.probability, gain, self.active)
        verdict = verdict_of(self.meta, verdict, len(self.bases), self.rows)
        if verdict is None:
            return
        if verdict.drop is not None:
            self._drop(verdict.drop)
        if self.options.restart and verdict.restart is not None:
            self._restart(verdict.restart & self.active)

    def _cut(self, scaled: Array) -> Array:
        """To the meta's clip."""
        assert self.meta is not None
        low, high = self.meta.clip
        found: Array = np.minimum(np.maximum(scaled, low), high)
        return found

    def _spread(self, noise: float | None) -> float:
        """Variance proxy of one r2 - r1: the means' part, and twice the noise; of rewards that are cut, Hoeffding's."""
        assert self.meta is not None
        if noise is not None:
            return 1 + 2 * (noise / self.span) ** 2
        low, high = self.meta.clip
        return (high - low) ** 2  # r2 - r1 is no larger than the clip is wide, whatever the tails and means

    def _test(self, turn: Round) -> None:
        """Drop a base once sum (r2 - r1) > U_j(n) + 2 sqrt(2 n v ln(4TM/delta)), n its rounds since it (re)started.

        Rewards without a known scale of the noise are cut to the meta's clip: with heavy tails one alone would decide.
        """
        same = turn.lives == self.restarts.take(turn.at)
        chosen, at = turn.chosen[same], turn.at[same]
        excess = self._excess.take(at) + turn.difference[same]
        rounds = self._tested.take(at) + 1
        self._excess.reshape(-1)[at], self._tested.reshape(-1)[at] = excess, rounds
        broken = excess > self._bounds(chosen, rounds) + self._width * np.sqrt(rounds)
        if broken.any():
            drop = np.zeros_like(self.active)
            drop.reshape(-1)[at[broken]] = True
            self._drop(drop)

    def _drop(self, drop: Array) -> None:
        left = self.active & ~drop
        left[:, ~left.any(axis=0)] = self.active[:, ~left.any(axis=0)]  # the last one is never dropped
        self.active = left

    def _restart(self, restart: Array) -> None:
        self.restarts += restart
        if self.options.base_test:
            self._excess[restart], self._tested[restart] = 0.0, 0
        for block in self.blocks:
            learners = np.flatnonzero(restart[block.members])
            if len(learners):
                block.player.restart(learners, self.rng)

    def _block(self, members: Array, shown: dict[str, Array]) -> Block:
        bases = [self.bases[member] for member in members]
        given = given_rows(bases, shown, self.rows)
        player = self.options.played(bases[0]).start(given, self.rng)
        return Block(members, player)
