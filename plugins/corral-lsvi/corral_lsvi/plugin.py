"""What corral-lsvi brings. Light by rule: nothing is imported until it is used."""

from corral_core.hookspecs import Entry, hookimpl


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
            "Linear MDPs of which the first of many features matter",
            "corral_lsvi.environments.nested:NestedLinearMdp",
        ),
    ]


@hookimpl
def corral_experiments() -> list[Entry]:
    names = {
        "unknown-feature-dimension": "How many features of a linear MDP should LSVI-UCB use?",
        "unknown-feature-dimension-rates": "How many features should LSVI-UCB use, as T grows?",
        "unknown-feature-dimension-theory": "The same with all that the theorem assumes, and lambda = c = 1",
    }
    return [Entry(name, summary, f"corral_lsvi.experiments:{name}.toml") for name, summary in names.items()]
