"""What corral-glm provides. This module stays light: nothing is imported until it is used."""

from corral_core import Entry, hookimpl

corral_protocol = 1


@hookimpl
def corral_bases() -> list[Entry]:
    return [
        Entry(
            "ucb-glm",
            "Optimism for generalised linear rewards, with any link (UCB-GLM)",
            "corral_glm.bases.ucb_glm:UcbGlm",
        ),
        Entry(
            "supcb-glm", "UCB-GLM in levels of independent samples (SupCB-GLM)", "corral_glm.bases.supcb_glm:SupCbGlm"
        ),
    ]


@hookimpl
def corral_environments() -> list[Entry]:
    return [
        Entry(
            "glm-contexts",
            "Contexts whose means follow a generalised linear model",
            "corral_glm.environments.glm:GlmContexts",
        ),
        Entry(
            "glm-arms",
            "Fixed arms whose means follow a generalised linear model",
            "corral_glm.environments.glm:GlmArms",
        ),
    ]


@hookimpl
def corral_experiments() -> list[Entry]:
    names = {
        "unknown-link": "Which link do these rewards have?",
        "unknown-link-rates": "Which link do these rewards have, as T grows?",
    }
    return [Entry(name, summary, f"corral_glm.experiments:{name}.toml") for name, summary in names.items()]
