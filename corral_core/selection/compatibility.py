"""Check that bases, meta-algorithm, problem and options fit together; if not, say why in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from corral_core.errors import CorralError
from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta
from corral_core.protocols.parameters import fitted_names
from corral_core.protocols.problem import Problem
from corral_core.selection.options import Options


def check_fit(bases: Sequence[Base], meta: Meta | None, problem: Problem, options: Options) -> None:
    """Raise a `CorralError` if bases, meta, problem and options do not fit together."""
    if not bases:
        raise CorralError("a selection needs at least one base")
    for base in bases:
        unset = [name for name in fitted_names(base) if getattr(base, name) is None]
        if unset:
            raise CorralError(f"{base.name} does not know its {unset[0]}: call resolve(problem) on it first")
    if meta is None:
        if len(bases) > 1:
            raise CorralError("several bases need a meta-algorithm to choose among them")
        return
    problem.check_range()
    if meta.feedback != "raw" and options.player != "plain":
        raise CorralError(f"{meta.name} teaches every base at every play: player must be plain, not {options.player}")
    if meta.feedback == "importance-weighted" and problem.episodic:
        raise CorralError(f"{meta.name} needs importance-weighted rewards, which episodes do not have")
    if options.base_test and options.player != "smooth":
        raise CorralError("base_test compares the two steps of a smoothed base; set player to smooth or base_test off")
    unlimited = options.clip == "none" and options.test_variance == "auto" and problem.noise is None
    if options.base_test and unlimited:
        raise CorralError(
            f"base_test needs the noise of {problem.environment}, which is unknown: set clip or test_variance"
        )
    for base in bases:
        if meta.feedback == "shared" and not base.learns_from_others:
            raise CorralError(f"{meta.name} shares every play, but {base.name} cannot learn from other bases")
        needed = options.bias or options.base_test or meta.needs_bounds == "every"
        if needed and base.stated_bound(problem.delta or 0.01) is None:
            mend = "" if meta.needs_bounds == "every" else ", or switch off bias and base_test"
            raise CorralError(
                f"{base.name} has no regret bound in {problem.environment}, but {meta.name} with these options needs "
                f"one; claim a bound for it, remove it{mend}"
            )
