"""What the core itself provides, through the same hooks as any plugin."""

from corral_core.hookspecs import Entry, hookimpl


@hookimpl
def corral_metas() -> list[Entry]:
    return [
        Entry("corral", "Log-barrier mirror descent over the bases (CORRAL)", "corral_core.metas.corral:Corral"),
        Entry("exp3p", "Exponential weights with exploration (EXP3.P)", "corral_core.metas.exp3p:Exp3P"),
        Entry(
            "original-corral",
            "CORRAL of 2017, importance-weighted feedback",
            "corral_core.metas.original_corral:OriginalCorral",
        ),
        Entry("uniform", "Every base with equal probability, always", "corral_core.metas.uniform:Uniform"),
    ]


@hookimpl
def corral_engines() -> list[Entry]:
    return [
        Entry("serial", "One chunk of replicates after another, in this process", "corral_core.engines.serial:Serial"),
        Entry("processes", "Chunks of replicates in worker processes", "corral_core.engines.processes:Processes"),
    ]
