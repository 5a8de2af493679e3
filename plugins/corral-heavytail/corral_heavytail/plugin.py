"""What corral-heavytail provides. This module stays light: nothing is imported until it is used."""

from corral_core import Entry, hookimpl

corral_protocol = 1


@hookimpl
def corral_bases() -> list[Entry]:
    return [
        Entry(
            "menu",
            "Median of means under optimism, for fixed arms with heavy tails (MENU)",
            "corral_heavytail.bases.menu:Menu",
        ),
        Entry(
            "tofu", "Truncation under optimism, for arms with heavy tails (TOFU)", "corral_heavytail.bases.tofu:Tofu"
        ),
    ]


@hookimpl
def corral_environments() -> list[Entry]:
    return [
        Entry(
            "student-t-arms",
            "Fixed linear arms with Student-t noise",
            "corral_heavytail.environments.student_t:StudentTArms",
        ),
        Entry(
            "pareto-arms", "Fixed linear arms with Pareto payoffs", "corral_heavytail.environments.pareto:ParetoArms"
        ),
        Entry(
            "prize-arms",
            "Fixed linear arms with one feature that pays in rare prizes",
            "corral_heavytail.environments.prize:PrizeArms",
        ),
    ]


@hookimpl
def corral_experiments() -> list[Entry]:
    names = {
        "student-t": "MENU, TOFU or LinUCB with Student-t noise, 20 arms (S1 of Shao et al. 2018)?",
        "student-t-100-arms": "MENU, TOFU or LinUCB with Student-t noise, 100 arms in 20 dimensions (S2)?",
        "pareto": "MENU, TOFU or LinUCB with Pareto payoffs, 20 arms (S3)?",
        "pareto-100-arms": "MENU, TOFU or LinUCB with Pareto payoffs, 100 arms in 20 dimensions (S4)?",
        "heavier-tails": "MENU, TOFU or LinUCB, as the tails get heavier?",
        "rare-prizes": "What if the second moment of payoffs is larger than MENU and TOFU assume?",
        "unknown-moment": "Which moment of the payoffs should TOFU assume?",
        "unknown-moment-rates": "Which moment should TOFU assume, as T grows?",
    }
    return [Entry(name, summary, f"corral_heavytail.experiments:{name}.toml") for name, summary in names.items()]
