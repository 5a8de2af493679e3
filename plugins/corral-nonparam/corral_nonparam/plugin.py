"""What corral-nonparam brings. Light by rule: nothing is imported until it is used."""

from corral_core.hookspecs import Entry, hookimpl


@hookimpl
def corral_bases() -> list[Entry]:
    return [
        Entry(
            "knn-ucb",
            "Optimism about the mean of the nearest neighbours (kNN-UCB)",
            "corral_nonparam.bases.knn_ucb:KnnUcb",
        )
    ]


@hookimpl
def corral_environments() -> list[Entry]:
    return [
        Entry(
            "lipschitz",
            "A context of D features, of which the first d* matter, and Lipschitz means",
            "corral_nonparam.environments.lipschitz:Lipschitz",
        )
    ]


@hookimpl
def corral_experiments() -> list[Entry]:
    names = {
        "unknown-relevant-features": "Which kNN-UCB, where nobody says how many features matter?",
        "unknown-relevant-features-rates": "Which kNN-UCB, where nobody says how many features matter, as T grows?",
    }
    return [Entry(name, summary, f"corral_nonparam.experiments:{name}.toml") for name, summary in names.items()]
