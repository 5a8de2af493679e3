"""A plain-Python twin of the whole smoothed round: one row, lists and floats, nothing borrowed from the array code.

It draws from its generator in the order the array code documents: the meta's uniform; step 1's action; step 2's q;
step 2's action. A learner is anything with policy(), act(policy, rng), learn(action, reward) and bound(s).
"""

from __future__ import annotations

import math

import numpy as np


class PlainEpsilonGreedy:
    def __init__(self, c: float, arms: int, scale: float) -> None:
        self.c, self.arms, self.scale = c, arms, scale
        self.pulls, self.total, self.s = [0] * arms, [0.0] * arms, 1

    def fresh(self):
        return PlainEpsilonGreedy(self.c, self.arms, self.scale)

    def policy(self):
        # The array code keeps the rate in single precision, in step 1 as on replay.
        mean = [total / n if n else math.inf for total, n in zip(self.total, self.pulls, strict=True)]
        return mean.index(max(mean)), float(np.float32(self.c / self.s))

    def act(self, policy, rng):
        greedy, rate = policy
        share = rng.random() / min(rate, 1.0)
        return int(share * self.arms) if share < 1 else greedy

    def learn(self, action, reward):
        self.pulls[action] += 1
        self.total[action] += reward
        self.s += 1

    def bound(self, s):
        return self.scale * math.sqrt(s)


class PlainTurncoat:
    """Plays the good arm for a while and the bad one ever after."""

    def __init__(self, good_for: int, scale: float) -> None:
        self.good_for, self.scale, self.s = good_for, scale, 1

    def fresh(self):
        return PlainTurncoat(self.good_for, self.scale)

    def policy(self):
        return 0 if self.s <= self.good_for else 1

    def act(self, policy, rng):
        return policy

    def learn(self, action, reward):
        self.s += 1

    def bound(self, s):
        return self.scale * math.sqrt(s)


def bisect_log_barrier(p: list[float], eta: list[float], losses: list[float]) -> list[float]:
    """lambda by bisection below the first pole, in the distance from the pole."""
    start = [1 / pj + ej * lj for pj, ej, lj in zip(p, eta, losses, strict=True)]
    pole = min(range(len(p)), key=lambda j: start[j] / eta[j])
    edge = start[pole] / eta[pole]

    def probabilities(distance: float) -> list[float]:
        gaps = [0.0 if j == pole else sj / ej - edge for j, (sj, ej) in enumerate(zip(start, eta, strict=True))]
        return [1 / (ej * (gap + distance)) for gap, ej in zip(gaps, eta, strict=True)]

    low, high = 1e-12, 1e12
    for _ in range(80):
        middle = math.sqrt(low * high)
        if sum(probabilities(middle)) > 1:
            low = middle
        else:
            high = middle
    found = probabilities(high)
    total = sum(found)
    return [q / total for q in found]


class PlainCorral:
    low_gain, clip = 0.0, (-1.0, 2.0)

    def __init__(self, bases: int, horizon: int, eta: float, mixing: str) -> None:
        self.p = [1 / bases] * bases
        self.sampled = list(self.p)
        self.eta = [eta] * bases
        self.threshold = [0.5 / bases] * bases
        self.gamma, self.growth, self.mixing = 1 / horizon, math.exp(1 / math.log(horizon)), mixing

    def forget_dropped(self, active):
        for name in ("p", "sampled"):
            kept = [value if on else 0.0 for value, on in zip(getattr(self, name), active, strict=True)]
            setattr(self, name, [value / sum(kept) for value in kept])

    def update(self, chosen, probability, gain, active):
        self.forget_dropped(active)
        there = [j for j, on in enumerate(active) if on]
        losses = [(1 - gain) / probability if j == chosen else 0.0 for j in there]
        moved = bisect_log_barrier([self.p[j] for j in there], [self.eta[j] for j in there], losses)
        self.p = [0.0] * len(active)
        self.sampled = [0.0] * len(active)
        restart = []
        for j, q in zip(there, moved, strict=True):
            self.p[j] = q
            self.sampled[j] = (1 - self.gamma) * q + self.gamma / len(there)
            if self.sampled[j] < self.threshold[j]:
                self.threshold[j] = self.sampled[j] / 2
                self.eta[j] *= self.growth
                restart.append(j)
        if self.mixing == "overwrite":
            self.p = list(self.sampled)
        return restart


class PlainExp3P:
    clip = (0.0, 1.0)

    def __init__(self, bases: int, floor: float, gains: tuple[float, float]) -> None:
        self.total = [0.0] * bases
        self.sampled = [1 / bases] * bases
        self.floor, self.gains = floor, gains

    def forget_dropped(self, active):
        kept = [value if on else 0.0 for value, on in zip(self.sampled, active, strict=True)]
        self.sampled = [value / sum(kept) for value in kept]

    def update(self, chosen, probability, gain, active):
        p, (low, high) = self.floor, self.gains
        there = [j for j, on in enumerate(active) if on]
        for j in there:
            self.total[j] += p / 2 / self.sampled[j]
        self.total[chosen] += (gain - low) / (high - low) / probability
        eta, top = p / (1 + p / 2), max(self.total[j] for j in there)
        weight = {j: math.exp(eta * (self.total[j] - top)) for j in there}
        norm = sum(weight.values())
        self.sampled = [
            (1 - len(there) * p) * weight[j] / norm + p if j in weight else 0.0 for j in range(len(self.total))
        ]
        return []


def play_twin(meta, learners, means, rounds, rng, luck, *, span=1.0, bias=0.0, test_width=None, restart=False):
    """The whole round, `rounds` times, mean rewards in [0, span]; yields base, both actions and probabilities."""
    learners = list(learners)
    past: list[list] = [[] for _ in learners]
    excess = [0.0] * len(learners)
    active = [True] * len(learners)
    for _ in range(rounds):
        if not all(active):
            meta.forget_dropped(active)
        j, probability = _draw(meta.sampled, rng)
        learner = learners[j]
        past[j].append(learner.policy())
        s = len(past[j])
        first = learner.act(past[j][-1], rng)
        reward1 = float(luck.random() < means[first])
        learner.learn(first, reward1)
        q = int(rng.random() * s)
        second = learner.act(past[j][q], rng)
        reward2 = float(luck.random() < means[second])
        if test_width is not None:
            excess[j] += (reward2 - reward1) / span
            if excess[j] > learner.bound(s) / span + test_width * math.sqrt(s) and sum(active) > 1:
                active[j] = False
        low, high = meta.clip
        gain = min(max(reward2 / span, low), high) - bias * min(1.0, learner.bound(s) / span / s)
        for k in meta.update(j, probability, gain, active):
            if restart and active[k]:
                learners[k], past[k], excess[k] = learners[k].fresh(), [], 0.0
        yield j, first, second, list(meta.sampled)


def _draw(weights, rng):
    total = sum(weights)
    target, passed = rng.random() * total, 0.0
    for j, weight in enumerate(weights):
        passed += weight
        if target < passed:
            return j, weight / total
    raise AssertionError("probabilities do not reach their own sum")
