"""The paper's two lower bounds, as far as it proves them."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from corral_mab import LowerBoundSqrt, LowerBoundUnknownRate, SqrtBase, UnknownRateBase
from corral_mab.bases.lower_bounds import mistakes

from corral_core import PRESETS, Corral, CorralError, Exp3P, Problem, Selection, Uniform, try_out
from corral_core.experiments.point import parse_point

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


# --- what must agree ---


def experiment(environment: dict[str, Any], *bases: dict[str, Any], horizon: int = 2000) -> Any:
    name = environment["name"]
    source = {
        "name": "lower",
        "horizon": horizon,
        "environment": environment,
        "bases": [{"name": f"{name}-base", **base} for base in bases],
    }
    return parse_point(source)


UNKNOWN = {"name": "lower-bound-unknown-rate", "world": "Q"}


def test_the_world_follows_the_horizon() -> None:
    """T = 2,000: Delta = T^-0.3, and base 2' reveals after T^0.7 plays."""
    found = experiment(UNKNOWN, {}, {"reveals": True})
    assert found.environment.plays == 2000
    assert found.environment.means[0] == pytest.approx(1 + 2000**-0.3)
    assert found.environment.draw(1, np.random.default_rng(1)).reveal_after[0] == pytest.approx(2000**0.7)
    assert [base.exponent for base in (curve.bases[0] for curve in found.curves)] == [0.5, 0.9]
    same = experiment({**UNKNOWN, "plays": "horizon"}, {"exponent": 0.5}, {"exponent": 0.9, "reveals": True})
    assert same.environment == found.environment
    record = try_out(LowerBoundUnknownRate(world="Q"), UnknownRateBase(reveals=True), horizon=2000, rows=50)
    # until the switch it loses Delta, or 1 + Delta with probability T^-0.1; 5 standard errors: 1e-6
    delta, chance, switch = 2000**-0.3, 2000**-0.1, int(2000**0.7)
    spread = np.sqrt(switch * chance * (1 - chance) / 50)
    assert abs(record.regret[:, -1].mean() - switch * (delta + chance)) < 5 * spread


def test_another_number_of_plays_is_refused() -> None:
    wrong = "lower-bound-unknown-rate: plays is 10000, but the horizon is 2000; leave plays out"
    with pytest.raises(CorralError, match=wrong):
        experiment({**UNKNOWN, "plays": 10_000}, {})
    with pytest.raises(CorralError, match=wrong):
        try_out(LowerBoundUnknownRate(plays=10_000), UnknownRateBase(), horizon=2000, rows=1)


@pytest.mark.parametrize(
    ("base", "why"),
    [
        ({"exponent": 0.7}, "exponent must be that of lower-bound-unknown-rate, x = 0.5 or y = 0.9, not 0.7"),
        ({"exponent": 0.5, "reveals": True}, "exponent must be that of .*, y = 0.9 if it reveals, not 0.5"),
    ],
)
def test_exponents_of_another_world_are_refused(base: dict[str, Any], why: str) -> None:
    with pytest.raises(CorralError, match=why):
        experiment(UNKNOWN, base)
    assert experiment({**UNKNOWN, "x": 0.3, "y": 0.7}, {"exponent": 0.7}).curves[0].bases[0].exponent == 0.7


def test_constants_of_the_first_bound_are_the_environment_s() -> None:
    """c = 0.4: the base errs 0.4/sqrt(1/24) times as often, claims 0.8 sqrt(s), and refuses another c."""
    world = {"name": "lower-bound-sqrt", "c": 0.4}
    base = experiment(world, {"slot": 0}).curves[0].bases[0]
    assert base.c == 0.4 and base.bound(0.01).shape[0].c == 0.8
    record = try_out(LowerBoundSqrt(c=0.4), SqrtBase(), rows=2000, horizon=1000, seed=3)
    errs = LowerBoundSqrt().draw(2000, np.random.default_rng(3).spawn(3)[0]).erring_slot == 0
    regret = record.regret[errs, -1]
    expected = 0.25 * mistakes(np.arange(1.0, 1001), 0.4).sum()
    assert expected == pytest.approx(0.4 * np.sqrt(24) * 0.25 * mistakes(np.arange(1.0, 1001)).sum())
    assert abs(regret.mean() - expected) < 4.5 * regret.std() / np.sqrt(len(regret))  # 1e-5
    with pytest.raises(CorralError, match=r"lower-bound-sqrt-base: c must be that of lower-bound-sqrt, 0.4, not 0.3"):
        experiment(world, {"c": 0.3})


def test_constants_of_the_second_bound_are_parameters() -> None:
    made = LowerBoundUnknownRate(world="Q", c2=2.0, epsilon=0.3, epsilon2=0.2, plays=10_000)
    assert made.means[0] == pytest.approx(1 + 10_000**-0.2)
    assert made.draw(1, np.random.default_rng(1)).reveal_after[0] == pytest.approx(2 * 10_000**0.8)
    for wrong in ({"epsilon": 0.6}, {"epsilon2": 0.2}, {"epsilon2": 0.0}):
        with pytest.raises(CorralError, match="0 < epsilon2 < epsilon <= 1 - x must hold"):
            LowerBoundUnknownRate(**wrong)


def test_they_live_nowhere_else() -> None:
    with pytest.raises(CorralError, match="works only in lower-bound-sqrt, not in the problem"):
        SqrtBase().resolve(Problem(arms=2))
    with pytest.raises(CorralError, match="x must be less than y"):
        LowerBoundUnknownRate(x=0.9, y=0.5)
