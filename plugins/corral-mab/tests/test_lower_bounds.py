"""The paper's two lower bounds, as far as it proves them."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from corral_mab import LowerBoundSqrt, LowerBoundUnknownRate, SqrtBase, UnknownRateBase
from corral_mab.bases.lower_bounds import mistakes

from corral_core import PRESETS, Corral, CorralError, Exp3P, Problem, Selection, Uniform, try_out

ROUNDS = 10_000
ROWS = 4000


@pytest.mark.parametrize(
    "meta",
    [Corral(eta="20/sqrt(T)"), Corral(eta="auto"), Exp3P(), Uniform()],
    ids=lambda m: f"{m.name}-{attrs.astuple(m)[:1]}",
)
def test_no_plain_meta_finds_the_erring_base(meta) -> None:
    """The wrong base is chosen with probability at least 1/4 at every round (Theorem 5.2); a meta that beats it leaks.

    The frequency among 4,000 rows stays within 5 standard errors below 1/4 at all 10,000 rounds, except with
    probability 10,000 * 3e-7 = .003 if the bound were tight, which it is not.
    """
    environment = LowerBoundSqrt()
    problem = attrs.evolve(environment.problem, horizon=ROUNDS, delta=1 / ROUNDS)
    luck, rng = np.random.default_rng(1), np.random.default_rng(2)
    instance = environment.draw(ROWS, luck)
    bases = [SqrtBase(slot=slot).resolve(problem) for slot in (0, 1)]
    chosen = Selection(
        bases,
        meta,
        problem,
        rows=ROWS,
        rounds=ROUNDS,
        rng=rng,
        options=PRESETS["practice"],
        shown=environment.shown(instance),
    )
    least = 1.0
    ticket = None

    def act(observation):
        nonlocal ticket
        actions, ticket = chosen.ask(observation)
        return actions

    for _ in range(ROUNDS):
        play = environment.play(instance, act, luck)
        least = min(least, (ticket.chosen == instance.erring_slot).mean())
        chosen.tell(ticket, play.reward)
    assert least >= 0.25 - 5 * np.sqrt(0.25 * 0.75 / ROWS)


def test_the_erring_base_errs_as_it_says() -> None:
    """Both slots occur, the other base never errs, and B's regret alone is four times the lower bound's sum.

    4.5 standard errors, and 9 for the number of either slot: fails by chance in 1e-5.
    """
    environment = LowerBoundSqrt()
    record = try_out(environment, [SqrtBase(slot=0)], rows=2000, horizon=1000, seed=3)
    errs = environment.draw(2000, np.random.default_rng(3).spawn(3)[0]).erring_slot == 0
    regret = record.regret[:, -1]
    assert 800 < errs.sum() < 1200
    assert (regret[~errs] == 0).all()
    expected = 0.25 * mistakes(np.arange(1.0, 1001)).sum()
    assert expected == pytest.approx(4 * 0.67, rel=0.01)  # by the formula, for T = 1,000
    assert abs(regret[errs].mean() - expected) < 4.5 * regret[errs].std() / np.sqrt(errs.sum())


@pytest.mark.parametrize(
    ("world", "exponent", "reveals", "reference"),
    [("P", 0.5, False, 100), ("P", 0.9, True, 3981), ("Q", 0.5, False, 731), ("Q", 0.9, True, 291)],
)
def test_reference_regrets_of_the_unknown_rate_bases(world, exponent, reveals, reference) -> None:
    """At T = 10,000, x = .5, y = .9: within 4.5 standard errors and the rounding of the reference number; 1e-5 each."""
    environment = LowerBoundUnknownRate(world=world)
    base = UnknownRateBase(exponent=exponent, reveals=reveals)
    record = try_out(environment, [base], rows=100, horizon=10_000)
    regret = record.regret[:, -1]
    assert abs(regret.mean() - reference) < 4.5 * regret.std(ddof=1) / 10 + 1


def test_they_live_nowhere_else() -> None:
    with pytest.raises(CorralError, match="works only in lower-bound-sqrt, not in the problem"):
        SqrtBase().resolve(Problem(arms=2))
    with pytest.raises(CorralError, match="x must be less than y"):
        LowerBoundUnknownRate(x=0.9, y=0.5)
