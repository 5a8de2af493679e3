"""Checks of policies: a policy holds everything that acting needs, so that smoothing can replay it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from corral_core.bases.lift import Lifted
from corral_core.checks.rules import Checks, broken, same, shown
from corral_core.checks.streams import Streams
from corral_core.checks.trial import HORIZON, TURNS, BaseCase, difference, held
from corral_core.log import Log
from corral_core.players.smoothing import Smooth
from corral_core.protocols.problem import Feedback, Observation, action_of
from corral_core.rows import Array, stack
from corral_core.selection.setup import given_rows

POLICIES = Checks()
demand = POLICIES.demand


def rarely_changes(case: BaseCase) -> bool:
    return case.base.rarely_changes


@demand()
def policy_alone_determines_the_action(case: BaseCase) -> None:
    """A policy acts later as it did when it was new, no matter what the state has learned since."""
    trial = case.trial().run()
    for number, moment in enumerate(trial.moments, start=1):
        for found, played in zip(trial.replay(moment), moment.decisions, strict=True):
            if not same(action_of(found), action_of(played)):
                now, then = shown(action_of(found)), shown(action_of(played))
                moved = _moved(case, number)
                broken(
                    f"replayed after {TURNS} plays, the policy of play {number} acts {now} in place of {then}{moved}"
                )


def _moved(case: BaseCase, number: int) -> str:
    """What later plays changed in the policy of a play: something that it shares with the state."""
    trial = case.trial().run(number)
    kept = trial.moments[-1].policy
    everyone = np.arange(len(trial.everyone))
    before = held(kept, everyone)
    trial.run(TURNS - number)
    seen = difference(held(kept, everyone), before).partition(" went from ")[0]
    return f"; later plays changed the policy: {seen}" if seen else ""


@demand()
def random_policies_are_drawn_anew(case: BaseCase) -> None:
    """A policy that draws random numbers when it acts draws new ones each time it is replayed."""
    trial = case.trial().run()
    for number, moment in enumerate(trial.moments, start=1):
        first = copy.deepcopy(moment.streams)
        drew = []
        for streams in (first, Streams.seeded(77, moment.rows)):
            before = _positions(streams)
            trial.player.act(moment.policy, moment.seen[0], streams)  # type: ignore[arg-type]
            drew.append([one != other for one, other in zip(before, _positions(streams), strict=True)])
        if drew[0] != drew[1]:
            broken(f"the policy of play {number} drew in rows {_true(drew[0])}, but when replayed in {_true(drew[1])}")


def _positions(streams: Streams) -> list[str]:
    return [repr(stream.bit_generator.state) for stream in streams.streams]


def _true(flags: list[bool]) -> str:
    return str([row for row, flag in enumerate(flags) if flag])


@demand(when=rarely_changes)
def changed_tells_the_truth(case: BaseCase) -> None:
    """If `changed` is False, the policy is the same as the last one requested."""
    trial = case.trial()
    for number in range(TURNS):
        waiting = [trial.ask() for _ in range(1 + number % 2)]  # sometimes two rewards arrive before the next request
        for moment in waiting:
            trial.learn(moment)
        quiet = np.flatnonzero(~case.base.changed(trial.state, trial.everyone))
        if len(quiet):
            now = case.base.policy(copy.deepcopy(trial.state), quiet).to_arrays()
            last = moment.policy.take(quiet).to_arrays()
            for name, value in now.items():
                if not same(value, last[name]):
                    then = shown(last[name])
                    broken(f"at turn {number + 1} `changed` is False, but {name} is {shown(value)}, not {then}")


@demand(when=rarely_changes)
def policies_are_counted(case: BaseCase) -> None:
    """`max_policies(plays)` is at least the number of times that `changed` is True."""
    trial = case.trial()
    count = np.ones(len(trial.everyone), dtype=np.int64)
    for plays in range(1, HORIZON):
        trial.play()
        if count.max() > case.base.max_policies(plays):
            broken(
                f"{plays} plays made {count.max()} policies; max_policies({plays}) is {case.base.max_policies(plays)}"
            )
        count += case.base.changed(trial.state, trial.everyone)


@demand(warns=True)
def policy_is_no_larger_than_the_state(case: BaseCase) -> None:
    """A policy takes no more bytes than its state, because smoothing keeps one policy per play."""
    trial = case.trial().run()
    policy = case.base.policy(trial.state, trial.everyone)
    shared = {name: None for name, value in policy._values() if isinstance(value, Log)}  # kept once, by the state
    own, state, rows = policy.replace(**shared).nbytes, trial.state.nbytes, len(trial.everyone)
    if own > state:
        broken(f"a policy takes {own / rows:.0f} bytes per row, the state {state / rows:.0f}")


ROWS, ROUNDS = 240, 32


@demand()
def smoothed_regret_follows_the_running_mean(case: BaseCase) -> None:
    """If smoothed, step 2 has the mean regret of the policies of step 1 so far: it replays the policies that played.

    For every row let d = sum over rounds s of (r2_s - mean of r1_1..r1_s), with r the regret (or minus the reward, if
    regret is unknown). Its mean is 0. The check fails if the mean over the rows is more than 5.5 standard errors from
    0. By chance this happens with a probability of about 4e-8. Python learners play a third of the rows.
    """
    environment, rng = case.environment, np.random.default_rng(5)
    rows = ROWS // 3 if isinstance(case.base, Lifted) else ROWS
    instance = environment.draw(rows, rng)
    everyone = np.arange(rows)
    player = Smooth(case.base, given_rows([case.base], environment.shown(instance), rows), rng)
    lost = np.zeros((2, ROUNDS, rows))
    for number in range(ROUNDS):
        for step in range(2):
            policy = player.next_policy(step, everyone, rng)
            decisions: list[Any] = []

            def act(observation: Observation, policy: Any = policy, decisions: list[Any] = decisions) -> Array:
                decisions.append(player.act(policy, observation, rng))
                return action_of(decisions[-1])

            play = environment.play(instance, act, rng)
            lost[step, number] = -play.reward if play.regret is None else play.regret
            decision = stack(decisions) if case.asked.episodic else decisions[-1]
            player.learn(step, everyone, Feedback(play.observation, decision, play.reward), rng)
    running = np.cumsum(lost[0], axis=0) / np.arange(1, ROUNDS + 1)[:, None]
    difference = (lost[1] - running).sum(axis=0)
    error = difference.std(ddof=1) / np.sqrt(rows)
    if abs(difference.mean()) > 5.5 * error + 1e-9:
        broken(
            f"over {ROUNDS} rounds step 2 lost {lost[1].sum(axis=0).mean():.4g}, but the running mean of step 1 "
            f"lost {running.sum(axis=0).mean():.4g}: {abs(difference.mean()) / max(error, 1e-300):.1f} standard errors"
        )
