"""What corral-adapters provides. Targets are imported only when used."""

from corral_core import Entry, hookimpl

corral_protocol = 1


@hookimpl
def corral_bases() -> list[Entry]:
    return [
        Entry("mabwiser", "Any learning policy of MABWiser, by name", "corral_adapters.bases.mabwiser:MabWiser"),
        Entry("river", "Any bandit policy of river, by name", "corral_adapters.bases.river:River"),
    ]


@hookimpl
def corral_environments() -> list[Entry]:
    return [
        Entry(
            "gymnasium",
            "Any Gymnasium environment with finitely many states and actions",
            "corral_adapters.environments.gymnasium:Gymnasium",
        ),
        Entry(
            "gymnasium-table",
            "A Gymnasium environment with a transition table, played in arrays, with regret",
            "corral_adapters.environments.gymnasium_table:GymnasiumTable",
        ),
    ]


@hookimpl
def corral_experiments() -> list[Entry]:
    return [
        Entry(
            "adapted-bandits",
            "CORRAL over policies of MABWiser and river on five arms",
            "corral_adapters.experiments:adapted-bandits.toml",
        ),
    ]
