"""Which of Corral's own plugins provides which name, so that an unknown name can say what to install.

This file is written by `python plugins/write_known.py`.
"""

PROVIDED: dict[str, dict[str, list[str]]] = {
    "corral-adapters": {
        "base": [
            "mabwiser",
            "river",
        ],
        "environment": [
            "gymnasium",
            "gymnasium-table",
        ],
        "experiment": [
            "adapted-bandits",
        ],
    },
    "corral-glm": {
        "base": [
            "ucb-glm",
            "supcb-glm",
        ],
        "environment": [
            "glm-contexts",
            "glm-arms",
        ],
        "experiment": [
            "unknown-link",
            "unknown-link-rates",
        ],
    },
    "corral-heavytail": {
        "base": [
            "menu",
            "tofu",
        ],
        "environment": [
            "student-t-arms",
            "pareto-arms",
            "prize-arms",
        ],
        "experiment": [
            "student-t",
            "student-t-100-arms",
            "pareto",
            "pareto-100-arms",
            "heavier-tails",
            "rare-prizes",
            "unknown-moment",
            "unknown-moment-rates",
        ],
    },
    "corral-linucb": {
        "base": [
            "linucb",
            "disjoint-linucb",
            "suplinucb",
            "misspecified-linucb",
            "g-optimal",
            "quadratic-linucb",
            "modcb",
        ],
        "environment": [
            "linear-arms",
            "independent-arms",
            "misspecified-arms",
            "nested-dimension",
            "nested-dimension-foster",
            "nested-dimension-infinite",
            "misspecified-contexts",
            "quadratic",
            "quadratic-contexts",
            "shared-context",
        ],
        "experiment": [
            "linear-arms",
            "independent-arms",
            "unknown-dimension",
            "unknown-dimension-infinite",
            "unknown-misspecification",
            "fixed-arms-misspecified",
            "unknown-dimension-and-misspecification",
            "quadratic",
            "unknown-dimension-rates",
            "unknown-dimension-infinite-rates",
            "unknown-misspecification-rates",
            "unknown-dimension-and-misspecification-rates",
            "fixed-arms-rates",
        ],
    },
    "corral-lsvi": {
        "base": [
            "lsvi-ucb",
        ],
        "environment": [
            "nested-linear-mdp",
        ],
        "experiment": [
            "unknown-feature-dimension",
            "unknown-feature-dimension-rates",
            "unknown-feature-dimension-theory",
        ],
    },
    "corral-mab": {
        "base": [
            "ucb",
            "ucb1",
            "epsilon-greedy",
            "exp3",
            "exp3-ix",
            "uniform-play",
            "rate",
            "lower-bound-sqrt-base",
            "lower-bound-unknown-rate-base",
        ],
        "environment": [
            "bernoulli-arms",
            "gaussian-arms",
            "lower-bound-sqrt",
            "lower-bound-unknown-rate",
        ],
        "experiment": [
            "quickstart",
            "epsilon-greedy",
            "lower-bound-sqrt",
            "lower-bound-unknown-rate",
            "epsilon-greedy-rates",
            "known-bound",
            "known-exponent",
            "unknown-exponent",
        ],
    },
    "corral-nonparam": {
        "base": [
            "knn-ucb",
        ],
        "environment": [
            "lipschitz",
        ],
        "experiment": [
            "unknown-relevant-features",
            "unknown-relevant-features-rates",
        ],
    },
    "corral-report": {
        "command": [
            "plot",
            "report",
            "export",
            "reproduce",
        ],
    },
    "corral-tabular": {
        "base": [
            "ucrl2",
            "psrl",
            "epsilon-greedy-planning",
            "q-learning",
        ],
        "environment": [
            "riverswim",
        ],
        "experiment": [
            "riverswim",
            "riverswim-qlearning",
            "riverswim-scaling",
        ],
    },
}


def known(kind: str) -> dict[str, str]:
    """The names of one kind, each with the plugin that provides it."""
    return {name: plugin for plugin, kinds in PROVIDED.items() for name in kinds.get(kind, ())}
