"""What corral-tabular provides. Targets are imported only when used."""

from corral_core import Entry, hookimpl

corral_protocol = 1


@hookimpl
def corral_bases() -> list[Entry]:
    return [
        Entry("ucrl2", "Optimism over all plausible models (UCRL2)", "corral_tabular.bases.ucrl2:Ucrl2"),
        Entry("psrl", "Posterior sampling for reinforcement learning (PSRL)", "corral_tabular.bases.psrl:Psrl"),
        Entry(
            "epsilon-greedy-planning",
            "The best policy in the likeliest model, with random actions at rate epsilon",
            "corral_tabular.bases.epsilon_greedy_planning:EpsilonGreedyPlanning",
        ),
        Entry("q-learning", "Epsilon-greedy Q-learning", "corral_tabular.bases.q_learning:QLearning"),
    ]


@hookimpl
def corral_environments() -> list[Entry]:
    return [
        Entry(
            "riverswim",
            "Swim against the current to a large reward, or with it to a small one",
            "corral_tabular.environments.riverswim:RiverSwim",
        ),
    ]


@hookimpl
def corral_experiments() -> list[Entry]:
    names = {
        "riverswim": "UCRL2, PSRL or epsilon-greedy on RiverSwim (the paper's Figure 3)?",
        "riverswim-qlearning": "UCRL2, PSRL or epsilon-greedy Q-learning on RiverSwim, as the paper's text says?",
        "riverswim-scaling": "By what should returns of RiverSwim be scaled for CORRAL?",
    }
    return [Entry(name, summary, f"corral_tabular.experiments:{name}.toml") for name, summary in names.items()]
