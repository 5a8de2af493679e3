"""How bases are played and judged: the options, and the three presets made of them."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import attrs

from corral_core.bounds import Form
from corral_core.players.boosting import boosted
from corral_core.players.plain import Played, plain
from corral_core.players.smoothing import smooth
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta
from corral_core.protocols.parameters import parameter
from corral_core.protocols.problem import Problem

PlayerName = Literal["smooth", "plain", "boosted"]
Preset = Literal["paper", "theory", "practice"]
Units = Literal["range", "raw"]


def _clip(options: Options, field: attrs.Attribute[Any], clip: Any) -> None:
    pair = isinstance(clip, tuple | list) and len(clip) == 2 and all(isinstance(end, int | float) for end in clip)
    if clip not in ("auto", "none") and not (pair and -math.inf < clip[0] < clip[1] < math.inf):
        raise ValueError(f'clip must be [low, high] with low below high, "auto" or "none", not {clip!r}'[:160])


def _variance(options: Options, field: attrs.Attribute[Any], variance: Any) -> None:
    if variance != "auto" and not 0 < variance < math.inf:
        raise ValueError(f'test_variance must be a positive number or "auto", not {variance!r}'[:160])


@attrs.frozen
class Options:
    """How bases are played and judged."""

    player: PlayerName = parameter(
        "smooth",
        help="how a base is played: smooth (two plays per round), plain (one), or boosted (one per copy)",
        validator=attrs.validators.in_(get_args(PlayerName)),
    )
    copies: int = parameter(5, help="number of copies of a boosted base", validator=attrs.validators.ge(1))
    bias: float = parameter(
        0.0,
        help="multiple of U_j(s)/s, capped at the reward range, that is subtracted from the gain",
        validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.le(1)),
    )
    base_test: bool = parameter(False, help="drop a base that breaks its own bound")
    restart: bool = parameter(
        False, help="restart a base when the meta asks for it; a meta that requires restarts always gets them"
    )
    share: bool = parameter(
        False, help="bases that can learn from others also learn their plays; needs plain players and raw feedback"
    )
    bound: Form = parameter(
        "literal",
        help="which form of the bounds the bias and the test use",
        validator=attrs.validators.in_(get_args(Form)),
    )

    units: Units = parameter(
        "range",
        help="what the meta sees: rewards scaled so that means span [0, 1] (range), or as they are paid (raw)",
        validator=attrs.validators.in_(get_args(Units)),
    )
    clip: tuple[float, ...] | Literal["auto", "none"] = parameter(
        "auto", help='what these rewards are cut to: [low, high], "none", or "auto" as the meta says', validator=_clip
    )
    test_variance: float | Literal["auto"] = parameter(
        "auto",
        help='v in the width of the base test: a number (1 as printed in the paper), or "auto" from the noise',
        validator=_variance,
    )

    def clip_for(self, meta: Meta, problem: Problem) -> tuple[float, float] | None:
        """The range to which the rewards that this meta sees are cut, in its units; None if they are not."""
        if self.clip == "none":
            return None
        if self.clip != "auto":
            return self.clip[0], self.clip[1]
        if self.units == "range":
            return meta.clip
        low, high = problem.range
        span = (high - low) or 1.0
        return low + meta.clip[0] * span, low + meta.clip[1] * span

    def played(self, base: Base) -> Played:
        """The base as these options play it."""
        if self.player == "boosted":
            return boosted(base, self.copies)
        return smooth(base) if self.player == "smooth" else plain(base)

    @property
    def steps(self) -> int:
        """Plays per round."""
        return {"smooth": 2, "plain": 1, "boosted": self.copies}[self.player]


PRESETS: dict[Preset, Options] = {
    "paper": Options(),
    "theory": Options(bias=1.0, base_test=True, restart=True),
    "practice": Options(player="plain"),
}
"""The presets by name: `paper`, `theory` and `practice`."""


def options_for(meta: Meta | None, options: Options) -> Options:
    """These options as far as the meta supports them.

    A meta may require a player, or restarts. Bias and base test judge the base that is played, so they need raw
    feedback.
    """
    if meta is None:
        return options
    if meta.player != "any" and meta.player != options.player:
        options = attrs.evolve(options, player=meta.player, base_test=options.base_test and meta.player == "smooth")
    if meta.feedback != "raw":
        options = attrs.evolve(options, bias=0.0, base_test=False)
    if meta.restarts == "required" and not options.restart:
        options = attrs.evolve(options, restart=True)
    return options


def switched_off(meta: Meta | None, options: Options) -> list[str]:
    """What `options_for` takes away from these options or switches on: one sentence each, or none."""
    left = options_for(meta, options)
    if meta is None or left == options:
        return []
    if left.restart and not options.restart:
        return [*switched_off(meta, attrs.evolve(options, restart=True)), f"restart is on ({meta.name} requires it)"]
    names = ["bias", "base_test", "restart"]
    off = [name for name in names if getattr(options, name) and not getattr(left, name)]
    said = [f"player is {left.player}, not {options.player}"] if left.player != options.player else []
    said += [f"{' and '.join(off)} {'are' if len(off) > 1 else 'is'} switched off"] if off else []
    return [f"{'; '.join(said)} ({meta.name} takes {meta.feedback} feedback and {meta.player} players)"]
