"""What corral-nonparam provides. Targets are imported only when used."""

from corral_core import Entry, hookimpl

corral_protocol = 1


@hookimpl
def corral_bases() -> list[Entry]:
    return [
        Entry(
            "knn-ucb",
            "Optimism about the mean reward of the nearest neighbours (kNN-UCB)",
            "corral_nonparam.bases.knn_ucb:KnnUcb",
        )
    ]


@hookimpl
def corral_environments() -> list[Entry]:
    return [
        Entry(
            "lipschitz",
            "Lipschitz mean rewards of a context with D features, of which the first d* matter",
            "corral_nonparam.environments.lipschitz:Lipschitz",
        )
    ]


@hookimpl
def corral_experiments() -> list[Entry]:
    names = {
        "unknown-relevant-features": "Which kNN-UCB is best if it is unknown how many features matter?",
        "unknown-relevant-features-rates": "kNN-UCB: what does it cost to find out how many features matter?",
    }
    return [Entry(name, summary, f"corral_nonparam.experiments:{name}.toml") for name, summary in names.items()]
