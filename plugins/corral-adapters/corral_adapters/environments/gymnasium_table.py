"""A finite Gymnasium environment, played from its own table of transitions: the best return is known.

FrozenLake, Taxi, CliffWalking and their like list in `P` what every action in every state can lead to, with which
probability and for which reward (transitions.py), and in `initial_state_distrib` where episodes start. Nothing else is
needed to play them: all rows take a step at once, no object of Gymnasium is stepped, and backward induction over the
`stages` gives the optimal action-values and with them the regret of every episode. An episode ends when it is
terminated, after `stages` steps at most.

`low` and `high`, the range by which a meta-algorithm scales returns, are exact where they are left out: what the worst
policy returns in the mean, and the best. The worst may be far below any that learns: in Taxi it returns -2000, and a
`low` of -200 leaves more of the range to bases that learn.

The best policy returns 0.7442 in the mean in FrozenLake-v1 with its 100 stages, and 7.93 in Taxi with its 200; in
CliffWalking it returns -13, with 13 stages or more.

Where more happens than the table lists, `gymnasium` plays the environment itself; this one refuses it, if it shows.

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
from corral_core.environments.finite_mdp import FiniteMdp, Model
from corral_core.environments.planning import worst
from corral_core.errors import CorralError
from corral_core.protocols.parameters import parameter
from corral_core.protocols.problem import Problem
from corral_core.rows import Array

ROUNDING = 1e-12  # by which values of policies that return the same may differ


@attrs.frozen(eq=False)
class Known:
    """What the table tells."""

    problem: Problem
    model: Model


@attrs.frozen
class GymnasiumTable(Made, FiniteMdp):
    """A finite environment of Gymnasium, played from its table of transitions."""

    name: ClassVar[str] = "gymnasium-table"

    low: float | None = parameter(None, help="least mean return; left out, that of the worst policy")
    high: float | None = parameter(None, help="largest mean return; left out, that of the best policy")
    _known: list[Known] = attrs.field(init=False, factory=list, eq=False, repr=False, metadata={"hidden": True})

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
    def _found(self) -> Known:
        """What the table tells, found out once."""
        if not self._known:
            self._known.append(self._read())
        return self._known[0]

    def _read(self) -> Known:
        env, other = self._make(), self._make()
        stages = self._steps(env)
        try:
            transitions = Transitions.of(env, stages)
            if not transitions.same(Transitions.of(other, stages)):
                raise CorralError("its P differs each time it is made; give it settings that determine it")
            transitions.doubt(env, stages)
        except CorralError as refused:
            raise CorralError(f"{self.name}: {self.id}: {refused}") from None
        except Exception as error:  # of the environment, which is played to doubt its table
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
        return Known(problem, model)

    def _range(self, model: Model, start: Array, stages: int) -> tuple[float, float]:
        """The mean returns of the worst policy and the best, unless told."""
        low = float(model.values(stages, worst)[0, 0].min(axis=-1) @ start)
        high = float(model.optimal[0, 0].max(axis=-1) @ start)
        if high - low <= ROUNDING * max(abs(low), abs(high)):
            high = low  # a span of rounding errors would be taken for one
        if self.low is not None and self.high is None and not self.low < high:
            raise CorralError(
                f"{self.name}: low must be less than {high:.6g}, what the best policy returns, not {self.low}"
            )
        if self.high is not None and self.low is None and not self.high > low:
            raise CorralError(
                f"{self.name}: high must be more than {low:.6g}, what the worst policy returns, not {self.high}"
            )
        return low if self.low is None else self.low, high if self.high is None else self.high


def _model(transitions: Transitions, stages: int) -> Model:
    """One world for all rows."""
    return Model.of(
        transitions.probability[None, None],
        transitions.reward[None, None],
        stages,
        following=transitions.following[None, None],
        ends=transitions.ends[None, None],
        start=transitions.start[None],
    )
