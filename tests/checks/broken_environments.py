"""A sound environment of either kind, and for every check one that breaks that rule and no other."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from breaking import rules

from corral_core.checks.worlds import SmallChain
from corral_core.environments.bandit import Bandit, chosen, gaussian
from corral_core.environments.finite_mdp import FiniteMdp, Model
from corral_core.protocols.parameters import parameter
from corral_core.protocols.problem import Observation, Problem
from corral_core.rows import Array, Rows

BROKEN, breaks = rules()


class Instance(Rows):
    mean: Array  # (rows, arms)


@attrs.frozen
class Sound(Bandit):
    """Three Gaussian arms."""

    name: ClassVar[str] = "sound"
    says: ClassVar[dict[str, Any]] = {}

    arms: int = parameter(3, help="number of arms")

    @property
    def problem(self) -> Problem:
        return attrs.evolve(Problem("sound", arms=self.arms, noise=0.3, low=0.0, high=1.0), **self.says)

    def draw(self, rows: int, rng: Any) -> Any:
        return Instance(0.25 + 0.5 * rng.random((rows, self.arms)))

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        return gaussian(instance.mean, instance.mean.max(axis=1), action, 0.3, rng)


@attrs.frozen
class SoundChain(SmallChain):
    """Three states in a row."""

    name: ClassVar[str] = "sound-chain"

    @property
    def problem(self) -> Problem:
        return attrs.evolve(super().problem, environment="sound-chain")


@breaks("draws-have-rows-first")
class DrawsHaveRowsFirst(Sound):
    """Draws arms first."""

    def draw(self, rows: int, rng: Any) -> Any:
        return Instance(0.25 + 0.5 * rng.random((self.arms, rows)).T)


@breaks("shapes")
class Shapes(Sound):
    """Regret has a column too many."""

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        reward, regret = super().pay(instance, observation, action, rng)
        return reward, regret[:, None]


@breaks("shapes")
class ShapesOfInstances(Sound):
    """The instance is an array."""

    def draw(self, rows: int, rng: Any) -> Any:
        return rng.random((rows, self.arms))

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        return gaussian(instance, instance.max(axis=1), action, 0.3, rng)


@breaks("shapes")
class ShapesOfRewards(Sound):
    """Rewards are whole numbers."""

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        reward, regret = super().pay(instance, observation, action, rng)
        return reward.astype(int), regret


@breaks("shapes")
class ShapesOfWhatIsKnown(Sound):
    """Says that regret is unknown, but returns it."""

    says: ClassVar[dict[str, Any]] = {"regret": False}


@breaks("single-row")
class SingleRow(Sound):
    """An array of one becomes a number."""

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        reward, regret = super().pay(instance, observation, action, rng)
        return reward.squeeze(), regret


@breaks("same-seed-same-plays")
class SameSeedSamePlays(Sound):
    """Draws from a generator of its own."""

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        return super().pay(instance, observation, action, np.random.default_rng())


@breaks("rows-are-independent")
class RowsAreIndependent(Sound):
    """Pays more if there are more rows (up to three)."""

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        reward, regret = super().pay(instance, observation, action, rng)
        return reward + 0.01 * min(len(action), 3), regret


@breaks("actions-are-left-alone")
class ActionsAreLeftAlone(Sound):
    """Wipes the actions after use."""

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        paid = super().pay(instance, observation, action, rng)
        action[:] = 0
        return paid


@breaks("no-global-randomness")
class NoGlobalRandomness(Sound):
    """Draws from the generator that everybody shares."""

    def observe(self, instance: Any, rng: Any) -> Observation:
        np.random.random()  # noqa: NPY002
        return super().observe(instance, rng)


@breaks("observations-match-the-problem")
class ObservationsMatchTheProblem(Sound):
    """Shows a state, and does not say so."""

    def observe(self, instance: Any, rng: Any) -> Observation:
        return Observation(state=np.zeros(len(instance), dtype=int))


@breaks("shapes")
class UndeclaredMasks(Sound):
    """Masks arms, and does not say so."""

    def observe(self, instance: Any, rng: Any) -> Observation:
        return Observation(mask=np.ones((len(instance), self.arms), dtype=bool))


@breaks("shapes")
class PromisedFeatures(Sound):
    """Says that features change, and shows none."""

    says: ClassVar[dict[str, Any]] = {"changing": True, "dimension": 2}


@breaks("observations-match-the-problem")
class FeaturesUnseen(Sound):
    """Says that arms have features, and shows none."""

    says: ClassVar[dict[str, Any]] = {"dimension": 2}


@breaks("shapes")
class StatesOutside(SoundChain):
    """Has more states than it says."""

    @property
    def problem(self) -> Problem:
        return attrs.evolve(super().problem, states=1)


@breaks("observations-match-the-problem")
class EndsEarly(SoundChain):
    """Says that every episode takes all its stages."""

    @property
    def problem(self) -> Problem:
        return attrs.evolve(super().problem, fixed_length=True)


@breaks("rewards-lie-where-the-problem-says")
class RewardsLieWhereTheProblemSays(Sound):
    """Is noisier than it says."""

    says: ClassVar[dict[str, Any]] = {"noise": 0.2}


@breaks("rewards-lie-where-the-problem-says")
class MeansLieWhereTheProblemSays(Sound):
    """Means are higher than it says."""

    says: ClassVar[dict[str, Any]] = {"low": -0.5, "high": 0.5}


@breaks("regret-is-never-negative")
class RegretIsNeverNegative(Sound):
    """If the first arm pays very much, its regret is too small."""

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        reward, regret = super().pay(instance, observation, action, rng)
        return reward, regret - 0.1 * ((instance.mean[:, 0] > 0.73) & (action == 0))


@breaks("regret-is-never-negative")
class RegretIsNoMoreThanTheRange(Sound):
    """Regret exceeds the range of the means."""

    says: ClassVar[dict[str, Any]] = {"low": 0.35, "high": 0.55, "noise": None}


@breaks("the-best-policy-has-no-regret")
class TheBestPolicyHasNoRegret(Sound):
    """Measures regret against an arm that is not there."""

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        reward, regret = super().pay(instance, observation, action, rng)
        return reward, regret + 0.1


@breaks("the-best-policy-has-no-regret")
class GapsOfTheBestAction(SoundChain):
    """Measures gaps against an action that is not there."""

    def step(self, instance: Any, stage: int, state: Array, action: Array, rng: Any) -> Any:
        following, reward, ends, gap = super().step(instance, stage, state, action, rng)
        return following, reward, ends, gap + (0.1 if stage == 0 else 0.0)


@breaks("regret-is-from-means")
class RegretIsFromMeans(Sound):
    """Measures regret by rewards: the largest reward of any arm minus this one."""

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        reward = instance.mean + 0.05 * rng.standard_normal(instance.mean.shape)
        return chosen(reward, action), reward.max(axis=1) - chosen(reward, action)


@breaks("regret-is-from-means")
class GapsAreFromMeans(SoundChain):
    """Adds noise to gaps that averages out."""

    def step(self, instance: Any, stage: int, state: Array, action: Array, rng: Any) -> Any:
        following, reward, ends, gap = super().step(instance, stage, state, action, rng)
        return following, reward, ends, gap * 2 * rng.random(len(gap))


@breaks("regret-is-what-means-differ-by")
class RegretIsWhatMeansDifferBy(Sound):
    """The first arm pays less than its mean."""

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        reward, regret = super().pay(instance, observation, action, rng)
        return reward - 0.3 * (action == 0), regret


@breaks("regret-is-what-means-differ-by")
class ReturnsAreWhatValuesDifferBy(SoundChain):
    """Gaps leave out what one action costs."""

    def step(self, instance: Any, stage: int, state: Array, action: Array, rng: Any) -> Any:
        following, reward, ends, gap = super().step(instance, stage, state, action, rng)
        return following, reward * np.where(action == 0, 0.5, 1.0), ends, gap


@breaks("regret-is-what-means-differ-by")
class NoRegretAtAll(Sound):
    """All regrets are zero."""

    def pay(self, instance: Any, observation: Any, action: Array, rng: Any) -> Any:
        reward, regret = super().pay(instance, observation, action, rng)
        return reward, 0 * regret


@breaks("regret-is-what-means-differ-by")
class NoGaps(SoundChain):
    """All gaps are zero."""

    def step(self, instance: Any, stage: int, state: Array, action: Array, rng: Any) -> Any:
        following, reward, ends, gap = super().step(instance, stage, state, action, rng)
        return following, reward, ends, 0 * gap


@breaks("shapes")
class HighIsLow(Sound):
    """The range is the wrong way round."""

    says: ClassVar[dict[str, Any]] = {"low": 1.0, "high": 0.0}


@breaks("says-what-it-is")
class SaysWhatItIs(Sound):
    """Its problem has another name."""

    says: ClassVar[dict[str, Any]] = {"environment": "another"}


@breaks("says-what-it-is")
class SaysSo(Sound):
    __doc__ = None


class Coin(Rows):
    row: Array


@attrs.frozen
class SoundTable(FiniteMdp):
    """One state: the first action pays 1 with probability 1/2 and ends the episode, the second pays nothing."""

    name: ClassVar[str] = "sound-table"
    pays: ClassVar[float] = 1.0

    @property
    def problem(self) -> Problem:
        steps = {"step_low": 0.0, "step_high": 1.0}
        size = {"arms": 2, "states": 1, "stages": 2}
        return Problem(self.name, **size, **steps, episodic=True, noise=1.0, low=0.0, high=1.0)

    def draw(self, rows: int, rng: Any) -> Any:
        return Coin(np.arange(rows))

    def model(self, instance: Any) -> Model:
        shape = (1, 1, 1, 2, 2)
        reward, ends = np.zeros(shape), np.zeros(shape, dtype=bool)
        reward[..., 0, 1], ends[..., 0, :] = self.pays, True
        return Model.of(np.full(shape, 0.5), reward, 2, following=np.zeros(shape, dtype=np.intp), ends=ends)


@breaks("steps-pay-what-the-problem-says")
class StepsPayWhatTheProblemSays(SoundTable):
    """Pays more than it says."""

    pays: ClassVar[float] = 1.5


SOUND = (Sound, SoundChain, SoundTable)
