"""What corral-lsvi provides. Targets are imported only when used."""

from corral_core import Entry, hookimpl

corral_protocol = 1


@hookimpl
def corral_bases() -> list[Entry]:
    return [
        Entry(
            "lsvi-ucb", "Least-squares value iteration with optimism (LSVI-UCB)", "corral_lsvi.bases.lsvi_ucb:LsviUcb"
        )
    ]


@hookimpl
def corral_environments() -> list[Entry]:
    return [
        Entry(
            "nested-linear-mdp",
            "Linear MDPs with D features, of which the first d* matter",
            "corral_lsvi.environments.nested:NestedLinearMdp",
        ),
    ]


@hookimpl
def corral_experiments() -> list[Entry]:
    names = {
        "unknown-feature-dimension": "How many features of a linear MDP should LSVI-UCB use?",
        "unknown-feature-dimension-rates": "What does it cost to find out how many features LSVI-UCB should use?",
        "unknown-feature-dimension-theory": "The same with everything that the theorem assumes, and lambda = c = 1",
    }
    return [Entry(name, summary, f"corral_lsvi.experiments:{name}.toml") for name, summary in names.items()]
