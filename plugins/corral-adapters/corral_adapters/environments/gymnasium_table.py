"""A finite Gymnasium environment, played from its own transition table, so the best return is known.

FrozenLake, Taxi, CliffWalking and similar environments list in `P` the possible outcomes of every action in every
state, with probability and reward (transitions.py), and in `initial_state_distrib` where episodes start. Nothing else
is needed to play them: all rows take a step at once, no Gymnasium object is stepped, and backward induction over the
`stages` gives the optimal action-values and so the regret of every episode. An episode ends when it is terminated, at
the latest after `stages` steps.

`low` and `high` are the range by which a meta-algorithm scales returns. By default they are exact: the mean returns of
the worst and the best policy. The worst may be far below any policy that learns: in Taxi it returns -2000, and
`low = -200` leaves more of the range to bases that learn.

The best policy has a mean return of 0.7442 in FrozenLake-v1 with its 100 stages, and 7.93 in Taxi with its 200; in
CliffWalking -13, with 13 stages or more.

If more can happen than the table lists, use `gymnasium`, which plays the environment itself. This class refuses such an
environment if it notices.

>>> lake = GymnasiumTable("FrozenLake-v1")
>>> lake.problem.states, lake.problem.arms, lake.problem.stages, round(lake.problem.high, 4)
(16, 4, 100, 0.7442)

Source: Towers et al., "Gymnasium: a standard interface for reinforcement learning environments", 2024.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import attrs

from corral_adapters.environments.made import Made
from corral_adapters.environments.transitions import Transitions
from corral_adapters.libraries import reason
from corral_core import Array, CorralError, Problem, parameter
from corral_core.environments.finite_mdp import FiniteMdp, Model
from corral_core.environments.planning import worst

ROUNDING = 1e-12  # values of policies with equal returns may differ by this


@attrs.frozen(eq=False)
class KnownTable:
    """What is known from the table."""

    problem: Problem
    model: Model


@attrs.frozen
class GymnasiumTable(Made, FiniteMdp):
    """A finite environment of Gymnasium, played from its transition table."""

    name: ClassVar[str] = "gymnasium-table"

    low: float | None = parameter(None, help="smallest mean return (default: that of the worst policy)")
    high: float | None = parameter(None, help="largest mean return (default: that of the best policy)")
    _known: list[KnownTable] = attrs.field(init=False, factory=list, eq=False, repr=False, metadata={"hidden": True})

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls("FrozenLake-v1", {"is_slippery": False}, stages=8),
            cls("FrozenLake-v1", {"desc": ["SF", "HG"], "reward_schedule": [1, -1, -0.1]}, stages=5, low=-1.5),
        ]

    @property
    def problem(self) -> Problem:
        return self._found.problem

    def model(self, instance: Any) -> Model:
        return self._found.model

    @property
    def _found(self) -> KnownTable:
        """What is known from the table, read once."""
        if not self._known:
            self._known.append(self._read())
        return self._known[0]

    def _read(self) -> KnownTable:
        env, other = self._make(), self._make()
        stages = self._steps(env)
        try:
            transitions = Transitions.of(env, stages)
            if not transitions.same(Transitions.of(other, stages)):
                raise CorralError("its P is different each time it is made; pass settings that determine it")
            transitions.doubt(env, stages)
        except CorralError as refused:
            raise CorralError(f"{self.name}: {self.id}: {refused}") from None
        except Exception as error:  # raised by the environment, which is played to verify its table
            raise CorralError(f"{self.name}: {self.id} cannot be played: {reason(error)}") from error
        finally:
            env.close()
            other.close()
        model = _model(transitions, stages)
        low, high = self._range(model, transitions.start, stages)
        least, most = transitions.returns(stages)
        states, arms = transitions.reward.shape[:2]
        problem = Problem(
            self.name,
            arms=arms,
            episodic=True,
            states=states,
            stages=stages,
            fixed_length=not transitions.ends.any(),
            step_low=float(transitions.reward.min()),
            step_high=float(transitions.reward.max()),
            noise=(most - least) / 2,  # by Hoeffding's lemma
            low=low,
            high=high,
        )
        return KnownTable(problem, model)

    def _range(self, model: Model, start: Array, stages: int) -> tuple[float, float]:
        """The mean returns of the worst and the best policy, unless `low` and `high` are set."""
        low = float(model.values(stages, worst)[0, 0].min(axis=-1) @ start)
        high = float(model.optimal[0, 0].max(axis=-1) @ start)
        if high - low <= ROUNDING * max(abs(low), abs(high)):
            high = low  # do not scale by rounding errors
        if self.low is not None and self.high is None and not self.low < high:
            raise CorralError(
                f"{self.name}: low must be less than {high:.6g}, the return of the best policy, not {self.low}"
            )
        if self.high is not None and self.low is None and not self.high > low:
            raise CorralError(
                f"{self.name}: high must be more than {low:.6g}, the return of the worst policy, not {self.high}"
            )
        return low if self.low is None else self.low, high if self.high is None else self.high


def _model(transitions: Transitions, stages: int) -> Model:
    """One model for all rows."""
    return Model.of(
        transitions.probability[None, None],
        transitions.reward[None, None],
        stages,
        following=transitions.following[None, None],
        ends=transitions.ends[None, None],
        start=transitions.start[None],
    )
