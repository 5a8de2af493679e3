"""What corral-mab provides. This module stays light: nothing is imported until it is used."""

from corral_core import Entry, hookimpl

corral_protocol = 1


@hookimpl
def corral_bases() -> list[Entry]:
    return [
        Entry("ucb", "Self-normalised upper confidence bounds", "corral_mab.bases.ucb:Ucb"),
        Entry("ucb1", "Upper confidence bounds of Auer et al. 2002", "corral_mab.bases.ucb1:Ucb1"),
        Entry(
            "epsilon-greedy",
            "Explores with probability c/s, otherwise plays the arm with the largest mean",
            "corral_mab.bases.epsilon_greedy:EpsilonGreedy",
        ),
        Entry("exp3", "Exponential weights with importance-weighted losses", "corral_mab.bases.exp3:Exp3"),
        Entry("exp3-ix", "EXP3 with implicit exploration (Neu 2015)", "corral_mab.bases.exp3:Exp3Ix"),
        Entry("uniform-play", "Draws arms uniformly and learns nothing", "corral_mab.bases.uniform_play:UniformPlay"),
        Entry("rate", "Regret exactly c s^alpha, for tests of theory", "corral_mab.bases.rate:Rate"),
        Entry(
            "lower-bound-sqrt-base",
            "Optimal, or errs less and less often: the square-root lower bound's bases",
            "corral_mab.bases.lower_bounds:SqrtBase",
        ),
        Entry(
            "lower-bound-unknown-rate-base",
            "Explores at a fixed rate and may switch: the unknown-rate lower bound's bases",
            "corral_mab.bases.lower_bounds:UnknownRateBase",
        ),
    ]


@hookimpl
def corral_environments() -> list[Entry]:
    return [
        Entry(
            "bernoulli-arms", "Arms that pay 1 with a fixed probability", "corral_mab.environments.arms:BernoulliArms"
        ),
        Entry(
            "gaussian-arms",
            "Arms that pay their mean plus Gaussian noise",
            "corral_mab.environments.arms:GaussianArms",
        ),
        Entry(
            "lower-bound-sqrt",
            "Two Bernoulli arms, for bases that differ too little to tell apart",
            "corral_mab.environments.lower_bounds:LowerBoundSqrt",
        ),
        Entry(
            "lower-bound-unknown-rate",
            "Three deterministic arms; only a slow base finds the best one",
            "corral_mab.environments.lower_bounds:LowerBoundUnknownRate",
        ),
    ]


@hookimpl
def corral_experiments() -> list[Entry]:
    return [
        Entry(
            "quickstart",
            "CORRAL and EXP3.P compared with their bases on five arms, in under a minute",
            "corral_mab.experiments:quickstart.toml",
        ),
        Entry(
            "epsilon-greedy",
            "The paper's figure: which of eighteen exploration rates?",
            "corral_mab.experiments:epsilon-greedy.toml",
        ),
        Entry(
            "lower-bound-sqrt",
            "The square-root lower bound: no meta can tell the bases apart",
            "corral_mab.experiments:lower-bound-sqrt.toml",
        ),
        Entry(
            "lower-bound-unknown-rate",
            "The unknown-rate lower bound: good in one world, bad in the other",
            "corral_mab.experiments:lower-bound-unknown-rate.toml",
        ),
        Entry(
            "epsilon-greedy-rates",
            "The paper's theorem: what not knowing the exploration rate costs, as T grows",
            "corral_mab.experiments:epsilon-greedy-rates.toml",
        ),
        Entry(
            "known-bound",
            "The paper's table, middle row: regret as T grows, alpha and c known",
            "corral_mab.experiments:known-bound.toml",
        ),
        Entry(
            "known-exponent",
            "The paper's table, bottom row: regret as T grows, alpha known",
            "corral_mab.experiments:known-exponent.toml",
        ),
        Entry(
            "unknown-exponent",
            "The paper's table, top row: regret as T grows, neither alpha nor c known",
            "corral_mab.experiments:unknown-exponent.toml",
        ),
    ]
