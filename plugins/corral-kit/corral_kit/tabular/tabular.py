"""Common part of bases that learn a finite MDP: their sizes, and the steps of episodes as flat arrays."""

from __future__ import annotations

from typing import ClassVar, Self

import attrs
import numpy as np
from attrs.validators import ge

from corral_core import Array, Base, CorralError, Problem, Trajectory, fitted


@attrs.frozen
class Tabular(Base):
    """A base for episodes in finitely many states. It learns from any trajectory, no matter which base acted.

    It does not respect masks: it plans for all actions of states it may reach, and a mask shows those of one state.
    """

    episodic: ClassVar[bool] = True
    learns_from_others: ClassVar[bool] = True

    arms: int = fitted(help="number of actions", validator=ge(1))
    states: int = fitted(help="number of states", validator=ge(1))
    stages: int = fitted(help="maximum number H of steps per episode", validator=ge(1))
    fixed_length: bool = fitted(help="whether every episode takes all its stages; otherwise some may end early")

    def resolve(self, problem: Problem) -> Self:
        found = super().resolve(problem)
        for name in ("arms", "states", "stages"):
            mine, there = getattr(found, name), getattr(problem, name)
            if there is not None and mine != there:
                raise CorralError(f"{self.name} plays all {there} {name} of {problem.environment}; leave {name} out")
        return found

    @property
    def outcomes(self) -> int:
        """Number of outcomes of a step: every state and, if episodes may end early, their end."""
        return self.states + (not self.fixed_length)

    @property
    def counted(self) -> int:
        """Bytes per row of one number for every state, action and outcome."""
        return 8 * self.states * self.arms * self.outcomes

    def steps(self, rows: Array, trajectory: Trajectory) -> Steps:
        """The steps that were taken in the episodes of these learners."""
        alive = trajectory.alive
        if alive.shape[1] == self.stages and alive.all():
            return self._full(rows, trajectory)
        episode, stage = np.nonzero(alive)
        over = np.ones(alive.shape, dtype=bool)  # with this step
        over[:, :-1] = ~alive[:, 1:]
        last = stage == self.stages - 1
        ended = over[episode, stage] & ~last
        if self.fixed_length and ended.any():
            taken = int(stage[ended.argmax()]) + 1
            raise CorralError(
                f"{self.name} expects every episode to take all its {self.stages} stages, but one ended after {taken}"
            )
        return Steps(
            learner=rows[episode],
            stage=stage,
            state=trajectory.state[episode, stage],
            action=trajectory.action[episode, stage],
            reward=trajectory.reward[episode, stage],
            outcome=np.where(ended, self.states, trajectory.next_state[episode, stage]),
            last=last,
        )

    def _full(self, rows: Array, trajectory: Trajectory) -> Steps:
        """The steps of episodes that all took all their stages."""
        stage = np.tile(np.arange(self.stages), len(rows))
        return Steps(
            learner=rows.repeat(self.stages),
            stage=stage,
            state=trajectory.state.reshape(-1),
            action=trajectory.action.reshape(-1),
            reward=trajectory.reward.reshape(-1),
            outcome=trajectory.next_state.reshape(-1),
            last=stage == self.stages - 1,
        )


@attrs.frozen(eq=False)
class Steps:
    """All steps of some episodes as flat arrays."""

    learner: Array
    stage: Array
    state: Array
    action: Array
    reward: Array
    outcome: Array  # the next state, or `states` if the episode ended early
    last: Array  # whether it was the step of the last stage
