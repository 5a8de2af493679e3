"""What corral-linucb provides. This module stays light: nothing is imported until it is used."""

from corral_core import Entry, hookimpl

corral_protocol = 1


@hookimpl
def corral_bases() -> list[Entry]:
    return [
        Entry("linucb", "Optimism over a confidence ellipsoid (LinUCB, OFUL)", "corral_linucb.bases.linucb:LinUcb"),
        Entry(
            "disjoint-linucb",
            "LinUCB with one shared context and one parameter vector per arm",
            "corral_linucb.bases.disjoint_linucb:DisjointLinUcb",
        ),
        Entry("suplinucb", "LinUCB in levels of independent samples", "corral_linucb.bases.suplinucb:SupLinUcb"),
        Entry(
            "misspecified-linucb",
            "LinUCB for rewards that are linear up to epsilon",
            "corral_linucb.bases.misspecified_linucb:MisspecifiedLinUcb",
        ),
        Entry(
            "g-optimal",
            "Phased elimination by G-optimal designs, for fixed arms",
            "corral_linucb.bases.g_optimal:GOptimal",
        ),
        Entry(
            "quadratic-linucb",
            "LinUCB on products of the features",
            "corral_linucb.bases.quadratic_linucb:QuadraticLinUcb",
        ),
        Entry("modcb", "Model selection of Foster et al. 2019 over nested classes", "corral_linucb.bases.modcb:ModCb"),
    ]


@hookimpl
def corral_environments() -> list[Entry]:
    return [
        Entry(
            "linear-arms",
            "Fixed arms whose means are linear in their features",
            "corral_linucb.environments.fixed:LinearArms",
        ),
        Entry(
            "independent-arms",
            "Fixed arms whose features are unrelated to their means",
            "corral_linucb.environments.fixed:IndependentArms",
        ),
        Entry(
            "misspecified-arms",
            "Fixed arms whose means are linear up to epsilon",
            "corral_linucb.environments.fixed:MisspecifiedArms",
        ),
        Entry(
            "nested-dimension",
            "Contexts with D features, of which only the first d* matter",
            "corral_linucb.environments.nested:NestedDimension",
        ),
        Entry(
            "nested-dimension-foster",
            "The nested contexts of Foster et al. 2019",
            "corral_linucb.environments.nested:FosterNested",
        ),
        Entry(
            "nested-dimension-infinite",
            "A ball or a changing ellipsoid; only the first d* of D coordinates matter",
            "corral_linucb.environments.infinite:InfiniteNested",
        ),
        Entry(
            "misspecified-contexts",
            "Contexts whose means are linear up to epsilon",
            "corral_linucb.environments.nested:MisspecifiedContexts",
        ),
        Entry(
            "quadratic",
            "Fixed arms whose means are squares of a linear function",
            "corral_linucb.environments.quadratic:QuadraticArms",
        ),
        Entry(
            "quadratic-contexts",
            "Contexts whose means are squares of a linear function",
            "corral_linucb.environments.quadratic:QuadraticContexts",
        ),
        Entry(
            "shared-context",
            "One context for all arms, and one parameter vector per arm",
            "corral_linucb.environments.shared_context:SharedContext",
        ),
    ]


@hookimpl
def corral_experiments() -> list[Entry]:
    names = {
        "linear-arms": "The paper's figure, left: UCB or LinUCB, if rewards are linear?",
        "independent-arms": "The paper's figure, right: UCB or LinUCB, if features mean nothing?",
        "unknown-dimension": "Which of the nested feature sets, compared with ModCB?",
        "unknown-dimension-infinite": "Which of the nested feature sets, on a ball and on ellipsoids?",
        "unknown-misspecification": "How far from linear are the rewards of these contexts?",
        "fixed-arms-misspecified": "UCB or G-optimal elimination, as fixed arms become less linear?",
        "unknown-dimension-and-misspecification": "Which feature set, and how far from linear?",
        "quadratic": "UCB, LinUCB on features, or LinUCB on their products?",
        "unknown-dimension-rates": "Which of the nested feature sets, as T grows?",
        "unknown-dimension-infinite-rates": "Which of the nested feature sets on a ball, as T grows?",
        "unknown-misspecification-rates": "Which level of misspecification if rewards are linear, as T grows?",
        "unknown-dimension-and-misspecification-rates": "Which feature set and which level, as T grows?",
        "fixed-arms-rates": "UCB or G-optimal elimination on fifty fixed arms, as T grows?",
    }
    return [Entry(name, summary, f"corral_linucb.experiments:{name}.toml") for name, summary in names.items()]
