"""Measure the cost of an episode of LSVI-UCB over time: `python -m corral_lsvi.timing`.

Past steps enter only through counts, so the cost should not depend on their number.
"""

from __future__ import annotations

from time import process_time

import attrs
import numpy as np

from corral_core import Array, Feedback, Observation
from corral_core.selection.setup import given_rows
from corral_lsvi.bases.lsvi_ucb import LsviUcb
from corral_lsvi.environments.nested import NestedLinearMdp

AT = (100, 1_000, 10_000)
AROUND = 90  # episodes before and after
TITLE = """\
Milliseconds of processor time per episode for planning, acting and learning. {states} states, {arms} actions,
{stages} stages, {dimension} features; medians over the episodes around the 100th, 1,000th and 10,000th."""


def episode_times(base: LsviUcb, world: NestedLinearMdp, rows: int, episodes: int, seed: int = 1) -> list[float]:
    """The time of every episode, in seconds."""
    rng, everyone = np.random.default_rng(seed), np.arange(rows)
    fitted = base.resolve(attrs.evolve(world.problem, horizon=episodes, delta=1 / episodes))
    instance = world.draw(rows, rng)
    state = fitted.init(given_rows([fitted], world.shown(instance), rows), rng)
    found, spent, policy = [], 0.0, fitted.policy(state, everyone)

    def act(seen: Observation) -> Array:
        nonlocal spent
        begun = process_time()
        actions = fitted.act(policy, seen, rng)
        spent += process_time() - begun
        return actions

    for _ in range(episodes):
        spent = 0.0
        play = world.play(instance, act, rng)
        begun = process_time()
        fitted.learn(state, everyone, Feedback(play.observation, play.action, play.reward), rng)
        if not fitted.rarely_changes or fitted.changed(state, everyone).any():
            policy = fitted.policy(state, everyone)
        found.append(spent + process_time() - begun)
    return found


def main() -> None:
    world = NestedLinearMdp()
    print(TITLE.format(**attrs.asdict(world)))
    print(f"{'rows':>4} {'plans':>13}" + "".join(f"{f'at {at:,}':>12}" for at in AT) + f"{'last/first':>12}")
    for rows in (1, 16):
        for switching, plans in ((0.0, "every episode"), (1.0, "doubling")):
            base = LsviUcb(penalty=0.001, radius=0.38, switching=switching)
            times = episode_times(base, world, rows, AT[-1] + AROUND)
            medians = [1e3 * float(np.median(times[at - AROUND : at + AROUND])) for at in AT]
            cells = "".join(f"{each:12.3f}" for each in medians)
            print(f"{rows:4} {plans:>13}{cells}{medians[-1] / medians[0]:12.2f}", flush=True)


if __name__ == "__main__":
    main()
