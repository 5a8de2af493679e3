"""One line of a figure: a meta-algorithm over bases, or a base alone."""

from __future__ import annotations

import attrs

from corral_core.protocols.base import Base
from corral_core.protocols.meta import Meta, MetaProblem
from corral_core.protocols.problem import Problem
from corral_core.selection.options import Options, options_for
from corral_core.selection.setup import meta_problem


@attrs.frozen
class Curve:
    """One line of a figure: a meta-algorithm over bases, or a base alone."""

    name: str
    bases: tuple[Base, ...]
    labels: tuple[str, ...]  # names of the bases
    meta: Meta | None
    asked_for: Options

    @property
    def options(self) -> Options:
        """The options that were asked for, as far as the meta supports them."""
        return options_for(self.meta, self.asked_for)

    @property
    def records(self) -> tuple[str, ...]:
        """The quantities that the meta records."""
        return () if self.meta is None else self.meta.records

    def rounds(self, horizon: int) -> int:
        """Number of rounds in this many plays, including an unfinished one."""
        return -(-horizon // self.options.steps)

    def rounds_told(self, problem: Problem) -> int | None:
        """Number of rounds that the meta is told; None if the horizon of the problem is unknown."""
        return None if problem.horizon is None else self.rounds(problem.horizon)

    def told(self, problem: Problem) -> MetaProblem:
        """What the meta is told before the first round."""
        return meta_problem(self.bases, problem, self.options, self.rounds_told(problem))
