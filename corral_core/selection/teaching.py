"""What bases learn from a play.

The played base learns from its own decision (raw feedback), or every base from what it proposed (importance-weighted
feedback: high - (high - reward)/p for the played base, high for the others).

With the option `share`, bases with `learns_from_others` also learn the bare actions of the other bases, and s of a base
counts everything it learned from. What a base gains, and how often it was played, is still its own plays alone.
An action beyond a base's own arms is skipped. A base that was dropped learns too, so that it is up to date if it is
readmitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from corral_core.protocols.meta import FeedbackKind
from corral_core.protocols.problem import Feedback, Problem, Trajectory, action_of
from corral_core.rows import Array, stack
from corral_core.selection.failures import Failures, SetAside
from corral_core.selection.judge import Judge
from corral_core.selection.lineup import Lineup
from corral_core.selection.round import Block, Part, Ticket


class Teaching:
    """Passes rewards on to the bases that learn from them."""

    def __init__(
        self,
        problem: Problem,
        feedback: FeedbackKind,
        judge: Judge,
        failures: Failures,
        rng: Generator,
        students: Sequence[Student] = (),
    ) -> None:
        """`students` are the blocks that learn from the plays of others; there are none unless plays are shared."""
        self._problem, self._judge, self._failures, self._rng = problem, judge, failures, rng
        self._weighs = feedback == "importance-weighted"
        self._students = students

    def learn(self, ticket: Ticket, reward: Array, experience: Any) -> bool:
        """Teach what the actions of a ticket earned. False if a base failed and was set aside."""
        parts = ticket.round.parts
        if not parts[0].block.player.learns_in(ticket.step):
            return True
        if self._is_plain(ticket) and experience is ticket.observation:
            (part,), (decided,), (seen,) = parts, ticket.decisions, ticket.seen
            learned = Feedback(observation=seen, decision=decided[-1], reward=reward)
            return self._teach(part.block, ticket.step, part.learners, part.at, learned)
        episode = isinstance(experience, Trajectory)
        decisions = [stack(decided) if episode else decided[-1] for decided in ticket.decisions]
        if experience is ticket.observation:
            views = ticket.seen
        else:
            views = [experience if part.whole else experience.take(part.rows) for part in parts]
        done, together = True, set()
        actions = experience.action if episode else ticket.actions
        for part, decision, seen in zip(parts, decisions, views, strict=True):
            if self._students and not episode and _bare(part, decision, actions):
                together.add(id(part.block))
                continue
            learning = self._learning(ticket, part, decision)
            paid = reward if part.whole else reward.take(part.rows)
            if self._weighs:
                paid = self._weighted(ticket, part, paid)
            learned = Feedback(observation=seen, decision=decision, reward=paid)
            learners, at = part.learners, part.at
            if learning is not None:
                learners, learned, at = learners[learning], learned.take(learning), at[learning]
                if not len(at):
                    continue
            done &= self._teach(part.block, ticket.step, learners, at, learned)
        for student in self._students:
            done &= self._share(ticket, student, actions, reward, experience, id(student.block) in together)
        return done

    def _is_plain(self, ticket: Ticket) -> bool:
        """Whether all rows are in one part, and all of them learn their own rewards and nothing else."""
        (part, *others) = ticket.round.parts
        if others or not part.whole or part.restarts is not None or self._students or self._weighs:
            return False
        return not self._failures.reasons and ticket.renewed is None

    def _teach(self, block: Block, step: int, learners: Array, at: Array, learned: Feedback) -> bool:
        try:
            block.player.learn(step, learners, learned, self._rng)
        except Exception as error:
            try:
                self._failures.caught(at, error)
            except SetAside:
                return False
            raise
        return True

    def _weighted(self, ticket: Ticket, part: Part, reward: Array) -> Array:
        """Importance-weighted rewards: high - (high - reward)/p for the played base, high for the others."""
        assert ticket.probability is not None
        played, high = ticket.round.at.take(part.rows) == part.at, self._problem.range[1]
        return np.where(played, high - (high - reward) / ticket.probability.take(part.rows), high)

    def _learning(self, ticket: Ticket, part: Part, decision: Any) -> Array | None:
        """Which learners of a part still learn from its play; None if all do."""
        if part.restarts is None and not self._failures.reasons and ticket.renewed is None:
            return None
        learning = ~self._failures.at.take(part.at)
        if part.restarts is not None:  # a learner that has restarted since must not learn from its former play
            learning &= part.restarts == self._judge.restarts.take(part.at)
        if ticket.renewed is not None:
            learning &= ~has_any(ticket.renewed.take(part.rows, axis=0), action_of(decision))
        return None if learning.all() else np.flatnonzero(learning)

    def _share(
        self, ticket: Ticket, student: Student, actions: Array, reward: Array, experience: Any, together: bool
    ) -> bool:
        """Teach the learners of a block what other bases played; with `together`, also what they played themselves."""
        others = ticket.round.at.take(student.rows) != student.at
        learning = np.ones_like(others) if together else others.copy()
        if self._failures.reasons:
            learning &= ~self._failures.at.take(student.at)
        if ticket.renewed is not None:
            learning &= ~has_any(ticket.renewed, actions).take(student.rows)
        if student.arms is not None:
            strange = actions >= student.arms
            if strange.ndim > 1:
                strange = (strange & experience.alive).any(axis=1)
            learning &= ~strange.take(student.rows)
        learners = np.flatnonzero(learning)
        if not len(learners):
            return True
        rows = student.rows.take(learners)
        learned = Feedback(
            observation=experience.take(rows), decision=actions.take(rows, axis=0), reward=reward.take(rows)
        )
        if not self._teach(student.block, ticket.step, learners, student.at.take(learners), learned):
            return False
        student.block.player.taught += others & learning
        return True


class Student:
    """A block whose bases learn from the plays of others."""

    def __init__(self, block: Block, lineup: Lineup, problem: Problem, rows: int) -> None:
        self.block = block
        learners, self.at = lineup.learners(block)
        self.rows = learners % rows
        own: int | None = getattr(block.player.base, "arms", None)
        fewer = problem.actions == "finite" and own is not None and own != problem.arms
        self.arms = own if fewer else None  # None if it has all arms of the problem


def _bare(part: Part, decision: Any, actions: Array) -> bool:
    """Whether a decision is the action and nothing else, so that the part can learn in one call with the others."""
    if part.restarts is not None or not part.block.player.base.learns_from_others:
        return False
    return isinstance(decision, np.ndarray) and decision.dtype == actions.dtype


def has_any(marked: Array, actions: Array) -> Array:
    """Whether each row's action (in an episode, any of them) is marked, by (rows, arms) booleans."""
    if actions.ndim == 1:
        found: Array = marked[np.arange(len(actions)), actions]
        return found
    return np.asarray(np.take_along_axis(marked, actions, axis=1).any(axis=1))
