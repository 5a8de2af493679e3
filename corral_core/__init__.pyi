from corral_core.bases.lift import Lifted as Lifted
from corral_core.bases.lift import lift as lift
from corral_core.bases.policies import Indices as Indices
from corral_core.bases.policies import Pick as Pick
from corral_core.bounds import Bound as Bound
from corral_core.bounds import Term as Term
from corral_core.engines.engine import Engine as Engine
from corral_core.environments.bandit import Bandit as Bandit
from corral_core.environments.episodic_mdp import EpisodicMdp as EpisodicMdp
from corral_core.errors import CorralError as CorralError
from corral_core.experiments.experiment import Experiment as Experiment
from corral_core.experiments.experiment import load_experiment as load_experiment
from corral_core.hookspecs import Entry as Entry
from corral_core.hookspecs import hookimpl as hookimpl
from corral_core.log import Log as Log
from corral_core.metas.corral import Corral as Corral
from corral_core.metas.exp3p import Exp3P as Exp3P
from corral_core.metas.original_corral import OriginalCorral as OriginalCorral
from corral_core.metas.uniform import Uniform as Uniform
from corral_core.players.boosting import boosted as boosted
from corral_core.players.plain import plain as plain
from corral_core.players.smoothing import smooth as smooth
from corral_core.protocols.base import Base as Base
from corral_core.protocols.environment import Environment as Environment
from corral_core.protocols.environment import Play as Play
from corral_core.protocols.meta import Condition as Condition
from corral_core.protocols.meta import Guarantee as Guarantee
from corral_core.protocols.meta import Meta as Meta
from corral_core.protocols.meta import MetaProblem as MetaProblem
from corral_core.protocols.meta import Verdict as Verdict
from corral_core.protocols.parameters import fitted as fitted
from corral_core.protocols.parameters import knob as knob
from corral_core.protocols.parameters import parameter as parameter
from corral_core.protocols.problem import Feedback as Feedback
from corral_core.protocols.problem import Observation as Observation
from corral_core.protocols.problem import Problem as Problem
from corral_core.protocols.problem import Trajectory as Trajectory
from corral_core.registry.names import get_registry as get_registry
from corral_core.rows import Array as Array
from corral_core.rows import Rows as Rows
from corral_core.runs.failed import RunFailed as RunFailed
from corral_core.runs.results import Result as Result
from corral_core.runs.run import Run as Run
from corral_core.runs.runner import run_experiment as run_experiment
from corral_core.selection.options import PRESETS as PRESETS
from corral_core.selection.options import Options as Options
from corral_core.selection.round import Ticket as Ticket
from corral_core.selection.selection import Selection as Selection
from corral_core.simulation.simulate import try_out as try_out

__version__: str

__all__ = [  # noqa: RUF022 - in the order of the documentation
    # To write bases, environments and metas
    "Base",
    "Environment",
    "Meta",
    "Problem",
    "MetaProblem",
    "Observation",
    "Feedback",
    "Trajectory",
    "Play",
    "Verdict",
    "Guarantee",
    "Condition",
    "parameter",
    "knob",
    "fitted",
    "Rows",
    "Log",
    "Array",
    "Bound",
    "Term",
    "Pick",
    "Indices",
    "Bandit",
    "EpisodicMdp",
    "lift",
    "Lifted",
    # To play
    "smooth",
    "plain",
    "boosted",
    "Options",
    "PRESETS",
    "Selection",
    "Ticket",
    "Corral",
    "Exp3P",
    "OriginalCorral",
    "Uniform",
    "try_out",
    # To run
    "load_experiment",
    "run_experiment",
    "Experiment",
    "Run",
    "Result",
    "RunFailed",
    # To extend
    "hookimpl",
    "Entry",
    "get_registry",
    "Engine",
    "CorralError",
    "__version__",
]
