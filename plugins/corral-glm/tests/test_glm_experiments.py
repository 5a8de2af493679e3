"""The registered experiments: bases are adapted where they should be."""

from __future__ import annotations

import pytest

from corral_core import load_experiment
from corral_core.engines.chunks import run_chunk
from corral_core.metas.learning_rates import target


def test_the_target_rate_is_known() -> None:
    experiment = load_experiment("unknown-link").points[0]
    corral = experiment.curve("corral")
    assert target([base.bound(0.01) for base in corral.bases]).row == "alpha and c known"


@pytest.mark.parametrize(("true", "at"), [("logistic", 0), ("square", 2)])
def test_links_that_matter(true: str, at: int) -> None:
    """At 600 plays the adapted base loses under an eighth of what uniform play does, the other 2.5 times that or more.

    A base that looks at |z| where means rise with z does no better than uniform play, to a tenth: by symmetry the two
    signs of z are as frequent among its plays. Means of 16 replicates, ten standard errors from failing.
    """
    experiment = load_experiment("unknown-link", horizon=600).points[at]
    regret = {
        curve: run_chunk(experiment, curve, 0).regret[:, -1].mean()  # type: ignore[index]
        for curve in ("ucb-glm(link=logistic)", "ucb-glm(link=square)", "uniform-play")
    }
    other = {"logistic": "square", "square": "logistic"}[true]
    adapted, wrong = regret[f"ucb-glm(link={true})"], regret[f"ucb-glm(link={other})"]
    assert adapted < regret["uniform-play"] / 8
    assert wrong > 2.5 * adapted
    if true == "logistic":
        assert abs(wrong / regret["uniform-play"] - 1) < 0.1
