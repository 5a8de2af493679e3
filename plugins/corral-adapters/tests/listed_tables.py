"""A Gymnasium environment with a table of the test's own, and values by loops over a table."""

from __future__ import annotations

import gymnasium
import numpy as np
from corral_adapters import GymnasiumTable
from gymnasium.envs.registration import WrapperSpec
from gymnasium.envs.toy_text.utils import categorical_sample
from gymnasium.spaces import Discrete

TAXI, CLIFF = (  # the newest versions installed
    max(name for name in gymnasium.registry if name.startswith(kind)) for kind in ("Taxi-v", "CliffWalking-v")
)
DRY = {"is_slippery": False}
FORK = {  # state 0: a way that pays now and one that may pay later; state 1 ends
    0: {0: [(1.0, 0, 0.1, False)], 1: [(0.5, 1, 0.0, False), (0.25, 0, -1.0, False), (0.25, 1, 2.0, True)]},
    1: {0: [(1.0, 1, 1.0, True)], 1: [(1.0, 0, -0.5, False)]},
}


class Listed(gymnasium.Env):
    """Does what a table says, or with a quirk something else."""

    def __init__(self, table, start=(1.0, 0.0), states=None, actions=None, quirk=""):
        self.observation_space = Discrete(2) if states is None else states
        self.action_space = Discrete(2) if actions is None else actions
        self.quirk = quirk
        if table is not None:
            self.P = table
        if start is not None:
            self.initial_state_distrib = np.array(start) if isinstance(start, tuple) else start

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.taken = int(self.quirk == "elsewhere"), 0
        return self.state, {}

    def step(self, action):
        if self.quirk == "breaks":
            raise RuntimeError("the lake is dry.\nReally.")
        listed = self.P[self.state][action]
        _, self.state, reward, terminated = listed[categorical_sample([each[0] for each in listed], self.np_random)]
        self.taken += 1
        if self.quirk == "jumps" and self.np_random.random() < 0.05:
            self.state, terminated = 1 - self.state, False
        return self.state, reward, terminated, self.quirk == "cuts" and self.taken == 3, {}


def registered():
    """Environments of this module, by name: the body of a fixture."""
    gymnasium.register("Listed-v0", entry_point=Listed)
    generous = WrapperSpec("double", "gymnasium.wrappers:TransformReward", {"func": lambda reward: 2 * reward})
    gymnasium.register("Generous-v0", entry_point=Listed, additional_wrappers=(generous,))
    yield
    del gymnasium.registry["Listed-v0"], gymnasium.registry["Generous-v0"]


def listed(table=FORK, stages=4, low=None, high=None, **settings):
    return GymnasiumTable("Listed-v0", {"table": table, **settings}, stages=stages, low=low, high=high)


def changed(state, action, outcomes):
    """The fork with other outcomes of one action."""
    return {at: {**ways, **({action: outcomes} if at == state else {})} for at, ways in FORK.items()}


def bare(environment):
    made = gymnasium.make(environment.id, disable_env_checker=True, **environment.settings)
    return made.unwrapped


def plain_value(environment, best=max):
    """The mean return of the best policy, by loops over the table."""
    env = bare(environment)
    value = dict.fromkeys(env.P, 0.0)
    for _ in range(environment.problem.stages):
        value = {
            state: best(
                sum(chance * (pays + (0.0 if ends else value[to])) for chance, to, pays, ends in outcomes)
                for outcomes in ways.values()
            )
            for state, ways in env.P.items()
        }
    return sum(chance * value[state] for state, chance in enumerate(env.initial_state_distrib))
